//! The world of a simulation: its tasks, clock and randomness, and whether its process lives.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use folkmoot_core::Timestamp;
use folkmoot_store::{Clock, ManualClock};
use futures_util::task::{ArcWake, waker};

use super::SIMULATION_TIMEOUT;
use crate::{Host, HostTask, lock::lock};

/// The start of simulations, in microseconds since 1970.
const BEGINNING: i64 = 1_800_000_000_000_000;

#[derive(Debug)]
pub(super) struct World {
    clock: Arc<ManualClock>,
    seed: u64,
    chance: Mutex<u64>,
    tasks: Mutex<Tasks>,
    dead: AtomicBool,
}

#[derive(Default)]
struct Tasks {
    all: BTreeMap<u64, Option<HostTask>>,
    ready: Vec<u64>,
    next: u64,
    /// Sleeping tasks, by their wake time.
    sleepers: BTreeMap<(Timestamp, u64), Waker>,
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} tasks", self.all.len())
    }
}

impl World {
    pub(super) fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self {
            clock: Arc::new(ManualClock::at(Timestamp::from_micros(BEGINNING))),
            seed,
            chance: Mutex::new(seed),
            tasks: Mutex::default(),
            dead: AtomicBool::new(false),
        })
    }

    pub(super) fn clock(&self) -> Arc<ManualClock> {
        self.clock.clone()
    }

    /// The process dies: none of its tasks is polled any more.
    pub(super) fn kill(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    /// Starts another process.
    pub(super) fn restart(&self) {
        self.dead.store(false, Ordering::SeqCst);
    }

    /// Runs `main` and everything it spawns to its end. If the process dies first, `autopsy`
    /// examines what it leaves.
    pub(super) fn run<T: Send + 'static>(
        self: &Arc<Self>,
        main: impl Future<Output = T> + Send + 'static,
        autopsy: impl FnOnce() -> T,
    ) -> T {
        let done: Arc<Mutex<Option<T>>> = Arc::default();
        let result = done.clone();
        self.spawn(Box::pin(async move {
            let output = main.await;
            *lock(&result) = Some(output);
        }));
        let ended = loop {
            if self.dead.load(Ordering::SeqCst) {
                break autopsy();
            }
            if let Some(output) = lock(&done).take() {
                break output;
            }
            match self.pick() {
                Some((number, task)) => self.poll(number, task),
                None => self.pass_time(),
            }
        };
        // Outside the lock: dropping a task can wake others.
        let tasks = std::mem::take(&mut *lock(&self.tasks));
        drop(tasks);
        ended
    }

    /// Picks a runnable task.
    fn pick(&self) -> Option<(u64, HostTask)> {
        loop {
            let draw = self.draw();
            let mut tasks = lock(&self.tasks);
            if tasks.ready.is_empty() {
                return None;
            }
            let place = (draw % tasks.ready.len() as u64) as usize;
            let number = tasks.ready.swap_remove(place);
            if let Some(task) = tasks.all.get_mut(&number).and_then(Option::take) {
                return Some((number, task));
            }
        }
    }

    fn poll(self: &Arc<Self>, number: u64, mut task: HostTask) {
        let waker = waker(Arc::new(Ring { world: self.clone(), number }));
        let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
        let mut tasks = lock(&self.tasks);
        match polled {
            Poll::Ready(()) => drop(tasks.all.remove(&number)),
            Poll::Pending => drop(tasks.all.insert(number, Some(task))),
        }
    }

    /// Advances the clock to the next sleeper.
    fn pass_time(&self) {
        let sleeper = lock(&self.tasks).sleepers.pop_first();
        let Some(((moment, _), sleeper)) = sleeper else {
            panic!("nothing can happen any more: everyone waits for somebody else (seed {})", self.seed);
        };
        let now = self.clock.now();
        assert!(
            now < Timestamp::from_micros(BEGINNING).plus(SIMULATION_TIMEOUT),
            "nothing came of it in {SIMULATION_TIMEOUT:?} (seed {})",
            self.seed
        );
        let span = u64::try_from(moment.as_micros() - now.as_micros()).unwrap_or(0);
        self.clock.advance(Duration::from_micros(span));
        sleeper.wake();
    }

    /// The next random number (splitmix64).
    fn draw(&self) -> u64 {
        let mut chance = lock(&self.chance);
        *chance = chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *chance;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Host for Arc<World> {
    fn spawn(&self, task: HostTask) {
        let mut tasks = lock(&self.tasks);
        let number = tasks.next;
        tasks.next += 1;
        tasks.all.insert(number, Some(task));
        tasks.ready.push(number);
    }

    fn sleep(&self, span: Duration) -> HostTask {
        Box::pin(Sleep { world: self.clone(), until: self.clock.now().plus(span), place: None })
    }

    fn random(&self) -> u128 {
        u128::from(self.draw()) << 64 | u128::from(self.draw())
    }
}

/// Wakes a task.
struct Ring {
    world: Arc<World>,
    number: u64,
}

impl ArcWake for Ring {
    fn wake_by_ref(ring: &Arc<Self>) {
        let mut tasks = lock(&ring.world.tasks);
        if !tasks.ready.contains(&ring.number) {
            tasks.ready.push(ring.number);
        }
    }
}

/// A sleep until a moment of the simulated clock.
struct Sleep {
    world: Arc<World>,
    until: Timestamp,
    place: Option<(Timestamp, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.world.clock.now() >= self.until {
            return Poll::Ready(());
        }
        let (world, until) = (self.world.clone(), self.until);
        let mut tasks = lock(&world.tasks);
        let place = self.place.unwrap_or_else(|| {
            tasks.next += 1;
            (until, tasks.next)
        });
        tasks.sleepers.insert(place, context.waker().clone());
        self.place = Some(place);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            lock(&self.world.tasks).sleepers.remove(&place);
        }
    }
}
