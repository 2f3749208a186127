-- One text for both databases: on PostgreSQL INTEGER is BIGINT, BLOB is BYTEA and TEXT sorts by bytes.
-- Times are microseconds since 1970; no deadline is the largest integer, so that it sorts last.

CREATE TABLE head (
  log TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  hash TEXT NOT NULL
);

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
  hash TEXT NOT NULL
);
CREATE UNIQUE INDEX events_by_stream ON events (stream, stream_seq);

CREATE TABLE artifacts (
  digest TEXT PRIMARY KEY,
  content BLOB
);

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  created_at INTEGER NOT NULL
);

CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  session_id TEXT NOT NULL,
  initiator TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  wakes INTEGER NOT NULL DEFAULT 0
);

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
  decision TEXT
);
CREATE INDEX gates_inbox ON gates (urgency, deadline, requested_at, id) WHERE status = 'pending';
CREATE INDEX gates_by_age ON gates (requested_at, id);
CREATE INDEX gates_by_requester ON gates (requested_by, requested_at, id);
CREATE INDEX gates_by_run ON gates (run_id, requested_at, id) WHERE run_id IS NOT NULL;
CREATE INDEX gates_by_session ON gates (session_id, requested_at, id) WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX gates_ask_once ON gates (requested_by, dedupe_key) WHERE status = 'pending' AND dedupe_key IS NOT NULL;

CREATE TABLE timers (
  gate_id TEXT PRIMARY KEY,
  due INTEGER NOT NULL
);
CREATE INDEX timers_by_due ON timers (due);

CREATE TABLE outbox (
  id TEXT PRIMARY KEY,
  channel TEXT NOT NULL,
  gate_id TEXT NOT NULL,
  type TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  delivered_at INTEGER
);

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
  revoked_at INTEGER
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

INSERT INTO head (log, position, hash) VALUES ('main', 0, 'sha256:0000000000000000000000000000000000000000000000000000000000000000');
