//! A debate: what its agents say to each other, and what is kept of it.

pub mod record;
