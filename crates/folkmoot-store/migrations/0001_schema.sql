-- One text for both databases: on PostgreSQL INTEGER is BIGINT, BLOB is BYTEA, JSON_TEXT is jsonb and TEXT sorts by bytes.
-- Times are microseconds since 1970; no deadline is the largest integer, so that it sorts last.

CREATE TABLE head (
  log TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  hash TEXT NOT NULL
);

-- `token_id` is the token that was shown for the command that caused the event.
CREATE TABLE events (
  position INTEGER PRIMARY KEY,
  stream TEXT NOT NULL,
  stream_seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  version INTEGER NOT NULL,
  actor TEXT NOT NULL,
  on_behalf_of TEXT,
  session TEXT,
  command_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  payload TEXT NOT NULL,
  prev_hash TEXT NOT NULL,
  hash TEXT NOT NULL,
  token_id TEXT
);
CREATE UNIQUE INDEX events_by_stream ON events (stream, stream_seq);

-- `used_at` is when somebody last sent the content, noted at most once a day; `erasures` counts the admin's erasures, which
-- are the events of its stream; what is barred is not kept again.
CREATE TABLE artifacts (
  digest TEXT PRIMARY KEY,
  content BLOB,
  used_at INTEGER NOT NULL,
  erasures INTEGER NOT NULL DEFAULT 0,
  barred INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  created_at INTEGER NOT NULL
);

-- `wakes` is no part of a run's fold: whatever changes for a run counts it up in its own transaction. `node`,
-- `parked_wakes` and `held` repeat what `state` says, for the indexes: a worker can take a run that has had more
-- wake-ups than when it was parked, and a new one, which counts as parked at -1. `resumed_at` is when a person last resumed
-- it: whatever waited then for a provider is tried at once.
CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  session_id TEXT NOT NULL,
  initiator TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  wakes INTEGER NOT NULL DEFAULT 0,
  title TEXT NOT NULL,
  workflow TEXT,
  role TEXT NOT NULL,
  parent TEXT,
  input TEXT,
  limits TEXT NOT NULL,
  status TEXT NOT NULL,
  state TEXT NOT NULL,
  node TEXT,
  parked_wakes INTEGER,
  held TEXT,
  epoch INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  begun INTEGER NOT NULL,
  journal_bytes INTEGER NOT NULL,
  active_micros INTEGER NOT NULL,
  moved_at INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  resumed_at INTEGER
);
CREATE INDEX runs_ready ON runs (moved_at, id) WHERE wakes > parked_wakes;
CREATE INDEX runs_claimed ON runs (node, id) WHERE node IS NOT NULL;
CREATE INDEX runs_held ON runs (held) WHERE held IS NOT NULL;
CREATE INDEX runs_held_by_session ON runs (session_id) WHERE held IS NOT NULL;
CREATE INDEX runs_by_age ON runs (started_at, id);
CREATE INDEX runs_by_status ON runs (status, started_at, id);
CREATE INDEX runs_by_initiator ON runs (initiator, started_at, id);
CREATE INDEX runs_by_session ON runs (session_id, started_at, id);
CREATE INDEX runs_by_parent ON runs (parent) WHERE parent IS NOT NULL;
CREATE INDEX runs_open_of ON runs (initiator) WHERE kind <> 'external' AND status NOT IN ('completed', 'failed', 'cancelled');
CREATE INDEX runs_by_kind ON runs (kind, started_at, id);
CREATE INDEX runs_open_by_kind ON runs (kind, started_at, id) WHERE status NOT IN ('completed', 'failed', 'cancelled');

CREATE TABLE journal (
  run_id TEXT NOT NULL,
  key TEXT NOT NULL,
  kind TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  input TEXT,
  agent_id TEXT,
  state TEXT NOT NULL,
  result TEXT,
  attempts INTEGER NOT NULL,
  began_at INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (run_id, key)
);

CREATE TABLE nodes (
  node TEXT PRIMARY KEY,
  alive_until INTEGER NOT NULL
);

