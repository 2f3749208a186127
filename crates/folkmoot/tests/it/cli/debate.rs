//! `folkmoot debate`, as it is used: at a terminal, in a pipe, left and taken up again.

use std::collections::BTreeMap;

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::{Desk, talk::Talk};
use crate::server::eventually;

const TOPIC: &str = "Should we write tests first?";
const CODE: &str = "Write parse_duration in Python: turn 90s, 5m, 1h30m or 2d into seconds, refuse anything else";
const QUICK: [&str; 6] = ["debate", TOPIC, "--preset", "quick", "--provider", "rehearsal"];
const ASK: &str = "[a]pprove, [r]eject, ad[j]ust, [d]etails, [q]uit?";

fn typed(more: &str) -> String {
    format!("debate '{TOPIC}' --preset quick --provider rehearsal {more}")
}

#[test]
fn at_a_terminal_it_shows_who_speaks_asks_and_does_what_is_said() {
    let desk = Desk::new();
    let Some(mut talk) = Talk::begin(&desk, &typed("--gate proposal --gate convergence")) else { return };
    talk.when("3 agents", "");
    talk.when("proposal", "");
    talk.when("proposer-1", "");
    talk.when("with answers", "");
    talk.when(ASK, "what?\n");
    talk.when("Type one of the letters in brackets", "d\n");
    talk.when("proposer-1:", "");
    talk.when(ASK, "a\n");
    talk.when("approved", "");
    talk.when("convergence", "");
    talk.when("votes ", "");
    talk.when(ASK, "d\n");
    talk.when("'s answer wins:", "");
    talk.when(ASK, "a\n");
    talk.when("'s answer wins:", "");
    talk.when("effective votes", "");
    talk.when("debate audit", "");
    let (code, said) = talk.end();
    assert_eq!(code, 0, "{said}");
    assert!(!said.contains("\"voter\"") && !said.contains("ballots"), "a verdict is said in words: {said}");
}

#[test]
fn a_rejection_is_exit_code_three_and_needs_a_reason() {
    let desk = Desk::new();
    let Some(mut talk) = Talk::begin(&desk, &typed("--gate proposal")) else { return };
    talk.when(ASK, "r\n");
    talk.when("Why not?", "\n");
    talk.when("nothing was decided", "r\n");
    talk.when("Why not?", "all of them are wrong\n");
    talk.when("gate_rejected", "");
    let (code, said) = talk.end();
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("all of them are wrong"), "{said}");
}

/// What should change reaches whoever speaks next, and the phase is done again.
#[test]
fn an_adjustment_has_the_phase_done_again() {
    let desk = Desk::new();
    let Some(mut talk) = Talk::begin(&desk, &typed("--gate proposal --id d1")) else { return };
    talk.when(ASK, "j\n");
    talk.when("What should change?", "\n");
    talk.when("nothing was decided", "j\n");
    talk.when("What should change?", "think of small teams\n");
    talk.when("by you: think of small teams", "");
    talk.when("proposal", "");
    talk.when(ASK, "a\n");
    talk.when("'s answer wins:", "");
    assert_eq!(talk.end().0, 0);
    let prompts = desk.json(&["debate", "audit", "d1", "--type", "prompt_sent"]).to_string();
    assert!(prompts.contains("think of small teams"), "{prompts}");
}

/// What a debate asks is asked here too, and whoever only looks on is told who waits for what.
#[test]
fn what_is_unclear_is_asked_of_whoever_follows() {
    let desk = Desk::new();
    let mut serve = desk.spawn(&["serve", "--listen", "127.0.0.1:0"]);
    let url = eventually("it serves", || {
        let server = std::fs::read(desk.path().join("server.json")).ok()?;
        serde_json::from_slice::<Value>(&server).ok()?["url"].as_str().map(str::to_owned)
    });
    let tokens: Value = serde_json::from_slice(&std::fs::read(desk.path().join("tokens.json")).unwrap()).unwrap();
    let body = serde_json::json!({
        "topic": TOPIC, "preset": "quick", "id": "d1", "instructor": "person", "phases": { "dehallucination": true },
    });
    let bearer = format!("Bearer {}", tokens["agent"]["token"].as_str().unwrap());
    let started = crate::http::send(&url, "POST", "/v1/debates", &[("authorization", &bearer)], &body.to_string());
    assert!(started.starts_with("HTTP/1.1 202"), "{started}");
    let asks = eventually("it asks", || {
        let shown = desk.json(&["debate", "show", "d1"]);
        shown["questions"].as_array().unwrap().first().cloned()
    });
    assert!(desk.say(&["debate", "show", "d1"]).contains("folkmoot answer "), "{asks}");
    let Some(mut talk) = Talk::begin(&desk, "debate follow d1") else { return };
    talk.when("Answer (empty leaves it to the agents):", "in the first week\n");
    talk.when("Answer (empty leaves it to the agents):", "\n");
    talk.when("1 of 2 questions were answered", "");
    talk.when("'s answer wins:", "");
    assert_eq!(talk.end().0, 0);
    assert!(!serve.has_ended());
}

