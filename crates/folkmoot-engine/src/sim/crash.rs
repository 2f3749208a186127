//! Where a simulated process dies.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use folkmoot_core::{Action, Command, node};
use folkmoot_store::Witness;

use super::world::World;

/// Where it crashes. Signs of life are not counted: they come with the clock, and change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// Nowhere.
    Never,
    /// When this append was about to be made: whatever was done before it is not recorded.
    Before(u64),
    /// When this append was durable, and nobody had heard of it.
    After(u64),
    /// Nowhere; but what became of this append is never told.
    Untold(u64),
}

#[derive(Debug)]
pub(super) struct Tripwire {
    crash: Crash,
    appends: AtomicU64,
    world: Arc<World>,
}

impl Tripwire {
    pub(super) fn new(crash: Crash, world: Arc<World>) -> Self {
        Self { crash, appends: AtomicU64::new(0), world }
    }

    /// How many there were, in all lives.
    pub(super) fn appends(&self) -> u64 {
        self.appends.load(Ordering::SeqCst)
    }

    fn lives(&self, here: Crash) -> bool {
        if self.crash == here {
            self.world.kill();
        }
        self.crash != here
    }
}

fn counts(command: &Command) -> bool {
    !matches!(command.action, Action::Node(node::Action::Heartbeat { .. }))
}

impl Witness for Tripwire {
    fn before(&self, command: &Command) -> bool {
        if !counts(command) {
            return true;
        }
        let number = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
        self.lives(Crash::Before(number))
    }

    fn after(&self, command: &Command) -> bool {
        !counts(command) || self.lives(Crash::After(self.appends.load(Ordering::SeqCst)))
    }

    fn tells(&self, command: &Command) -> bool {
        !counts(command) || self.crash != Crash::Untold(self.appends.load(Ordering::SeqCst))
    }
}
