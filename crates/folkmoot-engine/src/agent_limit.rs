//! Limits concurrent work per agent.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use folkmoot_core::{Name, Principal, Role};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::lock::lock;

/// Limits each agent separately, so that people never wait behind one agent's requests.
#[derive(Debug)]
pub struct AgentLimit {
    at_once: usize,
    agents: Mutex<HashMap<Name, Arc<Semaphore>>>,
}

impl AgentLimit {
    /// Each agent may have `at_once` in progress.
    pub fn new(at_once: usize) -> Self {
        Self { at_once, agents: Mutex::default() }
    }

    /// Waits for one of this agent's permits. People need none and never wait.
    pub async fn permit(&self, principal: &Principal) -> Option<OwnedSemaphorePermit> {
        self.permits(principal, 1).await
    }

    /// As [`AgentLimit::permit`], for several permits, or all of them.
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
