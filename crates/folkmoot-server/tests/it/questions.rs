//! Questions, clearance and halts.

mod bad_input;
mod configured;
mod feed;
mod out_of_touch;
mod races;
mod replay;
mod roles;
mod shapes;
mod template_bugs;
mod thousand;
mod waiting;
