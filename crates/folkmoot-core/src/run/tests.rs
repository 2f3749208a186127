//! The rules of runs, as transcripts. `crate::transcript` says how to read one.

mod claim;
mod end;
mod life;
mod log;
mod park;
mod properties;
mod start;
