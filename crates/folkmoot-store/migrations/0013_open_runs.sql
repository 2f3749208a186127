-- What an agent has under way is counted whenever it starts something.
CREATE INDEX runs_open_of ON runs (initiator) WHERE kind <> 'external' AND status NOT IN ('completed', 'failed', 'cancelled');
