//! Verifying everything: the chain from its first event, and every row against what the log says of it.

use folkmoot_core::{
    Head, Principal, Refusal,
    audit::{Problem, Walk, check_row},
};
use folkmoot_store::{Error, Store};

use crate::Engine;

/// How many are read at once.
const PAGE: u32 = 500;
/// After so many problems the rest is not told.
const PROBLEMS_MAX: usize = 100;

/// What a verification found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Where the log ended when it was walked.
    pub head: Head,
    /// How many rows were compared.
    pub rows: u64,
    /// Empty where all is well.
    pub problems: Vec<Problem>,
}

impl Engine {
    /// Walks the whole log and compares every gate's row with it, while others go on writing.
    pub async fn verify(&self, principal: &Principal) -> Result<Report, Error> {
        if !principal.role.sees_everything() {
            return Err(Refusal::RoleMayNot { role: principal.role, verb: "verify the log" }.into());
        }
        let store = &self.0.store;
        let mut problems = Vec::new();
        let mut walk = Walk::new();
        // The log grows while it is walked; its end is where it was when we began.
        let end = store.head().await?;
        while walk.head.position < end.position && problems.len() < PROBLEMS_MAX {
            let events = store.events(walk.head.position, PAGE).await?;
            if events.is_empty() {
                break;
            }
            for event in events.iter().take_while(|event| event.position <= end.position) {
                problems.extend(walk.step(event));
            }
            if events.last().is_some_and(|event| event.position > end.position) {
                break;
            }
        }
        problems.extend(walk.end(end));
        let mut rows = 0;
        let mut after = String::new();
        loop {
            let histories = store.histories(&after, PAGE).await?;
            let Some(last) = histories.last() else { break };
            after.clone_from(&last.stream);
            rows += histories.len() as u64;
            for history in &histories {
                problems.extend(match &history.row {
                    Some(Err(unreadable)) => {
                        Some(Problem::new(&history.stream, format!("its row cannot be read: {unreadable}")))
                    }
                    Some(Ok(row)) => check_row(&history.stream, Some(row), &history.events),
                    None => check_row(&history.stream, None, &history.events),
                });
            }
            if problems.len() >= PROBLEMS_MAX {
                break;
            }
        }
        problems.truncate(PROBLEMS_MAX);
        Ok(Report { head: end, rows, problems })
    }
}
