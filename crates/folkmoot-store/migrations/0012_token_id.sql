-- The token that was shown for the command that caused the event. Events that are there already have none, and keep their hashes.
ALTER TABLE events ADD COLUMN token_id TEXT;
