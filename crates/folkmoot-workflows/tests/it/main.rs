//! What agents are made of, by its behaviour.

mod doctor;
mod workbench;
