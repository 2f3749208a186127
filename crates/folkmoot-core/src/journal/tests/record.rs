use super::super::{BadKey, EntryKey};
use crate::transcript::{check, play, time};

/// What is done to a step in each state that it can be in, and what comes of it.
#[test]
fn every_step_answers_every_write_in_every_state() {
    let nothing = [
        ("begins", "begun, 1 attempt"),
        ("retries \"e\"", "failing \"e\" until 09:06:00, 1 attempt"),
        ("fails \"e\"", "failed \"e\", 1 attempt"),
        ("does \"1\"", "done \"1\", 1 attempt"),
        ("opens g2", "waiting for gate g2, 1 attempt"),
        ("asks q2 DECISION", "waiting for question q2, 1 attempt"),
        ("starts r2 part@1", "waiting for run r2, 1 attempt"),
        ("sleeps for=1m", "waiting until 09:06:00, 1 attempt"),
        ("tells event=deploy.begun \"1\"", "done \"null\", 1 attempt"),
    ];
    let begun = [
        ("begins", "begun, 2 attempts"),
        ("retries \"e\"", "failing \"e\" until 09:06:00, 1 attempt"),
        ("fails \"e\"", "failed \"e\", 1 attempt"),
        ("does \"1\"", "done \"1\", 1 attempt"),
    ];
    let failing = [
        ("begins", "begun, 2 attempts"),
        ("retries \"e\"", "failing \"e\" until 09:06:00, 2 attempts"),
        ("fails \"e\"", "failed \"e\", 2 attempts"),
        ("does \"1\"", "done \"1\", 2 attempts"),
    ];
    let done = [
        ("begins", "unchanged: done \"1\", 1 attempt"),
        ("retries \"e\"", "refused: step_recorded"),
        ("fails \"e\"", "refused: step_recorded"),
        ("does \"1\"", "unchanged: done \"1\", 1 attempt"),
        ("does \"2\"", "refused: step_recorded"),
    ];
    let failed = [
        ("begins", "unchanged: failed \"e\", 1 attempt"),
        ("retries \"e\"", "refused: step_recorded"),
        ("fails \"e\"", "unchanged: failed \"e\", 1 attempt"),
        ("fails \"other\"", "refused: step_recorded"),
        ("does \"1\"", "refused: step_recorded"),
    ];
    let told = [("begins as=event", "refused: invalid kind"), ("does as=event \"1\"", "refused: invalid kind")];
    let others =
        ["opens g2", "asks q2 DECISION", "starts r2 part@1", "sleeps for=1m", "tells event=deploy.begun \"1\""];
    let as_steps: Vec<_> = others.iter().map(|write| format!("{write} as=step")).collect();
    for (state, known, answers) in [
        ("", "", &nothing[..]),
        ("begins", "begun, 1 attempt", &begun),
        ("retries \"e\"", "failing \"e\" until 09:05:00, 1 attempt", &failing),
        ("does \"1\"", "done \"1\", 1 attempt", &done),
        ("fails \"e\"", "failed \"e\", 1 attempt", &failed),
        ("tells event=deploy.begun \"1\"", "done \"null\", 1 attempt", &told),
    ] {
        for (write, answer) in answers {
            play_both(state, known, write, answer);
        }
        // A step never becomes something else, neither openly nor under its own name.
        if !state.is_empty() && !state.starts_with("tells") {
            others.iter().for_each(|write| play_both(state, known, write, "refused: workflow_changed"));
            let is_told = |write: &str| state.starts_with("does") && write.starts_with("tells");
            for write in as_steps.iter().filter(|write| !is_told(write)) {
                play_both(state, known, write, "refused: invalid kind");
            }
        }
    }
}

#[test]
fn what_waits_elsewhere_is_found_again_and_takes_no_result() {
    for (kind, first, again, known) in [
        ("gate", "opens g1", "opens g2", "waiting for gate g1"),
        ("question", "asks q1 DECISION", "asks q2 DECISION", "waiting for question q1"),
        ("run", "starts r2 part@1", "starts r3 part@1", "waiting for run r2"),
        ("sleep", "sleeps for=1h", "sleeps for=2h", "waiting until 10:04:00"),
    ] {
        let known = format!("{known}, 1 attempt");
        play_both(first, &known, again, &format!("unchanged: {known}"));
        for write in ["begins", "retries \"e\"", "fails \"e\"", "does \"1\""] {
            play_both(first, &known, write, "refused: workflow_changed");
            let refused = if write.starts_with("fails") { "step_recorded" } else { "invalid kind" };
            play_both(first, &known, &format!("{write} as={kind}"), &format!("refused: {refused}"));
        }
        // What the rules refused is recorded as that, and stays it.
        let failed = "failed \"e\", 1 attempt";
        play_both(&format!("fails \"e\" as={kind}"), failed, again, "refused: step_recorded");
    }
}

/// Records `first` under a key, and then `second` under the same.
fn play_both(first: &str, known: &str, second: &str, answer: &str) {
    let first = if first.is_empty() { String::new() } else { format!("09:04 system records a {first} → {known}") };
    check(&format!(
        "
        09:00 bot starts r1 draft@1 → pending
        09:00 system claims node=n1 → running on n1, claim 1
        {first}
        09:05 system records a {second} → {answer}
        "
    ));
}

