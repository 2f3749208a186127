//! What holds for any sequence of askings, answers, timers, halts and liftings, by anybody, at any
//! time. `World` checks, after each of them, that every row is the fold of its events, that events
//! and rows read back as they were written, and that a refusal leaves nothing but its event.

use std::{collections::BTreeSet, time::Duration};

use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

use crate::{
    Action, Actor, Event, Halt, HaltId, Name, Question, QuestionId, Role, Scope, SessionId, Timeout, Timestamp,
    audit::{AuditedRow, check_row},
    clearance::Target,
    halt::{self, NewHalt, Notice},
    question::{self, Close, NewQuestion, QuestionPolicy, QuestionState, QuestionStatus, QuestionType, Reply},
    transcript::{World, principal, time},
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_said_an_agent_is_cleared_exactly_when_nothing_covers_it(steps in vec(a_step(), 20..60)) {
        let mut world = World::default();
        let mut halted = BTreeSet::new();
        let mut now = time("09:00");
        for (n, Step { who, wait, what }) in steps.into_iter().enumerate() {
            now = now.plus(wait);
            let by = match who {
                "system" => Actor::System,
                name => Actor::Principal(principal(name)),
            };
            let Some(action) = what.action(n, &world) else { continue };
            let said = format!("{now} {who}: {action:?}");
            let before = world.clone();
            let result = world.execute(by.clone(), action, now);
            let checked = check_changes(&before, &world, result.is_ok(), &by, now)
                .and_then(|()| check_notices(&world, &world.log[before.log.len()..], &mut halted));
            checked.map_err(|why| TestCaseError::fail(format!("{why}: {said}")))?;
            check_clearance(&world);
        }
        check_log(&world);
    }
}

const AGENTS: [&str; 4] = ["bot", "elf", "a1", "alice"];
const SESSIONS: [&str; 2] = ["s1", "s2"];

/// `World::covering` compares what the rows say with what a node says that follows the changes.
fn check_clearance(world: &World) {
    for agent in AGENTS {
        let agent: Name = agent.parse().unwrap();
        world.covering(&agent, None);
        for session in SESSIONS {
            world.covering(&agent, Some(&session.parse().unwrap()));
        }
    }
}

/// Every stream, also of what never came to be, makes the row that there is.
fn check_log(world: &World) {
    let streams: BTreeSet<_> = world.log.iter().map(|event| event.fact.stream.as_ref()).collect();
    for stream in streams {
        let question = world.questions.get(stream).map(|question| AuditedRow::Question(Box::new(question.clone())));
        let halt = world.halts.get(stream).map(|halt| AuditedRow::Halt(Box::new(halt.clone())));
        assert_eq!(check_row(stream, question.or(halt).as_ref(), &world.stream(stream)), None);
    }
}

/// Whoever knows only what the log says of halting and resuming knows what is held, and is told the
/// truth about who can proceed.
fn check_notices(world: &World, said: &[Event], halted: &mut BTreeSet<Target>) -> Result<(), &'static str> {
    let must = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
    let held: BTreeSet<_> = world.all_holds().iter().flat_map(|hold| hold.targets().collect::<Vec<_>>()).collect();
    for event in said {
        let Some(notice) = Notice::read(&event.fact).unwrap() else { continue };
        let target = match event.fact.kind.split('.').next() {
            Some("agent") => Target::Agent(notice.agent_id.clone().ok_or("an agent without a name")?),
            Some("session") => Target::Session(notice.session_id.clone().ok_or("a session without an id")?),
            _ => Target::System,
        };
        if !notice.resumed {
            must(notice.can_proceed.is_none() && notice.answer.is_none(), "halted, and yet released")?;
            halted.insert(target);
            continue;
        }
        let truth = match &target {
            Target::Agent(agent) => world.covering(agent, event.fact.session.as_ref()).is_empty(),
            Target::Session(_) | Target::System => !held.contains(&Target::System),
        };
        must(notice.can_proceed == Some(truth), "told something wrong about who can proceed")?;
        must(halted.remove(&target), "resumed what was not halted")?;
    }
    must(*halted == held, "the log tells of other halts than there are")
}

