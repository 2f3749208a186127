-- When a decision stopped the run of its gate, or wanted a change. Found by run without reading the others of its gates.
ALTER TABLE gates ADD COLUMN stopped_at INTEGER;
UPDATE gates SET stopped_at = requested_at WHERE run_id IS NOT NULL AND status IN ('rejected', 'adjust_requested');
UPDATE gates SET stopped_at = requested_at WHERE run_id IS NOT NULL AND status = 'timed_out' AND on_timeout <> 'approve';
CREATE INDEX gates_stopping ON gates (run_id, status, stopped_at) WHERE stopped_at IS NOT NULL;
CREATE INDEX gates_pending_of_run ON gates (run_id) WHERE status = 'pending';
CREATE INDEX gates_approved_of_run ON gates (run_id, requested_at) WHERE status = 'approved';
