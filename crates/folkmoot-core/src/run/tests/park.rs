use crate::transcript::check;

#[test]
fn a_parked_run_is_claimed_only_when_something_has_changed() {
    check(
        r#"
        09:00 bot starts r1 draft@1                → pending
        09:00 system claims node=n1                → running on n1, claim 1
        09:01 system records ok opens g1           → waiting for gate g1, 1 attempt
        09:01 system records may asks q1 DECISION  → waiting for question q1, 1 attempt
        09:02 system parks                         → parked
        09:03 system claims node=n1                → refused: run_not_ready
        09:04 alice answers q1 "left"              → answered "left" by alice
        wakes                                      → r1
        09:05 system claims node=n2                → running on n2, claim 2
        09:06 system parks                         → parked
        09:07 system claims node=n2                → refused: run_not_ready
        09:08 alice approves                       → approved by alice, proceed
        wakes                                      → r1 2 times
        09:09 system claims node=n2                → running on n2, claim 3
        "#,
    );
}

#[test]
fn a_question_that_only_reminds_wakes_nobody_and_one_that_lapses_does() {
    check(
        r#"
        09:00 bot starts r1 draft@1                            → pending
        09:00 system claims node=n1                            → running on n1, claim 1
        09:00 system records a asks q1 DECISION timeout=5m     → waiting for question q1, 1 attempt
        09:00 system records b asks q2 CLARIFYING timeout=5m   → waiting for question q2, 1 attempt
        09:00 system parks                                     → parked
        09:05 system lapses q1                                 → pending, reminded 1
        09:05 system claims r1 node=n1                         → refused: run_not_ready
        09:05 system lapses q2                                 → expired by timeout
        09:05 system claims r1 node=n1                         → running on n1, claim 2
        "#,
    );
}

#[test]
fn a_run_is_not_parked_where_something_has_changed_since_its_worker_looked() {
    check(
        r#"
        09:00 bot starts r1 draft@1                → pending
        09:00 system claims node=n1                → running on n1, claim 1
        09:01 system records ok opens g1           → waiting for gate g1, 1 attempt
        09:02 alice approves                       → approved by alice, proceed
        09:03 system parks wakes=0                 → unchanged: awake, 1 wake-ups
        run                                        → running, claim 1, 1 steps, 0 bytes, active 180s
        09:03 system parks wakes=2                 → unchanged: awake, 1 wake-ups
        09:03 system parks wakes=1                 → parked
        09:04 system claims node=n1                → refused: run_not_ready
        "#,
    );
}

#[test]
fn a_run_is_not_parked_past_the_end_of_its_sleep() {
    check(
        r#"
        09:00 bot starts r1 draft@1                → pending
        09:00 system claims node=n1                → running on n1, claim 1
        09:00 system records nap sleeps for=5m     → waiting until 09:05:00, 1 attempt
        09:05 system parks due=09:05               → unchanged: awake, 0 wake-ups
        timer run=r1                               → none
        09:04:59.999999 system parks due=09:05     → parked
        timer run=r1                               → 09:05:00
        09:05 system wakes                         → unchanged: nothing
        09:05 system wakes                         → unchanged: nothing
        wakes                                      → r1 2 times
        09:05 system claims node=n1                → running on n1, claim 2
        "#,
    );
}

#[test]
fn a_run_that_is_woken_before_its_sleep_is_over_sleeps_on_when_it_is_parked_again() {
    check(
        r#"
        09:00 bot starts r1 draft@1                → pending
        09:00 system claims node=n1                → running on n1, claim 1
        09:00 system records ok opens g1           → waiting for gate g1, 1 attempt
        09:00 system parks due=10:00               → parked
        timer run=r1                               → 10:00:00
        09:01 alice approves                       → approved by alice, proceed
        timer run=r1                               → 10:00:00
        09:02 system claims node=n1                → running on n1, claim 2
        timer run=r1                               → none
        09:03 system parks due=10:00               → parked
        timer run=r1                               → 10:00:00
        "#,
    );
}

