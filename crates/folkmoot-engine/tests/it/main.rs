//! The engine in-process, on SQLite and a clock that stands until it is moved.

mod check;
mod deadlines;
mod moot;
mod wait;