/// Whoever leaves it finds it again, at the same gate.
#[test]
fn a_debate_that_was_left_waits_and_is_taken_up_again() {
    let desk = Desk::new();
    let Some(mut talk) = Talk::begin(&desk, &typed("--gate proposal --id d1")) else { return };
    talk.when(ASK, "q\n");
    talk.when("The debate waits at its gate.", "");
    assert_eq!(talk.end().0, 4);
    let shown = desk.say(&["debate", "show"]);
    assert!(shown.contains("paused") && shown.contains("waits at"), "{shown}");
    let gates = desk.pending(1);
    let mut talk = Talk::begin(&desk, "debate follow d1").unwrap();
    talk.when(ASK, "a\n");
    talk.when("'s answer wins:", "");
    assert_eq!(talk.end().0, 0);
    let gate = desk.json(&["gate", "show", gates[0]["id"].as_str().unwrap()]);
    assert_eq!(gate["status"], "approved", "it was the same gate");
}

/// Whoever is asked here is not held up when others decide, and what is typed next is for the next
/// question.
#[test]
fn a_decision_from_elsewhere_lets_it_go_on() {
    let desk = Desk::new();
    let Some(mut talk) = Talk::begin(&desk, &typed("--gate proposal --gate convergence")) else { return };
    talk.when(ASK, "");
    let gates = desk.pending(1);
    desk.say(&["approve", "-y", gates[0]["id"].as_str().unwrap()]);
    talk.when("convergence", "");
    talk.when(ASK, "a\n");
    talk.when("'s answer wins:", "");
    let (code, said) = talk.end();
    assert_eq!(code, 0, "{said}");
}

/// A line whose typing began at a gate that others have settled decides nothing at the next one.
#[test]
fn what_is_typed_for_a_gate_that_others_settled_does_not_decide_the_next() {
    let desk = Desk::new();
    let Some(mut talk) = Talk::begin(&desk, &typed("--gate proposal --gate convergence")) else { return };
    talk.when(ASK, "a");
    let gates = desk.pending(1);
    // The halt keeps the next gate from opening before the line is typed.
    let halt = desk.say(&["halt", "all", "--reason", "a gap"]);
    desk.say(&["approve", "-y", gates[0]["id"].as_str().unwrap()]);
    talk.when("Halted by", "\na\n");
    desk.say(&["lift", &halt]);
    talk.when("convergence", "");
    talk.when(ASK, "r\n");
    talk.when("Why not?", "I have looked at it now\n");
    talk.when("gate_rejected", "");
    let (code, said) = talk.end();
    assert_eq!(code, 3, "{said}");
}

/// In a pipe it says how others decide, waits for them, and prints what came of it and nothing
/// else.
#[test]
fn without_a_terminal_others_decide_and_every_line_fits() {
    let desk = Desk::new();
    let waiting = desk.spawn(&[&QUICK[..], &["--gate", "proposal"]].concat());
    eventually("it serves", || desk.path().join("server.json").exists().then_some(()));
    let gates = desk.pending(1);
    desk.say(&["approve", "-y", gates[0]["id"].as_str().unwrap()]);
    let ended = waiting.finish();
    assert_eq!((ended.code, ended.stdout.contains("'s answer wins:")), (0, true), "{ended:?}");
    assert!(!ended.stdout.contains(" leads") && !ended.stdout.contains('\u{1b}'), "{ended:?}");
    let (ways, lines): (Vec<&str>, Vec<&str>) = ended.stderr.lines().partition(|line| line.contains("folkmoot "));
    assert!(!ways.iter().any(|line| line.contains(" approve ")), "an agent is not told how to decide: {ended:?}");
    assert!(ended.stderr.contains("Somebody who may decide must do so"), "{ended:?}");
    for part in ["3 agents", "proposal", "votes ", "approved by"] {
        assert!(lines.iter().any(|line| line.contains(part)), "{part}: {lines:#?}");
    }
    for line in lines {
        assert!(line.width() < 80, "{} columns: {line}", line.width());
    }
}