-- `content_bytes` is counted when an agent opens more. `presence` is how a person must show that they decide, where the
-- configuration demands something. `stopped_at` is when a decision stopped the run of its gate, or wanted a change. `asker` is
-- who really asks: of what a workflow asks, who started its run.
CREATE TABLE gates (
  id TEXT PRIMARY KEY,
  run_id TEXT,
  session_id TEXT,
  title TEXT NOT NULL,
  summary_digest TEXT NOT NULL,
  phase TEXT NOT NULL,
  kind TEXT NOT NULL,
  risk TEXT NOT NULL,
  urgency INTEGER NOT NULL,
  artifacts TEXT NOT NULL,
  allowed TEXT NOT NULL,
  on_timeout TEXT NOT NULL,
  reviewers TEXT NOT NULL,
  quorum INTEGER NOT NULL,
  type TEXT NOT NULL,
  mode TEXT NOT NULL,
  why TEXT NOT NULL,
  requested_by TEXT NOT NULL,
  on_behalf_of TEXT,
  initiator TEXT,
  self_review TEXT NOT NULL,
  requested_at INTEGER NOT NULL,
  timeout_ms INTEGER NOT NULL,
  deadline INTEGER NOT NULL,
  escalated INTEGER NOT NULL,
  reject_quorum INTEGER NOT NULL,
  dedupe_key TEXT,
  notification_channels TEXT NOT NULL,
  revision INTEGER NOT NULL,
  digest TEXT NOT NULL,
  seq INTEGER NOT NULL,
  status TEXT NOT NULL,
  votes TEXT NOT NULL,
  decision TEXT,
  reminders TEXT,
  content_bytes INTEGER NOT NULL,
  presence TEXT,
  stopped_at INTEGER,
  asker TEXT NOT NULL GENERATED ALWAYS AS (
    CASE WHEN substr(requested_by, 1, 9) = 'workflow:' THEN coalesce(initiator, requested_by) ELSE requested_by END) STORED
);
CREATE INDEX gates_inbox ON gates (urgency, deadline, requested_at, id) WHERE status = 'pending';
CREATE INDEX gates_by_age ON gates (requested_at, id);
CREATE INDEX gates_by_asker ON gates (asker, requested_at, id);
CREATE INDEX gates_by_workflow ON gates (requested_by, requested_at, id) WHERE requested_by <> asker;
CREATE INDEX gates_by_run ON gates (run_id, requested_at, id) WHERE run_id IS NOT NULL;
CREATE INDEX gates_by_session ON gates (session_id, requested_at, id) WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX gates_ask_once ON gates (requested_by, dedupe_key) WHERE status = 'pending' AND dedupe_key IS NOT NULL;
CREATE INDEX gates_inbox_of ON gates (asker, urgency, deadline, requested_at, id, content_bytes, requested_by)
  WHERE status = 'pending';
CREATE INDEX gates_inbox_of_workflow ON gates (requested_by, urgency, deadline, requested_at, id)
  WHERE status = 'pending' AND requested_by <> asker;
CREATE INDEX gates_stopping ON gates (run_id, status, stopped_at) WHERE stopped_at IS NOT NULL;
CREATE INDEX gates_pending_of_run ON gates (run_id) WHERE status = 'pending';
CREATE INDEX gates_approved_of_run ON gates (run_id, requested_at) WHERE status = 'approved';

-- `holds` is what a question holds now (an open halting one all that it halts, a denial that was not fetched its asker,
-- else nothing), so that an index finds what holds an agent without reading what was answered long ago. `asker` is as for gates.
CREATE TABLE questions (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL,
  session_id TEXT,
  type TEXT NOT NULL,
  text_digest TEXT NOT NULL,
  options TEXT NOT NULL,
  default_answer TEXT,
  halts TEXT,
  holds TEXT,
  priority TEXT NOT NULL,
  urgency INTEGER NOT NULL,
  asked_by TEXT NOT NULL,
  asked_at INTEGER NOT NULL,
  timeout_ms INTEGER NOT NULL,
  due INTEGER NOT NULL,
  reminders INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  status TEXT NOT NULL,
  closure TEXT,
  run_id TEXT,
  initiator TEXT,
  asker TEXT NOT NULL GENERATED ALWAYS AS (
    CASE WHEN substr(asked_by, 1, 9) = 'workflow:' THEN coalesce(initiator, asked_by) ELSE asked_by END) STORED
);
CREATE INDEX questions_inbox ON questions (urgency, due, asked_at, id) WHERE status = 'pending';
CREATE INDEX questions_by_age ON questions (asked_at, id);
CREATE INDEX questions_by_asker ON questions (asker, asked_at, id);
CREATE INDEX questions_by_workflow ON questions (asked_by, asked_at, id) WHERE asked_by <> asker;
CREATE INDEX questions_by_agent ON questions (agent_id, asked_at, id);
CREATE INDEX questions_by_session ON questions (session_id, asked_at, id) WHERE session_id IS NOT NULL;
CREATE INDEX questions_holding_agent ON questions (agent_id, id) WHERE holds IS NOT NULL;
CREATE INDEX questions_holding_session ON questions (session_id, id) WHERE holds IN ('session', 'all');
CREATE INDEX questions_holding_all ON questions (id) WHERE holds = 'all';
CREATE INDEX questions_by_run ON questions (run_id, asked_at, id) WHERE run_id IS NOT NULL;
CREATE INDEX questions_open_of ON questions (asker, asked_by) WHERE status = 'pending';
CREATE INDEX questions_open_of_workflow ON questions (asked_by) WHERE status = 'pending' AND asked_by <> asker;

