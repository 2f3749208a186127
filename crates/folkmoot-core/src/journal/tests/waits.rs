use crate::{
    event::EventKind,
    transcript::{check, play},
};

/// In one commit with its line of the journal, so that a run that crashes after it finds it again.
#[test]
fn what_a_step_opens_asks_starts_and_tells_is_written_with_it() {
    check(
        r#"
        09:00 bot starts r1 draft@1 session=s1                     → pending
        09:00 system claims node=n1                                → running on n1, claim 1
        09:01 system records ok opens g1 "Deploy" risk=high        → waiting for gate g1, 1 attempt
        log on=g1                                                  → opened
        timer on=g1                                                → 09:31:00
        09:02 system records may asks q1 APPROVAL                  → waiting for question q1, 1 attempt
        log of=q1                                                  → asked, agent.halted, session.halted
        09:03 system records part starts r2 part@1 "[1]"           → waiting for run r2, 1 attempt
        runs                                                       → r1: session s1, bot's custom, r2: session s1, bot's custom
        log of=run:r2                                              → started
        09:04 system records nap sleeps for=1h of=r1               → waiting until 10:04:00, 1 attempt
        09:05 system records note tells event=deploy.begun "[2]"   → done "null", 1 attempt
        event 7 of=run:r1                                          → system: step.recorded {"initiator":"bot","key":"note","kind":"event","ordinal":0,"state":"done","result":"sha256:74234e98…","bytes":4,"attempts":1,"began_at":"2026-01-31T09:05:00.000000Z","at":"2026-01-31T09:05:00.000000Z"}
        event 8 of=run:r1                                          → system for bot: deploy.begun [2]
        09:05 system records note tells event=deploy.begun "[2]"   → unchanged: done "null", 1 attempt
        log of=run:r1                                              → started, claimed, recorded, recorded, recorded, recorded, recorded, begun
        run                                                        → running, claim 1, 5 steps, 4 bytes, active 300s
        "#,
    );
}

#[test]
fn a_workflow_asks_under_its_own_name_with_the_rights_of_whoever_started_it() {
    check(
        r#"
        policy quorum=2
        09:00 bot starts r1 draft@1                            → pending
        09:00 system claims node=n1                            → running on n1, claim 1
        09:01 system records ok opens g1 quorum=1              → refused: weakens_policy quorum
        09:01 system records ok opens g1 on_timeout=approve    → refused: weakens_policy on_timeout
        09:01 system records ok opens g1 on_timeout=retry      → waiting for gate g1, 1 attempt
        09:02 alice starts r2 draft@1                          → pending
        09:02 system claims node=n1                            → running on n1, claim 1
        09:02 system records ok opens g2 quorum=1              → waiting for gate g2, 1 attempt
        09:03 bot opens g3 run=r1 on_timeout=retry             → refused: invalid on_timeout
        "#,
    );
    let world = play(
        "
        09:00 bot starts r1 draft@1
        09:00 system claims node=n1
        09:01 system records ok opens g1
        09:01 system records may asks q1 BLOCKING
        ",
    );
    let (gate, question) = (&world.gates["g1"], &world.questions["q1"]);
    assert_eq!((gate.requested_by.as_str(), gate.initiator.as_ref().unwrap().as_str()), ("workflow:draft@1", "bot"));
    assert_eq!((question.asked_by.as_str(), question.agent_id.as_str()), ("workflow:draft@1", "r1"));
    assert_eq!(question.initiator.as_ref().unwrap().as_str(), "bot");
    assert_eq!((gate.run_id.as_ref(), question.run_id.as_ref()), (Some(&"r1".parse().unwrap()), gate.run_id.as_ref()));
}

/// A gate that is refused leaves no line in the journal either.
#[test]
fn what_is_refused_is_not_recorded() {
    check(
        r#"
        09:00 bot starts r1 draft@1 session=s1                     → pending
        09:00 system claims node=n1                                → running on n1, claim 1
        09:01 system records a opens g1 session=other              → refused: invalid session_id
        09:01 system records a opens g1 quorum=0                   → refused: weakens_policy quorum
        09:01 system records a opens g1 key=k                      → refused: invalid dedupe_key
        09:01 system records a asks q1 APPROVAL default=approve    → refused: default_not_allowed
        09:01 system records a asks q1 DECISION session=other      → refused: invalid session_id
        09:01 system records a asks q1 DECISION agent=system       → refused: invalid agent_id
        09:01 system records a starts r2 part@1 title={301}        → refused: invalid title
        run                                                        → running, claim 1, 0 steps, 0 bytes, active 60s
        log of=run:r1                                              → started, claimed
        runs                                                       → r1: session s1, bot's custom
        09:02 system records a does "1"                            → done "1", 1 attempt
        "#,
    );
}

#[test]
fn what_a_run_starts_belongs_to_whoever_started_it() {
    let world = play(
        "
        09:00 alice starts r1 draft@1 session=s1
        09:00 system claims node=n1
        09:01 system records a starts r2 part@1
        09:01 system records b starts r3 part@1 session=s3 of=r1
        ",
    );
    for (id, session) in [("r2", "s1"), ("r3", "s3")] {
        let start = &world.runs[id].start;
        assert_eq!((start.initiator.as_str(), start.session_id.as_str()), ("alice", session));
        assert_eq!((start.role, start.parent.as_ref()), (crate::Role::Reviewer, Some(&"r1".parse().unwrap())));
    }
}

#[test]
fn a_workflow_tells_no_event_of_ours() {
    for kind in EventKind::WORDS.iter().copied().chain(["gate.begun", "artifact.begun", "log.begun"]) {
        tells(kind, "refused: invalid event");
    }
    let too_long = format!("deploy.{}", "x".repeat(58));
    for kind in ["deploy", "deploy.", ".begun", "deploy.begun.now", "Deploy.begun", "de-ploy.begun", "ä.ö", &too_long]
    {
        tells(kind, "refused: invalid event");
    }
    for kind in ["deploy.begun", "gates.opened", "a_1.b_2", &too_long[..64]] {
        tells(kind, "done \"null\", 1 attempt");
    }
}

fn tells(kind: &str, answer: &str) {
    check(&format!(
        "
        09:00 bot starts r1 draft@1                    → pending
        09:00 system claims node=n1                    → running on n1, claim 1
        09:01 system records a tells event={kind}      → {answer}
        "
    ));
}

#[test]
fn what_is_told_is_not_longer_than_an_event_may_be() {
    check(
        r#"
        09:00 bot starts r1 draft@1                                → pending
        09:00 system claims node=n1                                → running on n1, claim 1
        09:01 system records a tells event=deploy.begun "{65537}"  → refused: invalid payload
        09:01 system records a tells event=deploy.begun "{nul}"    → refused: invalid payload
        09:01 system records a tells event=deploy.begun "{65536}"  → done "null", 1 attempt
        "#,
    );
}
