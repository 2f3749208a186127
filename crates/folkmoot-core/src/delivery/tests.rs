use std::time::{Duration, Instant};

use super::{ATTEMPTS_MAX, PAUSES, Pattern, Subscription, new_deliveries, pause_after};
use crate::{
    Commit,
    event::EventKind,
    transcript::{check, play},
};

#[test]
fn each_channel_is_told_once_of_an_event_whoever_named_it() {
    check(
        r#"
        channel ops events=gate.*
        channel mail
        channel all events=*
        policy tell=ops,mail
        09:00 bot opens a                                        → pending
        outbox                                                   → mail a gate.opened, ops a gate.opened, all a gate.opened
        09:01 alice approves                                     → approved by alice, proceed
        09:02 bot asks q CLARIFYING "Which one?"                 → pending
        09:03 ada halts h scope=all "stop"                       → stands
        outbox                                                   → mail a gate.opened, ops a gate.opened, all a gate.opened, mail a gate.decided, ops a gate.decided, all a gate.decided, all q question.asked, all h halt.raised, all h system.halted
        "#,
    );
}

#[test]
fn gates_tell_those_whom_they_name_only_what_matters() {
    check(
        r#"
        policy tell=ops quorum=2 timeout=1h on_timeout=escalate
        09:00 bot opens a                             → pending
        09:01 bot amends "Something else"             → pending, revision 2
        09:02 alice approves digest=r2                → pending, revision 2, alice approve
        10:00 system expires                          → pending, revision 2, escalated, alice approve
        10:01 bot extends by=5h                       → pending, revision 2, escalated, alice approve
        10:02 bob rejects "no" digest=r2              → rejected by bob, stop
        outbox                                        → ops a gate.opened, ops a gate.escalated, ops a gate.decided
        "#,
    );
}

#[test]
fn a_commit_with_two_events_tells_of_each() {
    check(
        "
        channel ops events=gate.*,run.started
        policy timeout=1m
        09:00 bot opens a run=r key=k      → pending
        09:02 bot opens b run=r key=k      → pending
        outbox                                    → ops run:r run.started, ops a gate.opened, ops a gate.decided, ops b gate.opened
        ",
    );
    let world = play(
        "
        channel ops events=gate.*
        policy timeout=1m
        09:00 bot opens a key=k
        09:02 bot opens b key=k
        ",
    );
    for delivery in &world.outbox {
        let event = &world.log[delivery.position as usize - 1];
        assert_eq!((&*delivery.subject, &*delivery.kind), (&*event.fact.stream, &*event.fact.kind));
        assert!(delivery.id.as_str().contains(&event.hash.hex()[..16]), "{}", delivery.id);
    }
}

#[test]
fn nobody_is_told_of_refused_attempts_or_of_deliveries() {
    check(
        r#"
        channel all events=*
        09:00 bot opens a                             → pending
        09:00 bot approves                            → refused: role_may_not decide
        09:00 bot halts h scope=all                   → refused: role_may_not raise a halt
        09:01 system abandons all "no such channel"   → gate.opened to all dead after "no such channel" (0)
        09:02 ada resends 1                           → gate.opened to all waiting until 09:02:00 after "no such channel" (0)
        outbox                                        → all a gate.opened
        "#,
    );
}

#[test]
fn who_takes_a_delivery_has_it_alone_for_the_time_of_its_lease() {
    check(
        r#"
        policy tell=ops,mail
        09:00 bot opens a                          → pending
        09:00 system takes ops                     → unchanged: gate.opened to ops sending until 09:01:00 (1)
        09:00:59 system takes ops                  → unchanged: none
        09:01 system takes ops                     → unchanged: gate.opened to ops sending until 09:02:00 (2)
        09:01 system settles 2 epoch=1             → unchanged: nothing
        delivery 2                                 → gate.opened to ops sending until 09:02:00 (2)
        09:03 system settles 2                     → unchanged: gate.opened to ops delivered (2)
        09:03 system settles 2 "late"              → unchanged: nothing
        09:04 system takes ops                     → unchanged: none
        09:04 system takes mail limit=0            → unchanged: none
        delivery 1                                 → gate.opened to mail waiting until 09:00:00 (0)
        "#,
    );
}