fn check_changes(before: &World, after: &World, ok: bool, by: &Actor, now: Timestamp) -> Result<(), &'static str> {
    let must = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
    must(ok || before.all_holds() == after.all_holds(), "a refusal halted or released somebody")?;
    must(ok || before.timers == after.timers, "a refusal moved a timer")?;
    for (id, question) in &before.questions {
        check_question(question, &after.questions[id], by, now)?;
    }
    for (id, halt) in &before.halts {
        check_halt(halt, &after.halts[id], by)?;
    }
    let asked = after.questions.values().filter(|question| !before.questions.contains_key(&question.id));
    for question in asked {
        let by_type = question.question_type.halts();
        let least =
            if question.session_id.is_none() && by_type == Some(Scope::Session) { Some(Scope::Agent) } else { by_type };
        must(question.halts >= least, "halts less than its type")?;
        let never_by_silence = matches!(question.question_type, QuestionType::Approval | QuestionType::Emergency);
        must(!(never_by_silence && question.default.is_some()), "silence could answer it")?;
    }
    let raised = after.halts.keys().any(|id| !before.halts.contains_key(id));
    let may_raise = matches!(by, Actor::Principal(by) if by.role == Role::Admin || by.name.as_str() == "mon");
    must(!raised || may_raise, "raised by one who may not")
}

/// What must be true of any two moments in the life of one question, with one command by `by`
/// between them.
fn check_question(before: &Question, after: &Question, by: &Actor, now: Timestamp) -> Result<(), &'static str> {
    let must = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
    let asked = Question {
        seq: before.seq,
        due: before.due,
        reminders: before.reminders,
        state: before.state.clone(),
        ..after.clone()
    };
    must(asked == *before, "what was asked changed")?;
    let is_asker = |by: &crate::Principal| before.asked_by == by.name || before.agent_id == by.name;
    let closure = match (&before.state, &after.state) {
        (QuestionState::Pending, QuestionState::Closed(closure)) => closure,
        (QuestionState::Pending, QuestionState::Pending) => {
            let reminded = after.reminders == before.reminders + 1 && before.due.has_passed(now);
            return must(reminded || (after.reminders, after.due) == (before.reminders, before.due), "reminded early");
        }
        (QuestionState::Closed(_), QuestionState::Pending) => return Err("opened again"),
        (QuestionState::Closed(was), QuestionState::Closed(is)) => {
            let mut heard = was.clone();
            heard.fetched_at = is.fetched_at;
            heard.released_by.clone_from(&is.released_by);
            must(heard == *is, "closed twice")?;
            let fetched = was.fetched_at != is.fetched_at;
            let released = is.released_by.is_some();
            let by_asker = matches!(by, Actor::Principal(by) if is_asker(by));
            let by_decider = matches!(by, Actor::Principal(by) if matches!(by.role, Role::Admin | Role::Reviewer));
            let rightly = if released { by_decider } else { by_asker };
            return must(!fetched || (rightly && was.status == QuestionStatus::Denied), "a denial heard by another");
        }
    };
    must((closure.at, closure.fetched_at) == (now, None), "closed at another time")?;
    if closure.status == QuestionStatus::Expired {
        must(before.due.has_passed(now) && closure.answer == before.default, "expired early, or with another answer")?;
        return must(before.halts.is_none() || before.default.is_some(), "silence released somebody");
    }
    must(!before.deadline().has_passed(now), "closed too late")?;
    let Actor::Principal(by) = by else { return Err("the clock closed what is not late") };
    must(closure.by == by.name, "closed by another")?;
    if is_asker(by) {
        let withdrawn = matches!(closure.status, QuestionStatus::Skipped | QuestionStatus::Cancelled);
        return must(withdrawn && before.halts.is_none(), "an asker released itself");
    }
    must(matches!(by.role, Role::Admin | Role::Reviewer), "closed by one who does not decide")?;
    let answer = closure.answer.as_ref();
    let offered = |answer: &Value| before.options.iter().any(|option| answer == option.as_str());
    match closure.status {
        QuestionStatus::Answered => {
            must(before.options.is_empty() || answer.is_some_and(offered), "an answer that was not offered")?;
            let approved = before.question_type != QuestionType::Approval || answer == Some(&json!("approve"));
            must(approved, "approved by another word")
        }
        QuestionStatus::Denied => {
            let hold = after.hold().map(|hold| (hold.denied, hold.covers(&before.agent_id, None)));
            must(hold == before.halts.map(|_| (true, true)), "a denial let its asker go")
        }
        QuestionStatus::Skipped | QuestionStatus::Cancelled => must(answer.is_none(), "an answer that nobody gave"),
        QuestionStatus::Pending | QuestionStatus::Expired => Err("closed with a word for something else"),
    }
}

