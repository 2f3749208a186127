//! The actions on a halt, and the rows that each needs.

use super::{Halt, NewHalt, lift, raise};
use crate::{
    Actor, Commit, HaltId, Needs, Quota,
    clearance::Others,
    judge::{Case, RefusedWith},
};

/// An action on a halt.
#[derive(Clone, Debug)]
pub enum Action {
    Raise(NewHalt),
    Lift { halt: HaltId },
}

/// The rows of halts that were found.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub halt: Option<Halt>,
    /// Whether other holds are on the same targets.
    pub others: Others,
}

impl Action {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Action::Raise(_) => "halt.raise",
            Action::Lift { .. } => "halt.lift",
        }
    }

    pub(crate) fn needs<'a>(&'a self, by: &'a Actor, quota: &Quota) -> Needs<'a> {
        match self {
            Action::Raise(_) => Needs { usage: quota.of_halts(by), ..Needs::default() },
            Action::Lift { halt } => Needs { halt: Some(halt), ..Needs::default() },
        }
    }

    pub(crate) fn judge(&self, case: &Case<'_>, loaded: crate::Loaded) -> Result<Commit, RefusedWith> {
        match self {
            Action::Raise(new_halt) => raise::judge(case, new_halt, loaded.usage),
            Action::Lift { halt } => lift::judge(case, halt, loaded.halt),
        }
    }
}
