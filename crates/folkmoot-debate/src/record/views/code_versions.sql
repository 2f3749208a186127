SELECT
  fields ->> 'id' AS id,
  runs.session_id AS session_id,
  fields ->> 'turn_id' AS turn_id,
  fields ->> 'language' AS language,
  (SELECT CAST(content AS TEXT) FROM artifacts WHERE digest = texts ->> 'code' AND barred = 0) AS code,
  CAST(fields ->> 'version_number' AS INTEGER) AS version_number,
  CAST(fields ->> 'quality_score' AS DOUBLE PRECISION) / 100 AS quality_score,
  CAST(fields ->> 'test_pass_rate' AS DOUBLE PRECISION) / 100 AS test_pass_rate,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = texts ->> 'metrics' AND barred = 0) AS metrics,
  (SELECT CAST(content AS TEXT) FROM artifacts WHERE digest = texts ->> 'diff_from_previous' AND barred = 0)
    AS diff_from_previous,
  said.created_at AS created_at
FROM record_fields AS said JOIN runs ON runs.id = said.run_id
WHERE said.collection = 'code_versions'
