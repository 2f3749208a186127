SELECT
  said.id AS id,
  runs.session_id AS session_id,
  CAST(fields ->> 'round' AS INTEGER) AS round,
  fields ->> 'phase' AS phase,
  fields ->> 'agent_id' AS agent_id,
  fields ->> 'agent_role' AS agent_role,
  fields ->> 'provider' AS provider,
  fields ->> 'model' AS model,
  (SELECT CAST(content AS TEXT) FROM artifacts WHERE digest = texts ->> 'content' AND barred = 0) AS content,
  CAST(fields ->> 'confidence' AS DOUBLE PRECISION) / 100 AS confidence,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = texts ->> 'tool_calls' AND barred = 0) AS tool_calls,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = texts ->> 'test_results' AND barred = 0) AS test_results,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = texts ->> 'reflections' AND barred = 0) AS reflections,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = texts ->> 'metadata' AND barred = 0) AS metadata,
  said.created_at AS created_at,
  CAST(fields ->> 'response_time_ms' AS INTEGER) AS response_time_ms
FROM record_fields AS said JOIN runs ON runs.id = said.run_id
WHERE said.collection = 'debate_turns'
