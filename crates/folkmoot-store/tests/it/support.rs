//! Where stores live in these tests, and what is said to them.

mod command;
mod debate;
mod delivery;
mod place;
mod question;
mod run;
mod storm;
mod verify;

pub(crate) use command::*;
pub(crate) use debate::*;
pub(crate) use delivery::*;
pub(crate) use place::{InMemory, InPostgres, InSqlite, Place, World, connect};
pub(crate) use question::*;
pub(crate) use run::*;
pub(crate) use storm::{Random, storm};
pub(crate) use verify::{all_events, assert_sound, follow_until, problems};
