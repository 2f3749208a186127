-- Runs with a life of their own, their journals, and the nodes that work on them.
-- `wakes` is no part of a run's fold: whatever changes for a run counts it up in its own transaction. `node`,
-- `parked_wakes` and `held` repeat what `state` says, for the indexes: a worker can take a run that has had more
-- wake-ups than when it was parked, and a new one, which counts as parked at -1.

ALTER TABLE runs ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN workflow TEXT;
ALTER TABLE runs ADD COLUMN role TEXT NOT NULL DEFAULT 'agent';
ALTER TABLE runs ADD COLUMN parent TEXT;
ALTER TABLE runs ADD COLUMN input TEXT;
ALTER TABLE runs ADD COLUMN limits TEXT NOT NULL DEFAULT '{}';
ALTER TABLE runs ADD COLUMN status TEXT NOT NULL DEFAULT 'running';
ALTER TABLE runs ADD COLUMN state TEXT NOT NULL DEFAULT '"outside"';
ALTER TABLE runs ADD COLUMN node TEXT;
ALTER TABLE runs ADD COLUMN parked_wakes INTEGER;
ALTER TABLE runs ADD COLUMN held TEXT;
ALTER TABLE runs ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN steps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN journal_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN active_micros INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN moved_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN seq INTEGER NOT NULL DEFAULT 1;
UPDATE runs SET moved_at = started_at;
CREATE INDEX runs_ready ON runs (moved_at, id) WHERE wakes > parked_wakes;
CREATE INDEX runs_claimed ON runs (node, id) WHERE node IS NOT NULL;
CREATE INDEX runs_held ON runs (held) WHERE held IS NOT NULL;
CREATE INDEX runs_held_by_session ON runs (session_id) WHERE held IS NOT NULL;
CREATE INDEX runs_by_age ON runs (started_at, id);
CREATE INDEX runs_by_status ON runs (status, started_at, id);
CREATE INDEX runs_by_initiator ON runs (initiator, started_at, id);
CREATE INDEX runs_by_session ON runs (session_id, started_at, id);
CREATE INDEX runs_by_parent ON runs (parent) WHERE parent IS NOT NULL;

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

ALTER TABLE questions ADD COLUMN run_id TEXT;
CREATE INDEX questions_by_run ON questions (run_id, asked_at, id) WHERE run_id IS NOT NULL;