CREATE TABLE halts (
  id TEXT PRIMARY KEY,
  scope TEXT NOT NULL,
  agent_id TEXT,
  session_id TEXT,
  reason TEXT NOT NULL,
  raised_by TEXT NOT NULL,
  raised_at INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  lifted_by TEXT,
  lifted_at INTEGER
);
CREATE INDEX halts_standing ON halts (scope, agent_id, session_id) WHERE lifted_at IS NULL;

CREATE TABLE timers (
  subject TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  due INTEGER NOT NULL
);
CREATE INDEX timers_by_due ON timers (due);

-- A delivery's id has the beginning of its event's hash: positions come again where a backup is restored. `due` is when
-- somebody is to send it, or may again; only those that wait, or are under way, have one.
CREATE TABLE outbox (
  id TEXT PRIMARY KEY,
  channel TEXT NOT NULL,
  subject TEXT NOT NULL,
  type TEXT NOT NULL,
  position INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  last_error TEXT,
  seq INTEGER NOT NULL,
  status TEXT NOT NULL,
  due INTEGER,
  ended_at INTEGER
);
CREATE INDEX outbox_waiting ON outbox (channel, due, id) WHERE due IS NOT NULL;
CREATE INDEX outbox_by_age ON outbox (created_at, id);
CREATE INDEX outbox_by_status ON outbox (status, created_at, id);
CREATE INDEX outbox_by_channel ON outbox (channel, created_at, id);

-- `key_id` is the key that a webhook's secret is derived from, where it is known; until `previous_until` messages are signed
-- with the secret before too.
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  generation INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  disabled INTEGER NOT NULL,
  removed_at INTEGER,
  seq INTEGER NOT NULL,
  key_id TEXT,
  previous_until INTEGER
);
CREATE UNIQUE INDEX webhooks_by_name ON webhooks (name) WHERE removed_at IS NULL;

CREATE TABLE principals (
  name TEXT PRIMARY KEY,
  role TEXT NOT NULL
);

CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  revoked_at INTEGER,
  capabilities TEXT NOT NULL,
  kind TEXT NOT NULL
);

CREATE TABLE idempotency (
  principal TEXT NOT NULL,
  route TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  outcome TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (principal, route, key)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- What workflows keep of their runs. `place` is where a record was written in its run: the event of its stream, and which of
-- the event's records. `fields` is a JSON object, and `texts` has the digests of long texts, which are artifacts.
CREATE TABLE records (
  run_id TEXT NOT NULL,
  collection TEXT NOT NULL,
  id TEXT NOT NULL,
  place INTEGER NOT NULL,
  fields TEXT NOT NULL,
  texts TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, collection, id)
);
CREATE INDEX records_by_place ON records (run_id, collection, place);
CREATE INDEX records_by_id ON records (collection, id);
CREATE INDEX records_by_age ON records (collection, created_at, id);
CREATE INDEX records_by_expiry ON records (expires_at);

-- Records with JSON that both databases read alike: `fields ->> 'name'`. The views that workflows bring are made of it.
CREATE VIEW record_fields AS SELECT
  run_id, collection, id, place, CAST(fields AS JSON_TEXT) AS fields, CAST(texts AS JSON_TEXT) AS texts, created_at, expires_at
FROM records;

-- Runs in short. A run is paused where it goes on only when somebody has done something: decided on a gate that blocks,
-- answered, lifted a halt, or looked at what stopped it. A gate that somebody else opened in its run holds whoever opened it.
CREATE VIEW run_summaries AS SELECT
  id,
  kind,
  session_id,
  title,
  initiator,
  started_at,
  moved_at,
  runs.status AS run_status,
  CASE
    WHEN runs.status IN ('completed', 'failed', 'cancelled') THEN runs.status
    WHEN runs.status = 'stopped' OR runs.held IS NOT NULL OR EXISTS (
      SELECT 1 FROM gates WHERE gates.run_id = runs.id AND gates.status = 'pending' AND gates.mode = 'gate'
        AND gates.requested_by = 'workflow:' || runs.workflow) THEN 'paused'
    WHEN runs.status = 'parked' AND EXISTS (
      SELECT 1 FROM questions WHERE questions.run_id = runs.id AND questions.status = 'pending') THEN 'paused'
    WHEN runs.status = 'pending' THEN 'pending'
    ELSE 'running' END AS status,
  (SELECT gates.id FROM gates WHERE gates.run_id = runs.id AND gates.status = 'pending' AND gates.mode = 'gate'
    AND gates.requested_by = 'workflow:' || runs.workflow ORDER BY gates.requested_at, gates.id LIMIT 1) AS waiting_at
FROM runs;

INSERT INTO head (log, position, hash) VALUES ('main', 0, 'sha256:0000000000000000000000000000000000000000000000000000000000000000');
