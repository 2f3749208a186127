//! What holds for any sequence of commands, by anybody, at any time. `World` checks, after each of
//! them, that the row is the fold of its events, that streams are dense, and that a refusal leaves
//! nothing but its event.

use std::time::Duration;

use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::{
    Action, Actor, Deadline, Digest, Gate, GateId, Name, Role, RunId, Timeout, Timestamp,
    gate::{
        self, Amendment, Choice, DecisionWord, Extension, GateKind, GatePolicy, GateState, NewGate, Next, OnTimeout,
        Review, Risk,
    },
    transcript::{World, principal, time},
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_said_the_gate_holds(policy in a_policy(), steps in vec(a_step(), 20..60)) {
        let mut world = World::default();
        let mut now = time("09:00");
        for Step { who, wait, action } in steps {
            now = now.plus(wait);
            let by = match who {
                "system" => Actor::System,
                name => Actor::Principal(principal(name)),
            };
            let action = match action {
                Action::Gate(gate::Action::Open { new_gate, contents, .. }) => Action::Gate(gate::Action::Open { new_gate, policy: policy.clone(), contents }),
                Action::Gate(gate::Action::Decide(Review { digest: Some(SEEN), gate, choice, reason, feedback, edited, force, reviewer })) => {
                    let digest = world.gates.get(&gate).map(|gate| gate.digest);
                    Action::Gate(gate::Action::Decide(Review { digest, gate, choice, reason, feedback, edited, force, reviewer }))
                }
                other => other,
            };
            // Ids are made by the server and never repeat.
            if matches!(&action, Action::Gate(gate::Action::Open { new_gate, .. }) if world.gates.contains_key(&new_gate.id)) {
                continue;
            }
            let before = world.clone();
            let said = format!("{now} {who}: {action:?}");
            let result = world.execute(by.clone(), action, now);
            let changed = before.gates.values().map(|gate| (gate, &world.gates[&gate.id])).filter(|(a, b)| a != b);
            for (before, after) in changed {
                prop_assert!(result.is_ok() || refused_only(before, after), "a refusal changed a gate: {said}");
                check_change(before, after, &by, now).map_err(|why| TestCaseError::fail(format!("{why}: {said}")))?;
            }
            let woken = |world: &World| world.wakes.values().sum::<u64>();
            let wakes = woken(&world) - woken(&before);
            let closed = |world: &World| world.gates.values().filter(|gate| gate.decision().is_some()).count() as u64;
            prop_assert_eq!(wakes, closed(&world) - closed(&before), "each closing wakes its run once: {}", said);
        }
    }

    #[test]
    fn a_timeout_reads_back_as_it_was_written(millis in option::of(1..i64::MAX as u64)) {
        let timeout = millis.map_or(Timeout::Never, |millis| Timeout::After(Duration::from_millis(millis)));
        prop_assert!(timeout.is_exact());
        prop_assert_eq!(again(&timeout), timeout);
    }

    #[test]
    fn a_deadline_reads_back_as_it_was_written(micros in any::<i64>()) {
        let deadline = Deadline::from_micros(micros);
        prop_assert_eq!(again(&deadline), deadline);
        prop_assert_eq!(Deadline::from_micros(deadline.as_micros()), deadline);
        prop_assert_eq!(again(&Deadline::Never), Deadline::Never);
        prop_assert_eq!(again(&Timestamp::from_micros(micros)), Timestamp::from_micros(micros));
    }

    #[test]
    fn a_digest_reads_back_as_it_was_written(bytes in any::<[u8; 32]>()) {
        let digest = Digest::from(bytes);
        prop_assert_eq!(again(&digest), digest);
        prop_assert_eq!(Digest::from_hex(&digest.hex()), Some(digest));
        prop_assert_eq!(digest.to_string().parse(), Ok(digest));
    }

    #[test]
    fn an_id_reads_back_as_it_was_written(text in "[A-Za-z0-9._:@-]{0,63}[a-z]") {
        let (gate, run, name) = (GateId::try_from(text.clone()), RunId::try_from(text.clone()), text.parse::<Name>());
        prop_assert_eq!(gate.map(|id| again(&id).to_string()), Ok(text.clone()));
        prop_assert_eq!(run.map(|id| again(&id).to_string()), Ok(text.clone()));
        prop_assert_eq!(name.map(|id| again(&id).to_string()), Ok(text));
    }

    #[test]
    fn no_text_at_all_makes_an_id_that_is_not_safe(text in any::<String>()) {
        if let Ok(id) = text.parse::<RunId>() {
            let safe = |c: char| c.is_ascii_alphanumeric() || "._:@-".contains(c);
            prop_assert!(id.as_str() == text && text.chars().all(safe) && !text.trim_matches('.').is_empty());
        }
    }
}

