-- Which key a webhook's secret is derived from, where it is known, and until when messages are signed with the secret before too.

ALTER TABLE webhooks ADD COLUMN key_id TEXT;
ALTER TABLE webhooks ADD COLUMN previous_until INTEGER;
