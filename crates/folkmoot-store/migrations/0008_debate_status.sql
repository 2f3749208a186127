-- A debate is paused where it goes on only when somebody has done something: decided on a gate that blocks, answered, lifted a
-- halt, or looked at what stopped it. A gate that somebody else opened in its run holds whoever opened it.
DROP VIEW debate_sessions;
CREATE VIEW debate_sessions AS SELECT
  runs.session_id AS id,
  runs.id AS debate_id,
  CASE WHEN debates.run_id IS NULL THEN runs.title
    ELSE (SELECT CAST(content AS TEXT) FROM artifacts WHERE digest = topic_digest AND barred = 0) END AS topic,
  CASE
    WHEN runs.status IN ('completed', 'failed', 'cancelled') THEN runs.status
    WHEN runs.status = 'stopped' OR runs.held IS NOT NULL OR EXISTS (
      SELECT 1 FROM gates WHERE gates.run_id = runs.id AND gates.status = 'pending' AND gates.mode = 'gate'
        AND gates.requested_by = 'workflow:' || runs.workflow) THEN 'paused'
    WHEN runs.status = 'parked' AND EXISTS (
      SELECT 1 FROM questions WHERE questions.run_id = runs.id AND questions.status = 'pending') THEN 'paused'
    WHEN runs.status = 'pending' THEN 'pending'
    ELSE 'running' END AS status,
  topology AS topology_type,
  coordination_protocol,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = config_digest AND barred = 0) AS config,
  runs.initiator AS initiated_by,
  runs.started_at AS created_at,
  runs.moved_at AS updated_at,
  CASE WHEN runs.status IN ('completed', 'failed', 'cancelled') THEN runs.moved_at END AS completed_at,
  coalesce(total_rounds, 0) AS total_rounds,
  CAST(final_consensus_score AS DOUBLE PRECISION) / 100 AS final_consensus_score,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = outcome_digest AND barred = 0) AS outcome,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = metadata_digest AND barred = 0) AS metadata
FROM runs LEFT JOIN debates ON debates.run_id = runs.id WHERE runs.kind = 'debate';
