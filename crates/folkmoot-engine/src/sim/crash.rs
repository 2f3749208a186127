//! The point at which a simulated process dies.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use folkmoot_core::{Action, Command, node};
use folkmoot_store::Witness;

use super::world::World;

/// The point at which a simulated process crashes, counted in appends. Heartbeats are not counted:
/// they come with the clock and change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// No crash.
    Never,
    /// Before this append: what was done before it is not recorded.
    Before(u64),
    /// After this append is durable, before anybody has heard of it.
    After(u64),
    /// No crash, but the caller never learns whether this append was made.
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

    /// The number of appends, over all simulated processes.
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