fn check_halt(before: &Halt, after: &Halt, by: &Actor) -> Result<(), &'static str> {
    if *after == (Halt { seq: after.seq, ..before.clone() }) {
        return Ok(());
    }
    let lifted = Halt { seq: after.seq, lifted: after.lifted.clone(), ..before.clone() };
    let by_admin = matches!(by, Actor::Principal(by) if by.role == Role::Admin
        && after.lifted.as_ref().is_some_and(|lifting| lifting.by == by.name));
    let once = before.lifted.is_none() && *after == lifted;
    if once && by_admin { Ok(()) } else { Err("a halt changed otherwise than by an admin's lifting") }
}

#[derive(Clone, Debug)]
struct Step {
    who: &'static str,
    wait: Duration,
    what: What,
}

/// What somebody does. Numbers choose among what there is then, so that commands meet.
#[derive(Clone, Debug)]
enum What {
    Ask(Box<NewQuestion>),
    Close(usize, Close),
    Fetch(usize),
    Lapse(usize),
    Raise(NewHalt),
    Lift(usize),
}

impl What {
    fn action(self, n: usize, world: &World) -> Option<Action> {
        let open: Vec<_> = world.questions.values().filter(|question| question.closure().is_none()).collect();
        let all: Vec<_> = world.questions.values().collect();
        let among = |from: &[&Question], n: usize| Some(from.get(n.checked_rem(from.len())?)?.id.clone());
        // One in eight comes too late.
        let question = |n: usize| if n.is_multiple_of(8) { among(&all, n / 8) } else { among(&open, n / 8) };
        Some(match self {
            What::Ask(new_question) => {
                let id: QuestionId = format!("q{n:02}").parse().unwrap();
                let defaults = QuestionPolicy::default().defaults(new_question.question_type);
                Action::Question(question::Action::Ask {
                    new_question: Box::new(NewQuestion { id, ..*new_question }),
                    defaults,
                })
            }
            What::Close(n, close) => Action::Question(question::Action::Close(Reply {
                question: question(n)?,
                close,
                reason: String::new(),
            })),
            What::Fetch(n) => {
                let denied = |question: &&&Question| question.status() == QuestionStatus::Denied;
                let denied: Vec<_> = all.iter().filter(denied).copied().collect();
                Action::Question(question::Action::Fetch { question: among(&denied, n)?, reason: String::new() })
            }
            What::Lapse(n) => Action::Question(question::Action::TimerDue { question: question(n)? }),
            What::Raise(new_halt) => {
                Action::Halt(halt::Action::Raise(NewHalt { id: format!("h{n:02}").parse().unwrap(), ..new_halt }))
            }
            What::Lift(n) => {
                let ids: Vec<&HaltId> = world.halts.keys().collect();
                Action::Halt(halt::Action::Lift { halt: (*ids.get(n.checked_rem(ids.len())?)?).clone() })
            }
        })
    }
}