/// Its intent is recorded before its effect, and counts as the attempt.
#[test]
fn an_attempt_counts_once_whether_or_not_its_beginning_was_recorded() {
    check(
        r#"
        09:00 bot starts r1 draft@1                → pending
        09:00 system claims node=n1                → running on n1, claim 1
        09:01 system records pay begins as=once    → begun, 1 attempt
        09:02 system records pay retries "e" as=once → failing "e" until 09:03:00, 1 attempt
        09:03 system records pay begins as=once    → begun, 2 attempts
        09:04 system records pay does "1" as=once  → done "1", 2 attempts
        09:05 system records pay2 begins as=once   → begun, 1 attempt
        09:06 system claims node=n2                → running on n2, claim 2
        09:06 system records pay2 begins as=once   → begun, 2 attempts
        09:06 system records pay2 fails "e" as=once → failed "e", 2 attempts
        09:06 system records b retries "e"         → failing "e" until 09:07:00, 1 attempt
        09:07 system records b retries "f"         → failing "f" until 09:08:00, 2 attempts
        09:08 system records b does "1"            → done "1", 3 attempts
        run                                        → running, claim 2, 3 steps, 2 bytes, active 420s
        "#,
    );
}

#[test]
fn a_step_began_when_it_was_first_tried_and_not_in_the_future() {
    let world = play(
        r#"
        09:00 bot starts r1 draft@1
        09:00 system claims node=n1
        09:05 system records a retries "e" began=09:02
        09:09 system records a does "1" began=09:08
        09:05 system records b does "1" began=10:00
        "#,
    );
    let journal = &world.journals["r1"];
    let times = |key: &str| {
        let entry = &journal[&key.parse::<EntryKey>().unwrap()];
        (entry.began_at, entry.at)
    };
    assert_eq!(times("a"), (time("09:02"), time("09:09")));
    assert_eq!(times("b"), (time("09:05"), time("09:05")));
}

#[test]
fn code_that_does_something_else_under_a_key_is_refused() {
    check(
        r#"
        09:00 bot starts r1 draft@1                        → pending
        09:00 system claims node=n1                        → running on n1, claim 1
        09:01 system records a does "1" given=x call=3     → done "1", 1 attempt
        09:02 system records a does "1" given=x call=3     → unchanged: done "1", 1 attempt
        09:02 system records a does "1" given=x            → unchanged: done "1", 1 attempt
        09:02 system records a does "1" given=y call=3     → refused: workflow_changed
        09:02 system records a does "1" call=3             → refused: workflow_changed
        09:02 system records a does "1" given=x call=4     → refused: workflow_changed
        09:02 system records a does "1" given=x as=once    → refused: workflow_changed
        09:02 system records a begins given=y              → refused: workflow_changed
        09:02 system records a opens g1 given=x            → refused: workflow_changed
        09:03 system records b retries "e" given=x call=4  → failing "e" until 09:04:00, 1 attempt
        09:04 system records b does "1" given=y call=4     → refused: workflow_changed
        09:04 system records b does "1" given=x call=5     → refused: workflow_changed
        09:04 system records b does "1" given=x call=4     → done "1", 2 attempts
        log of=run:r1                                      → started, claimed, recorded, recorded, recorded
        "#,
    );
}

#[test]
fn a_change_is_told_in_words() {
    let world = play(
        "09:00 bot starts r1 draft@1\n09:00 system claims node=n1\n09:01 system records a does \"1\" given=x call=3",
    );
    let entry = &world.journals["r1"][&"a".parse::<EntryKey>().unwrap()];
    let differs = |kind: &str, input, call| entry.differs_from(kind.parse().unwrap(), input, call);
    assert_eq!(differs("step", entry.input, 3), None);
    assert_eq!(differs("step", entry.input, 0), None);
    assert_eq!(differs("once", entry.input, 3).unwrap(), "was a step and is now a once");
    assert_eq!(differs("step", entry.input, 4).unwrap(), "was call 3 of its branch and is now call 4");
    assert_eq!(differs("step", None, 3).unwrap(), "was given something else");
}

#[test]
fn results_that_cannot_be_stored_are_refused_and_errors_are_cut() {
    check(
        r#"
        09:00 bot starts r1 draft@1                → pending
        09:00 system claims node=n1                → running on n1, claim 1
        09:01 system records a does "{16777217}"   → refused: invalid result
        09:01 system records a does "{nul}"        → refused: invalid result
        "#,
    );
    let world = play(
        r#"
        09:00 bot starts r1 draft@1
        09:00 system claims node=n1
        09:01 system records a fails "{nul}{16385}"
        "#,
    );
    let written = serde_json::to_string(&world.journals["r1"]).unwrap();
    assert!(written.len() < 17_000 && written.contains('\u{fffd}'));
}

/// Whoever fails with the same long error again says the same.
#[test]
fn an_error_that_was_cut_is_the_same_again() {
    play_both("fails \"{20000}\"", &format!("failed \"{}\", 1 attempt", "x".repeat(16384)), "fails \"{20000}\"", &{
        format!("unchanged: failed \"{}\", 1 attempt", "x".repeat(16384))
    });
}

#[test]
fn a_key_is_a_short_line() {
    for key in ["a", "critique.2/attack", "Größe 🦀", "a b", &"x".repeat(256)] {
        let read: EntryKey = key.parse().unwrap();
        assert_eq!((read.as_str(), read.to_string().as_str()), (key, key));
        assert_eq!(serde_json::from_str::<EntryKey>(&serde_json::to_string(&read).unwrap()).unwrap(), read);
    }
    for key in ["", " ", " a", "a ", "a\n", "a\nb", "a\0b", "a\u{7f}", "\u{a0}a", &"x".repeat(257), &"ß".repeat(129)] {
        let refused: BadKey = key.parse::<EntryKey>().unwrap_err();
        assert!(refused.to_string().contains("is no key of a step"), "{key:?}");
        assert!(serde_json::from_value::<EntryKey>(key.into()).is_err(), "{key:?}");
    }
}
