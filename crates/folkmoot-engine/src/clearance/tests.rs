//! Nobody sleeps through their release, and nobody is released early, in whatever order halts,
//! releases and those who wait take their turns.

use std::sync::Arc;

use folkmoot_core::{Hold, HoldId, Name, Scope, SessionId, Timestamp, clearance::ReleaseReason};
use shuttle::{future::block_on, thread};

use super::{ClearanceTracker, ClearanceWaitEnd, RegistrationResult};
use crate::lock::shuttled::{in_any_order, switch};

#[test]
fn no_order_of_events_keeps_a_waiter_that_nothing_covers() {
    in_any_order(|| {
        play(|clearance, agent, session| {
            // As `wait_for_clearance` does.
            loop {
                match clearance.register(agent, Some(session)) {
                    RegistrationResult::Clear => return,
                    RegistrationResult::Denied(_) => panic!("nobody denied anything"),
                    RegistrationResult::Waiting(waiting, _registration) => {
                        let ended = block_on(waiting).expect("a waiter is released before it is forgotten");
                        assert!(matches!(ended, ClearanceWaitEnd::Clear), "{ended:?}");
                    }
                }
                // It may be covered again by now.
                if clearance.read(|known| known.holds.can_proceed(agent.as_str(), Some(session.as_str()))) {
                    return;
                }
            }
        });
    });
}

/// That the above can fail at all.
#[test]
#[should_panic(expected = "deadlock")]
fn whoever_looks_before_registering_is_kept_in_some_order() {
    in_any_order(|| {
        play(|clearance, agent, session| {
            if clearance.read(|known| known.holds.can_proceed(agent.as_str(), Some(session.as_str()))) {
                return;
            }
            // What it knows is old by now, and it registers on what it knew.
            let (released, waiting) = tokio::sync::oneshot::channel();
            let mut known = crate::lock::write(&clearance.known);
            let waiter = super::ClearanceWaiter {
                agent: agent.clone(),
                session: Some(session.clone()),
                gone: Vec::new(),
                released: Some(released),
            };
            known.waiting.insert(99, waiter);
            known.by_agent.entry(agent.clone()).or_default().insert(99);
            drop(known);
            drop(block_on(waiting));
        });
    });
}

/// An agent is held by a question of its own and, for a while, by a halt of its session. Two wait
/// for it to be clear.
fn play(wait: fn(&ClearanceTracker, &Name, &SessionId)) {
    let (agent, session): (Name, SessionId) = ("a1".parse().expect("a name"), "s1".parse().expect("an id"));
    let question = hold(HoldId::Question("q1".parse().expect("an id")), Scope::Agent, &agent, &session);
    let halt = hold(HoldId::Halt("h1".parse().expect("an id")), Scope::Session, &agent, &session);
    let clearance = Arc::new(ClearanceTracker::new(0, vec![question.clone()], Timestamp::from_micros(0)));
    let end = |reason| Some((reason, None, String::new()));
    let (one, other) = (clearance.clone(), clearance.clone());
    let mut tasks = vec![
        thread::spawn(move || one.change(&question.id, |_| None, end(ReleaseReason::Answered))),
        thread::spawn(move || {
            other.change(&halt.id.clone(), |_| Some(halt.clone()), None);
            other.change(&halt.id, |_| None, end(ReleaseReason::Lifted));
        }),
    ];
    for _ in 0..2 {
        let (clearance, agent, session) = (clearance.clone(), agent.clone(), session.clone());
        tasks.push(thread::spawn(move || {
            switch();
            wait(&clearance, &agent, &session);
        }));
    }
    tasks.into_iter().for_each(|task| task.join().expect("no panic"));
    clearance.read(|known| assert!(known.by_agent.is_empty() && known.by_session.is_empty(), "a trace remains"));
}

fn hold(id: HoldId, scope: Scope, agent: &Name, session: &SessionId) -> Hold {
    Hold {
        id,
        scope,
        agent_id: (scope == Scope::Agent).then(|| agent.clone()),
        session_id: (scope == Scope::Session).then(|| session.clone()),
        since: Timestamp::from_micros(1),
        question_type: None,
        denied: false,
        by: agent.clone(),
        reason: None,
    }
}
