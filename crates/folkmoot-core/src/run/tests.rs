//! Runs, judged.
