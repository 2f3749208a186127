-- What debates keep, and the tables of the design as people query them. A debate is a run of the kind `debate`; whatever its
-- run, its gates and its questions say is not said again here, and long texts are artifacts, of which there are only digests.
-- So the tables of the design are views: none of their columns can disagree with where it comes from.
-- `place` is where something was written in its run: the event of its stream, and which of the event's records. Shares are
-- hundredths. On PostgreSQL JSON_TEXT is jsonb, and the bytes of an artifact are read as UTF-8.

CREATE TABLE debates (
  run_id TEXT PRIMARY KEY,
  place INTEGER NOT NULL,
  topic_digest TEXT NOT NULL,
  topology TEXT NOT NULL,
  coordination_protocol TEXT NOT NULL,
  config_digest TEXT,
  total_rounds INTEGER NOT NULL,
  final_consensus_score INTEGER,
  outcome_digest TEXT,
  metadata_digest TEXT,
  written_at INTEGER NOT NULL
);

CREATE TABLE turns (
  run_id TEXT NOT NULL,
  id TEXT NOT NULL,
  place INTEGER NOT NULL,
  round INTEGER NOT NULL,
  phase TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  agent_role TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  content_digest TEXT NOT NULL,
  confidence INTEGER,
  tool_calls_digest TEXT,
  test_results_digest TEXT,
  reflections_digest TEXT,
  metadata_digest TEXT,
  response_time_ms INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, id)
);
CREATE INDEX turns_by_place ON turns (run_id, place);
CREATE INDEX turns_by_id ON turns (id);

CREATE TABLE versions (
  run_id TEXT NOT NULL,
  version_number INTEGER NOT NULL,
  id TEXT NOT NULL,
  place INTEGER NOT NULL,
  turn_id TEXT,
  language TEXT NOT NULL,
  code_digest TEXT NOT NULL,
  quality_score INTEGER,
  test_pass_rate INTEGER,
  metrics_digest TEXT,
  diff_digest TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, version_number)
);

CREATE TABLE lines (
  run_id TEXT NOT NULL,
  place INTEGER NOT NULL,
  id TEXT NOT NULL,
  level TEXT NOT NULL,
  message TEXT NOT NULL,
  data TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, place)
);
CREATE INDEX lines_by_expiry ON lines (expires_at);

CREATE TABLE lessons (
  run_id TEXT NOT NULL,
  id TEXT NOT NULL,
  place INTEGER NOT NULL,
  domain TEXT NOT NULL,
  language TEXT,
  root_cause_digest TEXT NOT NULL,
  lesson_digest TEXT NOT NULL,
  confidence INTEGER NOT NULL,
  tags TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, id)
);
CREATE INDEX lessons_by_age ON lessons (created_at, id);
CREATE INDEX lessons_by_domain ON lessons (domain, created_at, id);

CREATE INDEX runs_debates ON runs (started_at, id) WHERE kind = 'debate';
CREATE INDEX runs_debates_open ON runs (started_at, id)
  WHERE kind = 'debate' AND status NOT IN ('completed', 'failed', 'cancelled');

-- A debate is paused where it goes on only when somebody has done something: decided on a gate that blocks, answered, lifted a
-- halt, or looked at what stopped it.
CREATE VIEW debate_sessions AS SELECT
  runs.session_id AS id,
  runs.id AS debate_id,
  CASE WHEN debates.run_id IS NULL THEN runs.title
    ELSE (SELECT CAST(content AS TEXT) FROM artifacts WHERE digest = topic_digest AND barred = 0) END AS topic,
  CASE
    WHEN runs.status IN ('completed', 'failed', 'cancelled') THEN runs.status
    WHEN runs.status = 'stopped' OR runs.held IS NOT NULL OR EXISTS (
      SELECT 1 FROM gates WHERE gates.run_id = runs.id AND gates.status = 'pending' AND gates.mode = 'gate')
      THEN 'paused'
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

CREATE VIEW debate_turns AS SELECT
  turns.id AS id,
  runs.session_id AS session_id,
  round,
  phase,
  agent_id,
  agent_role,
  provider,
  model,
  (SELECT CAST(content AS TEXT) FROM artifacts WHERE digest = content_digest AND barred = 0) AS content,
  CAST(confidence AS DOUBLE PRECISION) / 100 AS confidence,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = tool_calls_digest AND barred = 0) AS tool_calls,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = test_results_digest AND barred = 0) AS test_results,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = reflections_digest AND barred = 0) AS reflections,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = metadata_digest AND barred = 0) AS metadata,
  created_at,
  response_time_ms
FROM turns JOIN runs ON runs.id = turns.run_id;

CREATE VIEW code_versions AS SELECT
  versions.id AS id,
  runs.session_id AS session_id,
  turn_id,
  language,
  (SELECT CAST(content AS TEXT) FROM artifacts WHERE digest = code_digest AND barred = 0) AS code,
  version_number,
  CAST(quality_score AS DOUBLE PRECISION) / 100 AS quality_score,
  CAST(test_pass_rate AS DOUBLE PRECISION) / 100 AS test_pass_rate,
  (SELECT CAST(content AS JSON_TEXT) FROM artifacts WHERE digest = metrics_digest AND barred = 0) AS metrics,
  (SELECT CAST(content AS TEXT) FROM artifacts WHERE digest = diff_digest AND barred = 0) AS diff_from_previous,
  created_at
FROM versions JOIN runs ON runs.id = versions.run_id;

CREATE VIEW debate_logs AS SELECT
  id,
  run_id AS debate_id,
  level,
  message,
  CAST(data AS JSON_TEXT) AS data,
  created_at,
  nullif(expires_at, 9223372036854775807) AS expires_at
FROM lines;
