-- How a token's secret is kept, and how a person must show that they decide on a gate, where the configuration demands something.
-- Tokens that are there already were made by somebody: what the data folder keeps for its owner is replaced at the next start.

ALTER TABLE tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'minted';
ALTER TABLE gates ADD COLUMN presence TEXT;
