use crate::{
    Digest, Role, WorkflowName, principal,
    run::{RunKind, RunLimits, RunStart},
    transcript::{self, check, play, time},
};

#[test]
fn everybody_starts_runs_but_viewers_and_the_system() {
    check(
        "
        09:00 vera starts r1 draft@1       → refused: role_may_not start a run
        09:00 system starts r1 draft@1     → refused: role_may_not start a run
        09:00 bot starts r1 draft@1        → pending
        09:00 alice starts r2 draft@1      → pending
        09:00 ada starts r3                → outside
        09:01 elf starts r1                → refused: run_exists
        runs                               → r1: session r1, bot's custom, r2: session r2, alice's custom, r3: session r3, ada's external
        ",
    );
}

#[test]
fn a_run_keeps_what_it_was_started_with() {
    let world = play(r#"09:00 alice starts r1 draft@2 session=s1 title="Write it" steps=3 bytes=4 active_ms=5 "[]""#);
    let start = RunStart {
        id: "r1".parse().unwrap(),
        kind: RunKind::Custom,
        title: "Write it".to_owned(),
        workflow: Some("draft@2".parse().unwrap()),
        session_id: "s1".parse().unwrap(),
        initiator: "alice".parse().unwrap(),
        role: Role::Reviewer,
        parent: None,
        input: Some(Digest::of(b"[]")),
        limits: RunLimits { steps_max: 3, journal_bytes_max: 4, active_ms_max: 5 },
        started_at: time("09:00"),
    };
    assert_eq!(world.runs["r1"].start, start);
    assert_eq!(world.artifacts[&Digest::of(b"[]")], b"[]");
}

#[test]
fn agents_see_their_own_runs_and_everybody_else_sees_all() {
    let world = play("09:00 bot starts r1 draft@1\n09:00 alice starts r2");
    let seen_by = |who: &str| {
        let seen = world.runs.values().filter(|run| run.may_be_seen_by(&transcript::principal(who)));
        seen.map(|run| run.start.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!((seen_by("bot"), seen_by("elf")), (vec!["r1".to_owned()], vec![]));
    assert!(["alice", "bob", "ada", "vera"].iter().all(|who| seen_by(who).len() == 2));
}

#[test]
fn texts_that_cannot_be_stored_start_no_run() {
    check(
        r#"
        09:00 bot starts r1 title={301}        → refused: invalid title
        09:00 bot starts r1 title=a{nl}b       → refused: invalid title
        09:00 bot starts r1 title=a{cr}b       → refused: invalid title
        09:00 bot starts r1 title=a{nul}b      → refused: invalid title
        09:00 bot starts r1 "{1048577}"        → refused: invalid input
        09:00 bot starts r1 "{nul}"            → refused: invalid input
        09:00 bot starts r1 title={300}        → outside
        "#,
    );
}

#[test]
fn a_workflow_is_named_with_its_version() {
    for name in ["debate@1", "a@4294967295", "0_x-y@10", &format!("{}@1", "x".repeat(94))] {
        let read: WorkflowName = name.parse().unwrap();
        assert_eq!((read.as_str(), read.to_string().as_str()), (name, name));
        assert_eq!(serde_json::from_str::<WorkflowName>(&serde_json::to_string(&read).unwrap()).unwrap(), read);
        // It must fit into the name under which its runs ask.
        format!("workflow:{read}").parse::<crate::Name>().unwrap();
    }
    let too_long = format!("{}@1", "x".repeat(95));
    let bad = [
        "",
        "@",
        "debate",
        "debate@",
        "@1",
        "debate@0",
        "debate@01",
        "debate@+1",
        "debate@-1",
        "debate@1.0",
        "debate@1@1",
        "debate@4294967296",
        "Debate@1",
        "de bate@1",
        "dé@1",
        "a:b@1",
        "a.b@1",
        "debate@1 ",
        &too_long,
    ];
    for name in bad {
        assert!(name.parse::<WorkflowName>().is_err(), "{name:?}");
        assert!(serde_json::from_value::<WorkflowName>(name.into()).is_err(), "{name:?}");
    }
}

#[test]
fn no_principal_is_called_like_a_workflow() {
    for name in ["workflow:draft@1", "Workflow:x", "WORKFLOW:"] {
        assert!(principal::check_name("name", &name.parse().unwrap()).is_err(), "{name}");
    }
    assert_eq!(principal::check_name("name", &"workflow".parse().unwrap()), Ok(()));
    check(
        "
        09:00 ada mints id=t1 name=workflow:draft@1 role=agent     → refused: invalid name
        09:00 bot asks q1 CLARIFYING agent=workflow:draft@1        → refused: invalid agent_id
        09:00 bot opens g1 for=workflow:draft@1                    → refused: invalid on_behalf_of
        ",
    );
}

/// As before there were workflows.
#[test]
fn a_run_that_nobody_knows_still_starts_with_its_first_gate() {
    check(
        r#"
        09:00 bot opens g1 run=r1              → pending
        09:00 alice opens g2 run=r2 session=s  → pending
        runs                                   → r1: session r1, bot's external, r2: session s, alice's external
        run r1                                 → running, claim 0, 0 steps, 0 bytes, active 0ns
        09:01 alice approves on=g1             → approved by alice, proceed
        09:01 bot records draft does "1"  of=r1 → done "1", 1 attempt
        09:02 bot ends r1 "1"                  → completed by bot
        log of=g1                              → opened, decided
        "#,
    );
}

#[test]
fn an_agent_may_ask_for_less_than_the_usual_limits_and_people_for_more() {
    check(
        "
        09:00 bot starts r1 draft@1 steps=100000       → pending
        09:00 bot starts r2 draft@1 steps=100001       → refused: weakens_policy limits
        09:00 bot starts r2 draft@1 active_ms=86400001 → refused: weakens_policy limits
        09:00 alice starts r2 draft@1 steps=100001     → pending
        ",
    );
}

#[test]
fn whoever_starts_the_same_under_the_same_id_finds_it() {
    check(
        "
        09:00 bot starts r1 session=s1                 → outside
        09:01 bot starts r1 session=s1                 → unchanged: existing, outside
        09:01 bot starts r1 session=s2                 → refused: run_exists
        09:01 bot starts r1 draft@1 session=s1         → refused: run_exists
        09:01 elf starts r1 session=s1                 → refused: run_exists
        09:02 bot cancels-run r1                       → cancelled by bot
        09:03 bot starts r1 session=s1                 → unchanged: existing, cancelled by bot
        ",
    );
}
