-- What is known of content beside its bytes. `used_at` is when somebody last sent it, noted at most once a day; `erasures`
-- counts the admin's erasures, which are the events of its stream; what is barred is not kept again.

ALTER TABLE artifacts ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE artifacts ADD COLUMN erasures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE artifacts ADD COLUMN barred INTEGER NOT NULL DEFAULT 0;