fn again<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn refused_only(before: &Gate, after: &Gate) -> bool {
    *after == Gate { seq: before.seq + 1, ..before.clone() }
}

/// What must be true of any two moments in the life of one gate, with one command by `by` between
/// them.
fn check_change(before: &Gate, after: &Gate, by: &Actor, now: Timestamp) -> Result<(), &'static str> {
    let must = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
    if let Some(decision) = before.decision() {
        return must(after.decision() == Some(decision), "a decision changed");
    }
    must(before.deadline <= after.deadline, "a deadline was shortened")?;
    must(before.content.risk <= after.content.risk, "a risk was lowered")?;
    must(before.content == after.content || after.revision == before.revision + 1, "content without a revision")?;
    let decision = match &after.state {
        GateState::Pending { votes } => {
            must(once_each(votes.iter().map(|vote| &vote.reviewer)), "one person counted twice")?;
            return must(before.revision == after.revision || votes.is_empty(), "a vote outlived its content");
        }
        GateState::Closed(decision) => decision,
    };
    must(once_each(decision.votes.iter().map(|vote| &vote.reviewer)), "one person counted twice")?;
    must((decision.digest, decision.revision) == (before.digest, before.revision), "a decision on other content")?;
    let late = before.deadline.has_passed(now);
    must(late == (decision.decision == DecisionWord::TimedOut), "closed by another than the clock, or too early")?;

    let said = |choice| decision.votes.iter().filter(|vote| vote.choice == choice).count() as u32;
    let Actor::Principal(by) = by else { return must(late, "the system closed a gate that is not late") };
    if late {
        // Whoever asks the same again settles a gate whose time is over; that decides nothing but
        // what was configured.
        let consents = before.content.on_timeout == OnTimeout::Approve;
        return must(consents || decision.outcome == Next::Stop, "silence was taken for consent");
    }
    must(decision.reviewer == by.name, "somebody else's decision")?;
    // Said here once more: `Role::decides` is among what is tested.
    let is_reviewer = matches!(by.role, Role::Reviewer | Role::Admin);
    if decision.decision == DecisionWord::Cancelled {
        return must(is_reviewer || before.requested_by == by.name, "cancelled by a stranger");
    }
    must(is_reviewer, "an agent or a viewer decided")?;
    must(before.requested_by != by.name && before.on_behalf_of.as_ref() != Some(&by.name), "decided on their own")?;
    if decision.decision == DecisionWord::Override {
        return must(by.role == Role::Admin && !decision.reason.is_empty(), "an override without right or reason");
    }
    let named = &before.content.reviewers;
    let consents = before.content.on_timeout == OnTimeout::Approve;
    let objects = decision.decision == DecisionWord::Rejected && (consents || by.role == Role::Admin);
    must(named.is_empty() || named.contains(&by.name) || objects, "decided by one who was not named")?;
    let approved = decision.decision == DecisionWord::Approved;
    let alone = before.content.quorum == 1 && before.reject_quorum == 1;
    must(!approved || alone || said(Choice::Approve) >= before.content.quorum, "approved without the quorum")
}

fn once_each<'a>(names: impl Iterator<Item = &'a Name>) -> bool {
    let mut names: Vec<_> = names.collect();
    let all = names.len();
    names.sort();
    names.dedup();
    names.len() == all
}

#[derive(Clone, Debug)]
struct Step {
    who: &'static str,
    wait: Duration,
    action: Action,
}

const EVERYBODY: [&str; 9] = ["alice", "bob", "carol", "ada", "max", "bot", "elf", "vera", "system"];
const ON_TIMEOUT: [OnTimeout; 4] = [OnTimeout::Fail, OnTimeout::Approve, OnTimeout::Reject, OnTimeout::Escalate];

/// Waits are often exactly what a deadline is away. Anybody can try anything, but mostly those do
/// who may.
fn a_step() -> impl Strategy<Value = Step> {
    let wait = select(vec![0, 0, 0, 0, 0, 0, 1, 1, 59, 60]).prop_map(Duration::from_secs);
    let extension = (a_gate(), a_timeout())
        .prop_map(|(gate, timeout)| Action::Gate(gate::Action::Extend(Extension { gate, timeout })));
    let action = prop_oneof![
        4 => (mostly(&["bot", "alice"]), a_new_gate()),
        4 => (mostly(&["bot", "alice"]), an_amendment()),
        10 => (mostly(&["alice", "bob", "carol", "ada", "max"]), a_review()),
        1 => (mostly(&["bot", "ada"]), extension),
        1 => (mostly(&["vera"]), a_gate().prop_map(|gate| Action::Gate(gate::Action::Cancel { gate, reason: String::new() }))),
        1 => (mostly(&["system"]), a_gate().prop_map(|gate| Action::Gate(gate::Action::TimerDue { gate }))),
    ];
    (wait, action).prop_map(|(wait, (who, action))| Step { who, wait, action })
}

