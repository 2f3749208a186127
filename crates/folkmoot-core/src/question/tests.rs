//! The rules of questions, as transcripts. `crate::transcript` says how to read one.

mod answer;
mod ask;
mod cancel;
mod deny;
mod log;
mod texts;
mod timeout;