const EVERYBODY: [&str; 9] = ["alice", "bob", "ada", "max", "bot", "elf", "mon", "vera", "system"];

/// Waits are often exactly what a timeout is away. Anybody can try anything, but mostly those do
/// who may.
fn a_step() -> impl Strategy<Value = Step> {
    let wait = select(vec![0, 0, 0, 0, 1, 60, 300, 900]).prop_map(Duration::from_secs);
    let what = prop_oneof![
        6 => (mostly(&["bot", "elf", "alice"]), a_new_question().prop_map(|new_question| What::Ask(Box::new(new_question)))),
        6 => (mostly(&["alice", "bob", "ada"]), (any::<usize>(), a_close()).prop_map(|(n, close)| What::Close(n, close))),
        3 => (mostly(&["bot", "elf", "alice"]), any::<usize>().prop_map(What::Fetch)),
        3 => (mostly(&["system"]), any::<usize>().prop_map(What::Lapse)),
        2 => (mostly(&["ada", "mon"]), a_new_halt().prop_map(What::Raise)),
        2 => (mostly(&["ada", "max"]), any::<usize>().prop_map(What::Lift)),
    ];
    (wait, what).prop_map(|(wait, (who, what))| Step { who, wait, what })
}

fn mostly(who: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop_oneof![5 => select(who), 1 => select(&EVERYBODY[..])]
}

fn an_agent() -> impl Strategy<Value = Name> {
    select(&AGENTS[..]).prop_map(|name| name.parse().unwrap())
}

fn a_session() -> impl Strategy<Value = SessionId> {
    select(&SESSIONS[..]).prop_map(|id| id.parse().unwrap())
}

fn a_scope() -> impl Strategy<Value = Scope> {
    select(vec![Scope::Agent, Scope::Session, Scope::All])
}

fn a_new_question() -> impl Strategy<Value = NewQuestion> {
    let question_type = select(QuestionType::WORDS).prop_map(|word| word.parse().unwrap());
    let options = select(vec![vec![], vec![], vec!["a", "b"], vec!["a", "a"]]);
    let default = option::weighted(0.4, select(vec![json!("a"), json!("x"), json!({ "n": [0.1, null] })]));
    let minutes = |n: u64| Timeout::After(Duration::from_secs(60 * n));
    let timeout = option::of(select(vec![minutes(0), minutes(1), minutes(5), Timeout::Never]));
    let who = (option::weighted(0.3, an_agent()), option::of(a_session()), option::weighted(0.3, a_scope()));
    (question_type, who, options, default, timeout).prop_map(|(question_type, who, options, default, timeout)| {
        NewQuestion {
            id: "unnumbered".parse().unwrap(),
            agent_id: who.0,
            run_id: None,
            session_id: who.1,
            question_type,
            text: format!("{question_type}?"),
            options: options.into_iter().map(str::to_owned).collect(),
            default,
            timeout,
            halts: who.2,
            priority: None,
        }
    })
}

fn a_close() -> impl Strategy<Value = Close> {
    let answer = select(vec![json!("approve"), json!("deny"), json!("a"), json!(["\"", 1e-7, -1]), Value::Null]);
    prop_oneof![
        4 => answer.prop_map(Close::Answer),
        2 => Just(Close::Deny),
        1 => Just(Close::Skip),
        1 => Just(Close::Cancel),
    ]
}

/// Mostly with the id that goes with its scope.
fn a_new_halt() -> impl Strategy<Value = NewHalt> {
    let ids = (an_agent(), a_session(), prop::bool::weighted(0.1));
    (a_scope(), ids).prop_map(|(scope, (agent, session, both))| NewHalt {
        id: "unnumbered".parse().unwrap(),
        scope,
        agent_id: Some(agent).filter(|_| both || scope == Scope::Agent),
        session_id: Some(session).filter(|_| both || scope == Scope::Session),
        reason: "why not".to_owned(),
    })
}