#[test]
fn a_run_that_waits_for_clearance_is_not_parked_where_somebody_has_it() {
    check(
        r#"
        09:00 bot starts r1 draft@1 session=s1                 → pending
        09:00 system claims node=n1                            → running on n1, claim 1
        09:01 system parks held=bot,elf                        → unchanged: awake, 0 wake-ups
        09:02 ada halts h1 scope=agent agent=bot "wait"        → stands
        09:02 system parks held=bot,elf                        → unchanged: awake, 0 wake-ups
        09:03 ada halts h2 scope=session session=s2 "wait"     → stands
        09:03 system parks held=bot,elf                        → unchanged: awake, 0 wake-ups
        09:04 ada halts h3 scope=session session=s1 "wait"     → stands
        09:04 system parks held=bot,elf                        → parked
        09:05 system claims node=n1                            → refused: run_not_ready
        "#,
    );
}

#[test]
fn whoever_waits_for_clearance_is_woken_when_what_held_it_is_gone() {
    for (halt, woken) in [
        ("scope=agent agent=bot", "r1"),
        ("scope=agent agent=mon", "none"),
        ("scope=session session=s1", "r1, r2"),
        ("scope=session session=s9", "none"),
        ("scope=all", "r1, r2, r3"),
    ] {
        check(&format!(
            r#"
            09:00 ada halts h0 scope=all "wait"                → stands
            09:00 bot starts r1 draft@1 session=s1             → pending
            09:00 system claims node=n1                        → running on n1, claim 1
            09:00 system parks held=bot,elf                    → parked
            09:00 bot starts r2 draft@1 session=s1             → pending
            09:00 system claims node=n1                        → running on n1, claim 1
            09:00 system parks held=elf                        → parked
            09:00 bot starts r3 draft@1 session=s3             → pending
            09:00 system claims node=n1                        → running on n1, claim 1
            09:00 system parks held=elf                        → parked
            09:00 bot starts r4 draft@1 session=s1             → pending
            09:00 system claims node=n1                        → running on n1, claim 1
            09:00 system parks                                 → parked
            09:00 bot starts r5 draft@1 session=s1             → pending
            09:00 system claims node=n1                        → running on n1, claim 1
            09:01 ada halts h1 {halt} "wait"                   → stands
            wakes                                              → none
            09:02 ada lifts h1                                 → lifted by ada
            wakes                                              → {woken}
            "#
        ));
    }
}

#[test]
fn an_answer_that_releases_an_agent_wakes_the_runs_that_wait_for_it() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING                     → pending, halts agent
        09:00 alice starts r1 draft@1                  → pending
        09:00 system claims node=n1                    → running on n1, claim 1
        09:00 system parks held=bot                    → parked
        09:01 bob denies q1                            → denied "deny" by bob
        wakes                                          → none
        09:02 bot fetches q1                           → denied "deny" by bob, fetched
        wakes                                          → r1
        "#,
    );
}

#[test]
fn the_clock_stands_still_while_nobody_works() {
    check(
        r#"
        09:00 bot starts r1 draft@1                → pending
        09:10 run                                  → pending, claim 0, 0 steps, 0 bytes, active 0ns
        09:10 system claims node=n1                → running on n1, claim 1
        09:12 run                                  → running, claim 1, 0 steps, 0 bytes, active 120s
        09:13 system parks                         → parked
        20:00 run                                  → parked, claim 1, 0 steps, 0 bytes, active 180s
        20:00 system wakes                         → unchanged: nothing
        20:00 system claims node=n1                → running on n1, claim 2
        20:01 system stops                         → stopped stuck
        21:00 run                                  → stopped, claim 2, 0 steps, 0 bytes, active 240s
        21:00 bot resumes                          → pending
        22:00 system claims node=n1                → running on n1, claim 3
        22:05 system ends "1"                      → completed by system
        23:00 run                                  → completed, claim 3, 0 steps, 0 bytes, active 540s
        "#,
    );
}

#[test]
fn a_node_that_died_is_counted_until_its_last_word() {
    check(
        r#"
        09:00 bot starts r1 draft@1                → pending
        09:00 system claims node=n1                → running on n1, claim 1
        09:03 system records a does "1"            → done "1", 1 attempt
        10:00 system claims node=n2                → running on n2, claim 2
        10:01 run                                  → running, claim 2, 1 steps, 1 bytes, active 240s
        11:00 system claims node=n3                → running on n3, claim 3
        11:00 run                                  → running, claim 3, 1 steps, 1 bytes, active 180s
        "#,
    );
}
