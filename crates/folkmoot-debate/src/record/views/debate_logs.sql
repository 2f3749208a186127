SELECT
  id,
  run_id AS debate_id,
  fields ->> 'level' AS level,
  fields ->> 'message' AS message,
  CAST(fields ->> 'data' AS JSON_TEXT) AS data,
  created_at,
  nullif(expires_at, 9223372036854775807) AS expires_at
FROM record_fields WHERE collection = 'debate_logs'