#[test]
fn what_came_of_it_is_the_exit_code() {
    let desk = Desk::new();
    let decided = desk.run(&[&QUICK[..], &["--json"]].concat());
    let results: Value = serde_json::from_str(&decided.stdout).unwrap();
    assert_eq!((decided.code, decided.stderr.as_str()), (0, ""), "{decided:?}");
    assert!(results["verdict"]["winner"].is_string(), "{results:#}");
    let undecided = desk.run(&[&QUICK[..], &["--without", "convergence"]].concat());
    assert_eq!((undecided.code, undecided.stdout.contains("No decision")), (10, true), "{undecided:?}");
    let silence = desk.run(&[&QUICK[..], &["--gate", "proposal", "--gate-timeout", "100ms"]].concat());
    assert_eq!((silence.code, silence.stdout.contains("gate_timed_out")), (5, true), "{silence:?}");
    let poor = desk.run(&[&QUICK[..], &["--budget-tokens", "10"]].concat());
    assert_eq!((poor.code, poor.stdout.contains("budget_exceeded")), (1, true), "{poor:?}");
}

#[test]
fn what_was_said_voted_and_done_can_be_looked_at() {
    let desk = Desk::new();
    let results = desk.json(&[&QUICK[..], &["--id", "d1", "--agents", "4", "--voting", "borda"]].concat());
    assert_eq!(results["verdict"]["voting_method"], "borda");
    let listed = desk.say(&["debate", "list"]);
    assert!(listed.contains("d1") && listed.contains("completed") && listed.contains(TOPIC), "{listed}");
    assert_eq!(desk.json(&["debate", "list", "--status", "paused"])["debates"], Value::Array(Vec::new()));
    let shown = desk.say(&["debate", "show", "d1"]);
    assert!(shown.contains("4 agents") && shown.contains("'s answer wins:"), "{shown}");
    assert_eq!(desk.json(&["debate", "show"])["id"], "d1");
    let turns = desk.json(&["debate", "turns", "d1", "--phase", "proposal"]);
    let of = |turns: &Value| turns["turns"].as_array().unwrap().len();
    assert!(of(&turns) > 0 && of(&turns) < of(&desk.json(&["debate", "turns"])), "{turns:#}");
    let one = desk.json(&["debate", "turns", "--agent", "proposer-1"]);
    assert!(one["turns"].as_array().unwrap().iter().all(|turn| turn["agent_id"] == "proposer-1"));
    assert!(desk.say(&["debate", "turns"]).contains("│ "), "what agents say stands behind a bar");
    let votes = desk.say(&["debate", "votes"]);
    assert!(votes.contains("RANKING") && votes.contains(" > ") && votes.contains("borda voting"), "{votes}");
    assert_eq!(desk.json(&["debate", "votes"])["votes"].as_array().unwrap().len(), 4);
    let trail = desk.say(&["debate", "audit"]);
    for part in ["prompt_sent", "response_received", "vote_cast", "debate_completed", "tokens"] {
        assert!(trail.contains(part), "{part}: {trail}");
    }
    let prompts = desk.json(&["debate", "audit", "--type", "prompt_sent", "--agent", "proposer-1"]);
    let prompts = prompts["entries"].as_array().unwrap();
    assert!(!prompts.is_empty() && prompts.iter().all(|entry| entry["data"]["messages"][0]["text"].is_string()));
    assert_eq!(desk.run(&["debate", "versions"]).stderr, "This debate has no code.\n");
}

