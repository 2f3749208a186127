//! The engine's environment, which a simulation replaces.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::runtime::{Handle, RuntimeFlavor};

/// A future that the host runs.
pub type HostTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tasks, time and randomness. The current time comes from the store.
pub trait Host: Send + Sync + fmt::Debug + 'static {
    fn spawn(&self, task: HostTask);

    fn sleep(&self, span: Duration) -> HostTask;

    /// 128 unpredictable bits.
    fn random(&self) -> u128;

    /// Polls a workflow's code, which may block or never return, without stopping everything else.
    fn poll(&self, poll: &mut dyn FnMut()) {
        poll();
    }
}

/// A task whose every poll goes through [`Host::poll`].
pub(crate) fn guarded(host: std::sync::Arc<dyn Host>, mut task: HostTask) -> HostTask {
    Box::pin(std::future::poll_fn(move |context: &mut Context<'_>| {
        let mut polled = Poll::Pending;
        host.poll(&mut || polled = task.as_mut().poll(context));
        polled
    }))
}

/// Tokio, and the operating system's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioHost;

#[expect(clippy::disallowed_methods, reason = "this is the host that the others are told to use")]
impl Host for TokioHost {
    fn spawn(&self, task: HostTask) {
        tokio::spawn(task);
    }

    fn sleep(&self, span: Duration) -> HostTask {
        Box::pin(tokio::time::sleep(span))
    }

    fn random(&self) -> u128 {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the operating system has randomness");
        u128::from_ne_bytes(bytes)
    }

    /// Moves this thread's other tasks elsewhere, so that blocking code delays nobody.
    fn poll(&self, poll: &mut dyn FnMut()) {
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(poll),
            _ => poll(),
        }
    }
}
