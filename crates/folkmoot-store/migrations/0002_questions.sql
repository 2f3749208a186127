-- Questions and halts; timers of more than gates; what a token allows beyond its holder's role.
-- `holds` is what a question holds now (an open halting one all that it halts, a denial that was not fetched its asker,
-- else nothing), so that an index finds what holds an agent without reading what was answered long ago.

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
  closure TEXT
);
CREATE INDEX questions_inbox ON questions (urgency, due, asked_at, id) WHERE status = 'pending';
CREATE INDEX questions_by_age ON questions (asked_at, id);
CREATE INDEX questions_by_asker ON questions (asked_by, asked_at, id);
CREATE INDEX questions_by_agent ON questions (agent_id, asked_at, id);
CREATE INDEX questions_by_session ON questions (session_id, asked_at, id) WHERE session_id IS NOT NULL;
CREATE INDEX questions_holding_agent ON questions (agent_id, id) WHERE holds IS NOT NULL;
CREATE INDEX questions_holding_session ON questions (session_id, id) WHERE holds IN ('session', 'all');
CREATE INDEX questions_holding_all ON questions (id) WHERE holds = 'all';

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

DROP TABLE timers;
CREATE TABLE timers (
  subject TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  due INTEGER NOT NULL
);
CREATE INDEX timers_by_due ON timers (due);
INSERT INTO timers (subject, kind, due) SELECT id, 'gate', deadline FROM gates WHERE status = 'pending' AND deadline < 9223372036854775807;

ALTER TABLE tokens ADD COLUMN capabilities TEXT NOT NULL DEFAULT '[]';