#[test]
fn a_debate_can_be_started_and_cancelled_without_waiting_for_it() {
    let desk = Desk::new();
    let mut serve = desk.spawn(&["serve", "--listen", "127.0.0.1:0"]);
    eventually("it serves", || desk.path().join("server.json").exists().then_some(()));
    assert_eq!(desk.say(&[&QUICK[..], &["--gate", "proposal", "--id", "d1", "--no-wait"]].concat()), "d1");
    desk.pending(1);
    assert_eq!(desk.say(&["debate", "cancel", "d1", "--reason", "not needed"]), "cancelled d1");
    desk.pending(0);
    let again = desk.run(&["debate", "cancel", "d1"]);
    assert_eq!(again.code, 1, "{again:?}");
    let left = desk.run(&["debate", "follow", "d1"]);
    assert_eq!((left.code, left.stdout.contains("not needed")), (3, true), "{left:?}");
    for id in ["d2", "d3"] {
        desk.say(&[&QUICK[..], &["--gate", "proposal", "--id", id, "--no-wait"]].concat());
    }
    desk.pending(2);
    let which = desk.run(&["debate", "cancel"]);
    assert_eq!((which.code, which.stderr.contains("several debates are going on")), (1, true), "{which:?}");
    desk.say(&["debate", "cancel", "d3"]);
    assert_eq!(desk.say(&["debate", "cancel"]), "cancelled d2", "the only one that goes on");
    let none = desk.run(&["debate", "cancel"]);
    assert_eq!((none.code, none.stderr.contains("no debate is going on")), (1, true), "{none:?}");
    let shown = desk.say(&["debate", "show", "d2"]);
    assert!(shown.contains("cancelled you cancelled it\n"), "{shown}");
    assert_eq!(shown.matches(" tokens").count(), 1, "{shown}");
    assert!(!serve.has_ended());
}

#[test]
fn whoever_starts_one_where_nobody_holds_it_is_told_so() {
    let desk = Desk::new();
    let started = desk.run(&[&QUICK[..], &["--id", "d1", "--no-wait"]].concat());
    assert_eq!((started.code, started.stdout.as_str()), (0, "d1\n"), "{started:?}");
    assert!(started.stderr.contains("No server is there to hold it"), "{started:?}");
    let ended = desk.run(&["debate", "follow"]);
    assert_eq!((ended.code, ended.stdout.contains("'s answer wins:")), (0, true), "{ended:?}");
}

/// What the server takes from you, the command line lets you say; and a gate is found by the debate
/// that waits at it.
#[test]
fn a_rejection_may_be_passed_over_and_a_gate_be_named_by_its_debate() {
    let desk = Desk::new();
    let mut serve = desk.spawn(&["serve", "--listen", "127.0.0.1:0"]);
    eventually("it serves", || desk.path().join("server.json").exists().then_some(()));
    let more = ["--gate", "proposal", "--on-rejected", "continue", "--language", "none", "--planning", "auto"];
    for id in ["talk-1", "talk-2"] {
        desk.say(&[&QUICK[..], &more, &["--id", id, "--no-wait"]].concat());
    }
    desk.pending(2);
    // No letters of a hexadecimal number: a gate's id may end in those.
    let part = desk.run(&["reject", "-y", "talk", "--reason", "no"]);
    assert_eq!((part.code, desk.pending(2).len()), (1, 2), "a part of a debate's id is not enough: {part:?}");
    desk.say(&["reject", "-y", "talk-1", "--reason", "all of them are wrong"]);
    let ended = desk.run(&["debate", "follow", "talk-1"]);
    assert_eq!((ended.code, ended.stdout.contains("'s answer wins:")), (0, true), "{ended:?}");
    assert_eq!(desk.pending(1)[0]["run_id"], "talk-2", "and no other gate was decided");
    assert!(!serve.has_ended());
}

