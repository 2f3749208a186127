-- What one agent has waiting: counted when it opens or asks more, and listed beside what others have waiting.
ALTER TABLE gates ADD COLUMN content_bytes INTEGER NOT NULL DEFAULT 0;
CREATE INDEX gates_inbox_of ON gates (requested_by, urgency, deadline, requested_at, id, content_bytes) WHERE status = 'pending';
CREATE INDEX questions_open_of ON questions (asked_by) WHERE status = 'pending';
