use super::{AuditProblem, AuditedRow, LogWalk, check_row, check_webhooks};
use crate::{
    Digest, Event, Gate, GateId, Head, chain,
    gate::GateState,
    transcript::{World, play},
};

const CHANGED: &str = "its content does not give its hash: it was changed";
const UNCHAINED: &str = "does not carry the hash of the event before it";

/// A gate with a vote and a decision: four events, and its row.
fn world() -> World {
    play(
        "
        09:00 bot opens a quorum=2
        09:01 alice approves
        09:02 bot approves
        09:03 bob approves
        ",
    )
}

fn walk(events: &[Event], head: Head) -> Vec<(String, String)> {
    let mut walk = LogWalk::default();
    let mut problems: Vec<AuditProblem> = events.iter().flat_map(|event| walk.step(event)).collect();
    problems.extend(walk.end(head));
    problems.into_iter().map(|AuditProblem { at, problem }| (at, problem)).collect()
}

/// Plays tricks on the log, then says what the walk finds.
fn found(trick: impl FnOnce(&mut Vec<Event>)) -> Vec<(String, String)> {
    let world = world();
    let mut events = world.log.clone();
    trick(&mut events);
    walk(&events, world.head())
}

fn problems<const N: usize>(wanted: [(&str, &str); N]) -> Vec<(String, String)> {
    wanted.map(|(at, problem)| (at.to_owned(), problem.to_owned())).to_vec()
}

#[test]
fn an_honest_log_has_no_problem() {
    assert_eq!(found(|_| {}), problems([]));
    assert_eq!(walk(&[], Head::START), problems([]));
}

#[test]
fn a_changed_byte_is_found() {
    let found = found(|log| log[1].fact.payload = log[1].fact.payload.replace("approve", "Approve"));
    assert_eq!(found, problems([("2", CHANGED)]));
}

#[test]
fn a_changed_event_with_a_new_hash_is_found_at_the_next() {
    let found = found(|log| {
        log[1].fact.actor = "mallory".parse().unwrap();
        log[1].hash = chain::hash(2, &log[1].fact, log[1].prev_hash);
    });
    assert_eq!(found, problems([("3", UNCHAINED)]));
}

#[test]
fn a_log_that_was_hashed_again_to_its_end_is_found_by_its_head() {
    let found = found(|log| {
        let mut head = Head::START;
        log[0].fact.actor = "mallory".parse().unwrap();
        *log = log.iter().map(|event| chain::append(&mut head, event.fact.clone())).collect();
    });
    assert_eq!(found, problems([("head", "the log ends at 4, but its head names another hash for that event")]));
}

#[test]
fn a_removed_event_is_found() {
    let found = found(|log| drop(log.remove(1)));
    assert_eq!(found, problems([("2", "event 2 is missing: the log goes on with 3")]));
}

#[test]
fn a_removed_event_is_found_when_the_others_close_the_gap() {
    let found = found(|log| {
        log.remove(1);
        log[1].position = 2;
        log[2].position = 3;
    });
    let head = "the log ends at 3, but its head says 4";
    assert_eq!(found, problems([("2", UNCHAINED), ("2", CHANGED), ("3", CHANGED), ("head", head)]));
}

#[test]
fn reordered_events_are_found() {
    let found = found(|log| log.swap(1, 2));
    let wanted = [
        ("2", "event 2 is missing: the log goes on with 3"),
        ("4", "event 4 is missing: the log goes on with 2"),
        ("3", "event 3 is missing: the log goes on with 4"),
    ];
    assert_eq!(found, problems(wanted));
}

#[test]
fn a_repeated_event_is_found() {
    let found = found(|log| log.push(log[3].clone()));
    assert_eq!(found, problems([("5", "event 5 is missing: the log goes on with 4")]));
}

#[test]
fn a_missing_beginning_is_found() {
    let found = found(|log| drop(log.remove(0)));
    assert_eq!(found, problems([("1", "event 1 is missing: the log goes on with 2")]));
}

#[test]
fn a_missing_tail_is_found_by_the_head() {
    let found = found(|log| log.truncate(2));
    assert_eq!(found, problems([("head", "the log ends at 2, but its head says 4")]));
}

fn row_problem(trick: impl FnOnce(&mut Option<Gate>, &mut Vec<Event>)) -> Option<(String, String)> {
    let world = world();
    let id: GateId = "a".parse().unwrap();
    let (mut row, mut events) = (world.gates.get(&id).cloned(), world.stream(id.as_str()));
    trick(&mut row, &mut events);
    let row = row.map(|gate| AuditedRow::Gate(Box::new(gate)));
    check_row("a", row.as_ref(), &events).map(|AuditProblem { at, problem }| (at, problem))
}

fn at_a(problem: &str) -> Option<(String, String)> {
    Some(("a".to_owned(), problem.to_owned()))
}

