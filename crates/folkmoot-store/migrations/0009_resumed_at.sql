-- When a person last resumed a run: whatever waited then for a provider is tried at once.
ALTER TABLE runs ADD COLUMN resumed_at INTEGER;