#[test]
fn what_failed_is_tried_again_later_and_later_and_then_is_dead() {
    check(
        r#"
        policy tell=ops
        09:00 bot opens a                                → pending
        09:00 system takes ops                           → unchanged: gate.opened to ops sending until 09:01:00 (1)
        09:00 system settles 1 "503" again=2m            → unchanged: gate.opened to ops waiting until 09:02:00 after "503" (1)
        09:02 system takes ops                           → unchanged: gate.opened to ops sending until 09:03:00 after "503" (2)
        09:02 system settles 1 "410" again=never         → gate.opened to ops dead after "410" (2)
        09:03 system takes ops                           → unchanged: none
        09:03 alice resends 1                            → refused: role_may_not send again
        09:03 ada resends 1                              → gate.opened to ops waiting until 09:03:00 after "410" (0)
        09:03 system takes ops                           → unchanged: gate.opened to ops sending until 09:04:00 after "410" (1)
        09:03 ada resends 1                              → refused: delivery_under_way
        09:03 system settles 1                           → unchanged: gate.opened to ops delivered after "410" (1)
        09:04 ada resends 1                              → gate.opened to ops waiting until 09:04:00 after "410" (0)
        "#,
    );
}

#[test]
fn the_log_says_that_a_delivery_died_and_who_sent_it_again() {
    let world = play(
        r#"
        policy tell=ops
        09:00 bot opens a
        09:00 system takes ops
        09:00 system settles 1 "no such host" again=never
        09:01 ada resends 1
        "#,
    );
    let delivery = &world.outbox[0];
    let said: Vec<_> = world.stream(&delivery.stream()).into_iter().map(|event| event.fact).collect();
    let said: Vec<_> = said.iter().map(|fact| (fact.actor.as_str(), &*fact.kind, fact.payload.as_str())).collect();
    let id = &delivery.id;
    let of = |rest: &str| {
        format!(r#"{{"delivery":"{id}","channel":"ops","subject":"a","type":"gate.opened","position":1,{rest}}}"#)
    };
    let died = of(r#""attempts":1,"reason":"no such host""#);
    let resent = of(r#""attempts":0,"reason":"no such host""#);
    assert_eq!(said, [("system", "delivery.died", died.as_str()), ("ada", "delivery.resent", resent.as_str())]);
}

#[test]
fn only_the_system_takes_settles_and_abandons() {
    check(
        r#"
        policy tell=ops
        09:00 bot opens a              → pending
        09:00 ada takes ops            → refused: role_may_not deliver
        09:00 ada settles 1            → refused: role_may_not deliver
        09:00 ada abandons ops         → refused: role_may_not deliver
        "#,
    );
}

#[test]
fn what_nobody_ever_settled_is_dead_after_as_many_attempts_as_what_failed() {
    let mut transcript = "policy tell=ops\n09:00 bot opens a\n".to_owned();
    for minute in 1..=ATTEMPTS_MAX {
        transcript += &format!("10:{:02} system takes ops\n", minute * 2);
    }
    assert_eq!(play(&transcript).outbox[0].attempts, ATTEMPTS_MAX);
    transcript += "11:00 system takes ops\n";
    let world = play(&transcript);
    let delivery = &world.outbox[0];
    assert_eq!(delivery.status(), super::DeliveryStatus::Dead, "{delivery:?}");
    assert_eq!(world.stream(&delivery.stream()).len(), 1);
}

#[test]
fn what_is_under_way_is_not_abandoned() {
    check(
        r#"
        policy tell=ops
        09:00 bot opens a                   → pending
        09:00 system takes ops              → unchanged: gate.opened to ops sending until 09:01:00 (1)
        09:00 bot opens b                   → pending
        09:00 system abandons ops "gone"    → gate.opened to ops dead after "gone" (0)
        09:01 system abandons ops "gone"    → gate.opened to ops dead after "gone" (1)
        09:01 system abandons ops "gone"    → unchanged: none
        "#,
    );
}

#[test]
fn what_waits_for_many_channels_that_are_none_dies_in_one_commit() {
    check(
        r#"
        policy tell=a,b,c,d
        09:00 bot opens x                     → pending
        09:00 system takes c                  → unchanged: gate.opened to c sending until 09:01:00 (1)
        09:00 system abandons a,b,c "gone"    → gate.opened to a dead after "gone" (0), gate.opened to b dead after "gone" (0)
        09:00 system abandons a,b,c "gone"    → unchanged: none
        delivery 4                            → gate.opened to d waiting until 09:00:00 (0)
        "#,
    );
}

/// Each more channel costs as much as the one before: where it cost more, many of them held up
/// everybody who writes.
#[test]
fn tens_of_thousands_who_want_an_event_are_each_told_once_without_comparing_them_all() {
    let wants = |n: usize| Subscription { channel: format!("channel-{n}"), events: vec!["*".parse().unwrap()] };
    let subscriptions: Vec<Subscription> = (0..40_000).chain(0..40_000).map(wants).collect();
    let events = vec![play("09:00 bot opens a").log[0].fact.clone()];
    let begun = Instant::now();
    let told = new_deliveries(&Commit { events, ..Commit::default() }, &subscriptions);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(told.iter().map(|telling| telling.nth).eq(0..40_000));
    assert!(told.iter().zip(&subscriptions).all(|(telling, wanted)| telling.channel == wanted.channel));
}

#[test]
fn what_another_node_may_know_to_send_is_abandoned_when_it_has_been_due_for_long() {
    check(
        r#"
        policy tell=ops
        09:00 bot opens a                                   → pending
        09:00:59 system abandons ops overdue=1m "gone"      → unchanged: none
        09:00:59 bot opens b                                → pending
        09:01 system abandons ops overdue=1m "gone"         → gate.opened to ops dead after "gone" (0)
        09:01 ada resends 1                                 → gate.opened to ops waiting until 09:01:00 after "gone" (0)
        09:01:30 system takes ops limit=1                   → unchanged: gate.opened to ops sending until 09:02:30 (1)
        09:02 system abandons ops overdue=1m "gone"         → gate.opened to ops dead after "gone" (0)
        09:03:29 system abandons ops overdue=1m "gone"      → unchanged: none
        09:03:30 system abandons ops overdue=1m "gone"      → gate.opened to ops dead after "gone" (1)
        "#,
    );
}

#[test]
fn pauses_grow_are_spread_and_end() {
    let id = |n: u32| format!("dlv-{n}-0123456789abcdef-0").parse().unwrap();
    for (attempts, usual) in (1..).zip(PAUSES) {
        let pauses: Vec<Duration> = (0..100).map(|n| pause_after(&id(n), attempts).unwrap()).collect();
        assert!(pauses.iter().all(|pause| *pause >= usual * 8 / 10 && *pause <= usual * 12 / 10), "{pauses:?}");
        assert!(pauses.iter().any(|pause| *pause < usual) && pauses.iter().any(|pause| *pause > usual));
        assert_eq!(pause_after(&id(7), attempts), pause_after(&id(7), attempts), "the same for the same");
    }
    assert_eq!((pause_after(&id(1), 0), pause_after(&id(1), ATTEMPTS_MAX)), (None, None));
}

#[test]
fn a_receiver_is_kept_waiting_for_at_most_a_day() {
    check(
        r#"
        policy tell=ops
        00:00 bot opens a                                → pending
        00:00 system takes ops                           → unchanged: gate.opened to ops sending until 00:01:00 (1)
        00:00 system settles 1 "429" again=9999h         → unchanged: gate.opened to ops waiting until 00:00:00 after "429" (1)
        23:59 system takes ops                           → unchanged: none
        "#,
    );
}

#[test]
fn a_pattern_is_a_type_all_of_a_noun_or_everything() {
    let matches = |pattern: &str, kind: &str| pattern.parse::<Pattern>().unwrap().matches(kind);
    assert!(matches("gate.opened", "gate.opened") && matches("gate.*", "gate.opened") && matches("*", "gate.opened"));
    assert!(!matches("gate.opened", "gate.openedx") && !matches("gate.*", "gateway.opened"));
    for wrong in ["", "gate", "gate.", ".opened", "*.opened", "gate.op*", "gate.*.x", "Gate.opened", "gate. opened"] {
        let refused = wrong.parse::<Pattern>().unwrap_err();
        assert!(refused.to_string().contains("gate.opened"), "{wrong:?}: {refused}");
    }
    "x".repeat(65).parse::<Pattern>().unwrap_err();
}

#[test]
fn a_pattern_that_no_event_will_ever_match_is_refused_and_the_error_says_which_events_there_are() {
    let check = |pattern: &str| pattern.parse::<Pattern>().unwrap().check();
    for kind in EventKind::WORDS.iter().filter(|kind| super::is_told(kind)) {
        check(kind).unwrap();
    }
    // What workflows tell of their own has nouns of its own.
    for good in ["*", "gate.*", "run.*", "artifact.erased", "debate.turn", "deploy.*"] {
        check(good).unwrap_or_else(|refused| panic!("{good}: {refused}"));
    }
    let wrong = [
        "gate.open",
        "gate.refused",
        "delivery.*",
        "delivery.died",
        "halt.reased",
        "log.*",
        "gates.*",
        "gat.opened",
        "qeustion.asked",
    ];
    for wrong in wrong {
        let refused = check(wrong).unwrap_err().to_string();
        let names = [wrong, "gate.opened", "question.asked", "halt.raised", "gate.*"];
        assert!(names.iter().all(|name| refused.contains(name)), "{wrong}: {refused}");
        assert!(!refused.replace(wrong, "").contains("delivery.died"), "nobody is told of that: {refused}");
    }
}