#[test]
fn a_row_that_agrees_has_no_problem() {
    assert_eq!(row_problem(|_, _| {}), None);
}

#[test]
fn a_row_that_disagrees_is_found() {
    let decided_by_another = row_problem(|row, _| {
        if let Some(Gate { state: GateState::Closed(decision), .. }) = row {
            decision.reviewer = "mallory".parse().unwrap();
        }
    });
    let wanted = "its row (approved by mallory, revision 1, 4 events) disagrees with the log (approved by bob, \
                  revision 1, 4 events) in state";
    assert_eq!(decided_by_another, at_a(wanted));

    let with_another_digest = row_problem(|row, _| row.as_mut().unwrap().digest = Digest::ZERO);
    assert!(with_another_digest.is_some_and(|(_, problem)| problem.contains("disagrees with the log")));
}

#[test]
fn a_row_that_is_behind_or_ahead_is_found() {
    let ahead = row_problem(|_, events| drop(events.pop()));
    let wanted = "its row (approved by bob, revision 1, 4 events) disagrees with the log (pending, revision 1, 3 events) in seq, state";
    assert_eq!(ahead, at_a(wanted));
}

#[test]
fn a_row_that_is_gone_is_found() {
    assert_eq!(row_problem(|row, _| *row = None), at_a("the log has this gate, but its row is gone"));
}

#[test]
fn a_row_that_the_log_does_not_know_is_found() {
    assert_eq!(row_problem(|_, events| events.clear()), at_a("its events do not make a gate: there are no events"));
}

#[test]
fn events_that_cannot_have_happened_are_found() {
    let say = |trick: fn(&mut Vec<Event>)| row_problem(|_, events| trick(events));
    let broken = |problem: &str| at_a(&format!("its events do not make a gate: {problem}"));
    assert_eq!(say(|log| drop(log.remove(0))), broken("begins with gate.vote instead of gate.opened"));
    assert_eq!(say(|log| drop(log.remove(1))), broken("event 3 of the stream follows event 1"));
    assert_eq!(say(|log| log.truncate(1)).map(|(_, problem)| problem.contains("disagrees")), Some(true));
    assert_eq!(say(|log| log[0].fact.stream_seq = 7), broken("begins with event 7 of the stream"));
    assert_eq!(say(|log| log[1].fact.kind = "gate.closed".into()), broken("\"gate.closed\" is no event of a gate"));
    let again = |log: &mut Vec<Event>, n: usize| {
        let mut event = log[n].clone();
        event.fact.stream_seq = 5;
        log.push(event);
    };
    assert_eq!(row_problem(|_, log| again(log, 1)), broken("gate.vote on a gate that was already decided"));
    let twice = row_problem(|_, log| {
        log.truncate(1);
        again(log, 0);
        log[1].fact.stream_seq = 2;
    });
    assert_eq!(twice, broken("it was opened twice"));
    let nonsense = say(|log| log[1].fact.payload = "{}".to_owned());
    let wanted = "gate.vote has a payload that does not parse: missing field `requested_by` at line 1 column 2";
    assert_eq!(nonsense, broken(wanted));
}

#[test]
fn what_a_question_asks_is_checked_and_a_halt_keeps_nothing_elsewhere() {
    let world = play("09:00 bot asks q1 BLOCKING \"Which branch?\"\n09:01 ada halts h1 scope=all \"why\"");
    let folded = |noun, stream| AuditedRow::fold(noun, &world.stream(stream)).unwrap().unwrap();
    assert_eq!(folded("question", "q1").contents(), [Digest::of(b"Which branch?")]);
    assert_eq!(folded("halt", "h1").contents(), []);
    assert_eq!(world.artifacts[&folded("question", "q1").contents()[0]], b"Which branch?");
}

#[test]
fn a_webhook_that_was_changed_invented_or_removed_behind_our_back_is_found() {
    let world = play("09:00 ada hooks ops events=*\n09:01 ada hooks mail events=*\n09:02 ada rehooks ops rotate=true");
    let rows: Vec<_> = world.webhooks.values().cloned().collect();
    let logged = rows.iter().map(|row| (row.id.clone(), row.logged())).collect();
    assert_eq!(check_webhooks(&rows, &logged), []);
    let found = |rows: &[_], logged: &_| -> Vec<String> {
        check_webhooks(rows, logged).into_iter().map(|problem| problem.at).collect()
    };
    let mut elsewhere = rows.clone();
    elsewhere[0].url = "https://evil.example".to_owned();
    assert_eq!(found(&elsewhere, &logged), ["webhook:mail"]);
    assert_eq!(found(&rows[..1], &logged), ["webhook:ops"]);
    assert_eq!(found(&rows[1..], &Default::default()), ["webhook:ops"]);
}
