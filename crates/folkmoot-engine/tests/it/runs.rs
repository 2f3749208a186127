//! Durable runs.

mod crash;