fn mostly(who: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => select(who), 1 => select(&EVERYBODY[..])]
}

fn a_policy() -> impl Strategy<Value = GatePolicy> {
    let quorums = (1..3u32, 1..3u32);
    let reminders = (vec(1..300_000u64, 0..4), option::of(1..300_000u64));
    let all = (a_timeout(), select(&ON_TIMEOUT[..]), quorums, reminders);
    all.prop_map(|(timeout, on_timeout, (quorum, reject_quorum), (remind_before_ms, escalate_before_ms))| GatePolicy {
        timeout,
        on_timeout,
        quorum,
        reject_quorum,
        remind_before_ms,
        escalate_before_ms,
        ..GatePolicy::default()
    })
}

/// Few gates and few words, so that commands meet.
fn a_gate() -> impl Strategy<Value = GateId> {
    select(vec!["a", "a", "b"]).prop_map(|id| id.parse().unwrap())
}

fn a_timeout() -> impl Strategy<Value = Timeout> {
    let minutes = |n: u64| Timeout::After(Duration::from_secs(60 * n));
    select(vec![minutes(1), minutes(2), minutes(5), Timeout::Never])
}

fn a_text() -> impl Strategy<Value = String> {
    select(vec!["Deploy", "Deploy\n1.4.2", "Löschen 🦀", "Rückwärts", "\t\"", ""]).prop_map(str::to_owned)
}

fn a_risk() -> impl Strategy<Value = Risk> {
    select(vec![Risk::Low, Risk::Medium, Risk::Medium, Risk::Critical])
}

fn a_new_gate() -> impl Strategy<Value = Action> {
    let reviewers = select(vec![vec![], vec!["alice", "bob"], vec!["alice", "bob", "carol"]]);
    let what = (a_gate(), a_text(), a_risk(), select(vec![GateKind::Custom, GateKind::Proposal, GateKind::Checkpoint]));
    let who = (
        option::of(reviewers),
        option::of(2..4u32),
        option::of(1..3u32),
        option::weighted(0.1, select(&["bob", "ada"][..])),
    );
    let when =
        (option::of(a_timeout()), option::weighted(0.3, select(&ON_TIMEOUT[..])), option::of(Just("key".to_owned())));
    (what, who, when).prop_map(|(what, who, when)| {
        let (id, summary, risk, kind) = what;
        let (reviewers, quorum, reject_quorum, on_behalf_of) = who;
        let (timeout, on_timeout, dedupe_key) = when;
        let new_gate = NewGate {
            run_id: Some(format!("run-{id}").parse().unwrap()),
            id,
            session_id: None,
            title: None,
            summary,
            phase: "merge".parse().unwrap(),
            kind,
            risk,
            artifacts: Vec::new(),
            allowed: None,
            timeout,
            on_timeout,
            reviewers: reviewers.map(|names| names.into_iter().map(|name| name.parse().unwrap()).collect()),
            quorum,
            reject_quorum,
            self_review: None,
            dedupe_key,
            notification_channels: Vec::new(),
            on_behalf_of: on_behalf_of.map(|name| name.parse().unwrap()),
        };
        Action::Gate(gate::Action::Open {
            new_gate: Box::new(new_gate),
            policy: GatePolicy::default(),
            contents: Vec::new(),
        })
    })
}

fn an_amendment() -> impl Strategy<Value = Action> {
    (a_gate(), option::of(a_text()), option::of(a_text()), option::of(a_risk())).prop_map(
        |(gate, title, summary, risk)| {
            let amendment = Amendment { gate, title, summary, risk, artifacts: None };
            Action::Gate(gate::Action::Amend { amendment, policy: GatePolicy::default(), contents: Vec::new() })
        },
    )
}

/// Stands for the digest that the gate has when the verdict is given.
const SEEN: Digest = Digest::ZERO;

/// Often what is allowed, so that gates do get decided.
fn a_review() -> impl Strategy<Value = Action> {
    let choice = select(vec![Choice::Approve, Choice::Approve, Choice::Reject, Choice::Adjust, Choice::Pause]);
    let digest = prop_oneof![4 => Just(None), 4 => Just(Some(SEEN)), 1 => Just(Some(Digest::of(b"stale")))];
    let review = (a_gate(), choice, a_text(), option::of(a_text()), digest, prop::bool::weighted(0.1));
    review.prop_map(|(gate, choice, reason, feedback, digest, force)| {
        Action::Gate(gate::Action::Decide(Review {
            gate,
            choice,
            reason,
            feedback,
            edited: None,
            digest,
            force,
            reviewer: None,
        }))
    })
}
