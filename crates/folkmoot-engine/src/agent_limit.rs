//! How much of one kind of work each agent has under way at once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use folkmoot_core::{Name, Principal, Role};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::lock::lock;

/// Limits each agent by itself, so that people never queue behind all that one agent sends.
#[derive(Debug)]
pub struct AgentLimit {
    at_once: usize,
    agents: Mutex<HashMap<Name, Arc<Semaphore>>>,
}

impl AgentLimit {
    /// Every agent may have so much under way at once.
    pub fn new(at_once: usize) -> Self {
        Self { at_once, agents: Mutex::default() }
    }

    /// Waits for one of this agent's permits. People need none and never wait.
    pub async fn permit(&self, principal: &Principal) -> Option<OwnedSemaphorePermit> {
        self.permits(principal, 1).await
    }

    /// As [`AgentLimit::permit`], for so many at once, or all that there are.
    pub async fn permits(&self, principal: &Principal, count: usize) -> Option<OwnedSemaphorePermit> {
        if principal.role != Role::Agent {
            return None;
        }
        let new = || Arc::new(Semaphore::new(self.at_once));
        let limit = lock(&self.agents).entry(principal.name.clone()).or_insert_with(new).clone();
        let count = u32::try_from(count.min(self.at_once)).unwrap_or(u32::MAX);
        limit.acquire_many_owned(count).await.ok()
    }
}
