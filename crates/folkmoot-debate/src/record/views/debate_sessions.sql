SELECT
  runs.session_id AS id,
  runs.id AS debate_id,
  CASE WHEN said.run_id IS NULL THEN runs.title
    ELSE (SELECT CAST(content AS TEXT) FROM artifacts WHERE digest = texts ->> 'topic' AND barred = 0) END AS topic,
  runs.status AS status,
  fields ->> 'topology' AS topology_type,
  fields ->> 'coordination_protocol' AS coordination_protocol,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = texts ->> 'config' AND barred = 0) AS config,
  runs.initiator AS initiated_by,
  runs.started_at AS created_at,
  runs.moved_at AS updated_at,
  CASE WHEN runs.status IN ('completed', 'failed', 'cancelled') THEN runs.moved_at END AS completed_at,
  coalesce(CAST(fields ->> 'total_rounds' AS INTEGER), 0) AS total_rounds,
  CAST(fields ->> 'final_consensus_score' AS DOUBLE PRECISION) / 100 AS final_consensus_score,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = texts ->> 'outcome' AND barred = 0) AS outcome,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = texts ->> 'metadata' AND barred = 0) AS metadata
FROM run_summaries AS runs
LEFT JOIN record_fields AS said ON said.run_id = runs.id AND said.collection = 'debate_sessions' AND said.id = 'session'
WHERE runs.kind = 'debate'