/// Code is executed, mended and executed again, and all of it can be looked at.
#[test]
fn a_debate_on_code_ends_with_code_that_passes_its_tests() {
    let desk = Desk::new();
    let phases = ["critique", "review", "optimization", "adversarial"];
    let without: Vec<&str> = phases.iter().flat_map(|phase| ["--without", phase]).collect();
    let start = [&["debate", CODE, "--agents", "3", "--rounds", "1", "--provider", "rehearsal"][..], &without].concat();
    let results = desk.json(&start);
    let tests = &results["verdict"]["tests"];
    if tests.is_null() {
        eprintln!("skipped: nothing can be executed here: {results:#}");
        return;
    }
    assert_eq!(tests["passed"], tests["of"], "{results:#}");
    assert!(results["code"].as_str().unwrap().contains("def parse_duration"));
    let trail = desk.json(&["debate", "audit"]);
    let types = &trail["summary"]["types"];
    for kind in ["tool_called", "reflection_generated", "phase_started", "response_received"] {
        assert!(types[kind].as_u64().is_some_and(|count| count > 0), "{kind}: {types}");
    }
    let entries = trail["entries"].as_array().unwrap();
    let thought = entries.iter().find(|entry| entry["type"] == "reflection_generated").unwrap();
    assert!(thought["data"]["root_cause"].as_str().is_some_and(|cause| !cause.is_empty()), "{thought:#}");
    let executed = entries.iter().filter(|entry| entry["data"]["tool"] == "tests");
    let failed = executed.clone().filter(|entry| entry["data"]["passed"].as_u64() < entry["data"]["of"].as_u64());
    assert!(failed.count() > 0 && executed.count() > 1, "some failed first, and were mended");
    let calls = entries.iter().filter(|entry| entry["type"] == "tool_called" && entry["step"].is_string()).count();
    let turns = desk.json(&["debate", "turns"]);
    let in_turns =
        turns["turns"].as_array().unwrap().iter().map(|turn| turn["tool_calls"].as_array().map_or(0, Vec::len));
    assert_eq!(calls, in_turns.sum::<usize>(), "each tool call of a turn is in the trail, and no other");
    let versions = desk.json(&["debate", "versions"]);
    let last = versions["versions"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["language"], "python");
    let code = desk.run(&["debate", "versions", "--code", &last["version_number"].to_string()]);
    assert_eq!(code.stdout, last["code"].as_str().unwrap());
    let listed = desk.say(&["debate", "versions"]);
    assert!(listed.contains("python") && listed.contains("proposer-1"), "{listed}");
    let unknown = desk.run(&["debate", "versions", "--code", "999"]);
    assert_eq!((unknown.code, unknown.stderr.contains("no version 999")), (1, true), "{unknown:?}");
}

/// A debate on code; nothing where nothing can be executed here.
fn on_code(desk: &Desk, without: &[&str], more: &[&str]) -> Option<Value> {
    let phases: Vec<&str> = without.iter().flat_map(|phase| ["--without", phase]).collect();
    let team = ["debate", CODE, "--agents", "3", "--rounds", "1", "--provider", "rehearsal"];
    let results = desk.json(&[&team[..], &phases, more].concat());
    if results["verdict"]["tests"].is_null() {
        eprintln!("skipped: nothing can be executed here: {results:#}");
        return None;
    }
    Some(results)
}

#[test]
fn a_lesson_is_listed_corrected_and_removed_and_the_next_debate_is_shown_what_stands() {
    let desk = Desk::new();
    let without = ["critique", "review", "optimization", "adversarial"];
    if on_code(&desk, &without, &[]).is_none() {
        return;
    }
    let list = desk.json(&["debate", "lessons"])["lessons"].as_array().unwrap().clone();
    let (id, text) = (list[0]["id"].as_str().unwrap(), list[0]["lesson"].as_str().unwrap());
    assert!(desk.say(&["debate", "lessons"]).contains(id), "{list:#?}");
    let unclear = desk.run(&["debate", "lessons", "--correct", id, "--reason", "x"]);
    assert_eq!(unclear.code, 2, "what should it say? {unclear:?}");
    let new = "Take parse_duration from a library.";
    let correct = ["debate", "lessons", "--correct", &id[..8], "--text", new, "--reason", "libraries are tested"];
    assert_eq!(desk.say(&correct), format!("corrected {id}"));
    let now = desk.json(&["debate", "lessons"]);
    let now = now["lessons"].as_array().unwrap();
    assert!(now.len() == list.len() && now.iter().any(|it| it["id"] == id && it["lesson"] == new), "{now:#?}");
    on_code(&desk, &without, &["--id", "second"]).unwrap();
    let asked = desk.json(&["debate", "audit", "second", "--type", "prompt_sent"]);
    // The first, before anybody there has learnt anything.
    let asked = asked["entries"].as_array().unwrap().iter().find(|asked| asked["data"]["cue"]["part"] == "draft");
    let asked = asked.unwrap()["data"]["messages"][0]["text"].as_str().unwrap();
    assert!(asked.contains(new) && !asked.contains(text), "{asked}");
    assert_eq!(desk.say(&["debate", "lessons", "--remove", id, "--reason", "it is wrong"]), format!("removed {id}"));
    let left = desk.json(&["debate", "lessons"]);
    assert!(left["lessons"].as_array().unwrap().iter().all(|lesson| lesson["id"] != id), "{left:#}");
    let gone = desk.run(&["debate", "lessons", "--remove", id, "--reason", "it is wrong"]);
    assert_eq!((gone.code, gone.stderr.contains("there is no lesson")), (1, true), "{gone:?}");
}

