//! Questions, clearance and halts.

mod bad_input;
mod feed;
mod races;
mod replay;
mod roles;
mod shapes;
mod template_bugs;
mod thousand;
mod waiting;
