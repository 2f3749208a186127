-- Deliveries with a life of their own, webhooks, and what is said of a gate before its deadline.
-- A delivery's id has the beginning of its event's hash: positions come again where a backup is restored. `due` is when
-- somebody is to send it, or may again; only those that wait, or are under way, have one.

CREATE TABLE deliveries (
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
INSERT INTO deliveries (id, channel, subject, type, position, created_at, attempts, epoch, seq, status, due)
  SELECT 'dlv-' || events.position || '-' || substr(events.hash, 8, 16) || '-'
      || (row_number() OVER (PARTITION BY events.position ORDER BY outbox.channel) - 1),
    outbox.channel, outbox.gate_id, outbox.type, events.position, outbox.created_at, 0, 0, 0, 'waiting', outbox.created_at
  FROM outbox JOIN events
    ON events.position = CAST(substr(outbox.id, 1, length(outbox.id) - length(outbox.channel) - 1) AS INTEGER);
DROP TABLE outbox;
ALTER TABLE deliveries RENAME TO outbox;
CREATE INDEX outbox_waiting ON outbox (channel, due, id) WHERE due IS NOT NULL;
CREATE INDEX outbox_by_age ON outbox (created_at, id);
CREATE INDEX outbox_by_status ON outbox (status, created_at, id);
CREATE INDEX outbox_by_channel ON outbox (channel, created_at, id);

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
  seq INTEGER NOT NULL
);
CREATE UNIQUE INDEX webhooks_by_name ON webhooks (name) WHERE removed_at IS NULL;

ALTER TABLE gates ADD COLUMN reminders TEXT;