/// As docs/debates.md says: what reviewers gave, and not what tests gave.
#[test]
fn the_quality_of_code_is_what_reviewers_gave_it_and_nothing_before_a_review() {
    let desk = Desk::new();
    let Some(results) = on_code(&desk, &["self_evolvement", "critique", "adversarial"], &[]) else { return };
    let id = results["id"].as_str().unwrap();
    let turns = desk.json(&["debate", "turns"])["turns"].as_array().unwrap().clone();
    // The mean that reviewers gave each author.
    let mut given: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for turn in turns.iter().filter(|turn| turn["metadata"]["part"] == "review") {
        // A line for each: "Answer 2: 0.8, it does what was asked".
        let scores = turn["content"].as_str().unwrap().lines().filter_map(|line| line.strip_prefix("Answer "));
        for (answer, said) in scores.filter_map(|line| line.split_once(": ")) {
            let author = turn["metadata"]["shown"][answer.parse::<usize>().unwrap() - 1].as_str().unwrap().to_owned();
            given.entry(author).or_default().push(said.split(',').next().unwrap().parse().unwrap());
        }
    }
    let phase_of = |version: &Value| {
        let turn = turns.iter().find(|turn| turn["id"] == version["turn_id"]).unwrap();
        turn["phase"].as_str().unwrap().to_owned()
    };
    let versions = desk.json(&["debate", "versions"])["versions"].as_array().unwrap().clone();
    let (mut before, mut after) = (0, 0);
    for version in &versions {
        if phase_of(version) != "optimization" {
            assert!(version["quality_score"].is_null() && version["test_pass_rate"].is_number(), "{version:#}");
            before += 1;
            continue;
        }
        let scores = &given[version["author"].as_str().unwrap()];
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let quality = version["quality_score"].as_f64().unwrap();
        assert!((quality - mean).abs() <= 0.01, "{quality} is not the mean of {scores:?}");
        after += 1;
    }
    assert!(before > 0 && after > 0, "{versions:#?}");
    let differs = |version: &&Value| version["quality_score"] != version["test_pass_rate"];
    assert!(versions.iter().filter(|it| it["quality_score"].is_number()).any(|it| differs(&it)), "{versions:#?}");
    let database = rusqlite::Connection::open(desk.path().join("folkmoot.db")).unwrap();
    let sql = "SELECT version_number, quality_score, test_pass_rate FROM code_versions
        JOIN debate_sessions ON debate_sessions.id = session_id WHERE debate_id = ?1 ORDER BY version_number";
    let mut rows = database.prepare(sql).unwrap();
    let rows = rows.query_map([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let rows: Vec<(i64, Option<f64>, Option<f64>)> = rows.collect::<Result<_, _>>().unwrap();
    let number = |version: &Value, name: &str| version[name].as_f64();
    let told = versions.iter().map(|version| {
        let n = version["version_number"].as_i64().unwrap();
        (n, number(version, "quality_score"), number(version, "test_pass_rate"))
    });
    assert_eq!(rows, told.collect::<Vec<_>>(), "SQL and HTTP show the same");
}

#[test]
fn what_cannot_be_debated_is_said_before_anything_is_started() {
    let desk = Desk::new();
    for arguments in [
        &["debate"][..],
        &["debate", TOPIC, "--gate", "lunch"],
        &["debate", TOPIC, "--topology", "ring"],
        &["debate", TOPIC, "--voting", "acclaim"],
        &["debate", TOPIC, "--preset", "heroic"],
        &["debate", TOPIC, "--language", "cobol"],
        &["debate", TOPIC, "--gate-timeout", "1s"],
        &["debate", TOPIC, "--hook", "post_proposal"],
    ] {
        assert_eq!(desk.run(arguments).code, 2, "{arguments:?}");
    }
    for (more, told) in [(["--agents", "0"], "a team of 0 agents"), (["--consensus", "2"], "min_consensus is 2")] {
        let refused = desk.run(&[&QUICK[..], &more].concat());
        assert_eq!((refused.code, refused.stderr.contains(told)), (1, true), "{refused:?}");
    }
    let verb = desk.run(&["debate", "lsit"]);
    assert_eq!((verb.code, verb.stderr.contains("\"lsit\" is no verb")), (1, true), "{verb:?}");
    let empty = desk.run(&["debate", " "]);
    assert_eq!((empty.code, empty.stderr.contains("the topic is empty")), (1, true), "{empty:?}");
    let none = desk.run(&["debate", "show"]);
    assert_eq!((none.code, none.stderr.contains("there is no debate")), (1, true), "{none:?}");
}
