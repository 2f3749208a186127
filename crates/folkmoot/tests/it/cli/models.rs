//! `ask-model` and `doctor`, as somebody types them.

mod which;

use std::{os::unix::fs::PermissionsExt, process::Stdio};

use serde_json::{Value, json};

use super::{Desk, Ended, run};
use crate::server::{eventually, folkmoot};

/// Without what the environment of the machine knows of models.
fn alone(desk: &Desk, arguments: &[&str]) -> Ended {
    run(folkmoot(desk.path()).args(arguments).env("OLLAMA_HOST", "127.0.0.1:1").stdin(Stdio::null()))
}

fn configured(text: &str) -> Desk {
    let desk = Desk::new();
    std::fs::write(desk.path().join("folkmoot.toml"), text).expect("the folder can be written");
    desk
}

#[test]
fn a_rehearsal_answers_and_says_that_it_is_one() {
    let desk = Desk::new();
    let ended = alone(&desk, &["ask-model", "Merge overlapping intervals", "--provider", "rehearsal"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.starts_with("(Rehearsal: no model was asked.)") && ended.stdout.contains("def merge("));
    assert!(ended.stderr.contains("rehearsal-0.") && ended.stderr.contains("tokens read"), "{}", ended.stderr);
    // Nobody was named, so it says why.
    let ended = alone(&desk, &["ask-model", "Hello?"]);
    assert!(
        ended.stderr.starts_with("This is a rehearsal, no model is asked, because no provider"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_answer_fits_the_schema_or_is_none() {
    let desk = configured("[providers.parrot]\nkind = 'command'\ncommand = ['echo', 'I agree!']");
    let schema = desk.path().join("schema.json");
    std::fs::write(
        &schema,
        r#"{"type": "object", "required": ["vote"], "properties": {"vote": {"enum": ["a", "b"]}}}"#,
    )
    .unwrap();
    let schema = schema.to_str().unwrap();
    let voted = alone(&desk, &["ask-model", "Who?", "--schema", schema, "--provider", "rehearsal"]);
    assert_eq!((voted.code, voted.stdout.trim()), (0, r#"{"vote":"a"}"#), "{voted:?}");
    let unparsed = alone(&desk, &["ask-model", "Who?", "--schema", schema, "--provider", "parrot"]);
    assert_eq!((unparsed.code, unparsed.stdout.as_str()), (1, ""), "{unparsed:?}");
    assert!(unparsed.stderr.contains("no answer fits the schema: it is not JSON"), "{}", unparsed.stderr);
    let unparsed = alone(&desk, &["--json", "ask-model", "Who?", "--schema", schema, "--provider", "parrot"]);
    let told: Value = serde_json::from_str(&unparsed.stdout).unwrap();
    assert_eq!((unparsed.code, &told["parsed"], told["answers"].as_array().unwrap().len()), (1, &Value::Null, 2));
}

#[test]
fn what_was_recorded_is_replayed_without_a_model() {
    let desk = configured("[providers.dice]\nkind = 'command'\ncommand = ['date', '+%s%N']");
    let file = desk.path().join("calls.jsonl");
    let file = file.to_str().unwrap();
    let asked = alone(&desk, &["ask-model", "Now?", "--provider", "dice", "--record", file]);
    let replayed = alone(&desk, &["ask-model", "Now?", "--replay", file]);
    assert_eq!((replayed.code, replayed.stdout), (0, asked.stdout), "{}", replayed.stderr);
    let never = alone(&desk, &["ask-model", "Then?", "--replay", file]);
    assert!(never.code == 1 && never.stderr.contains("was not recorded"), "{never:?}");
}

#[test]
fn a_key_is_shown_to_nobody() {
    const KEY: &str = "sk-0123456789abcdefghij";
    let desk = configured(
        "provider = 'far'\n[providers.far]\nkind = 'openai'\nmodel = 'm'\nbase_url = 'http://127.0.0.1:1'\nkey_file = 'key'\nattempts = 1",
    );
    let key = desk.path().join("key");
    std::fs::write(&key, KEY).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let exposed = alone(&desk, &["ask-model", "Hello?"]);
    assert!(exposed.stderr.contains("can be read by others (mode 644): run `chmod 600"), "{exposed:?}");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let file = desk.path().join("calls.jsonl");
    let file = file.to_str().unwrap();
    let mut said = String::new();
    for arguments in [&["ask-model", "Hello?", "--record", file][..], &["--json", "ask-model", "Hello?"], &["doctor"]] {
        let ended = alone(&desk, arguments);
        said = format!("{said}{}{}", ended.stdout, ended.stderr);
    }
    said.push_str(&std::fs::read_to_string(file).unwrap());
    assert!(said.contains("http://127.0.0.1:1 cannot be reached"), "{said}");
    assert!(!said.contains(KEY), "{said}");
    // Not even where it was written by mistake.
    let desk = configured(&format!("[providers.a]\nkind = 'openai'\napi_key = '{KEY}'"));
    let wrong = alone(&desk, &["ask-model", "Hello?"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("line 3") && !wrong.stderr.contains(KEY), "{wrong:?}");
}

#[test]
fn a_budget_is_not_overdrawn() {
    let desk = configured("[budget]\ntokens = 100");
    let ended = alone(&desk, &["ask-model", "Hello?", "--provider", "rehearsal"]);
    assert!(ended.code == 1 && ended.stderr.contains("0 of 100 tokens are spent"), "{ended:?}");
    let ended = alone(&desk, &["ask-model", "Hello?", "--provider", "rehearsal", "--max-tokens", "50"]);
    assert!(ended.stdout.starts_with("(Rehearsal"), "there is budget for it: {ended:?}");
    // What is cut off is shown, and is not taken for whole.
    assert!(ended.code == 1 && ended.stderr.contains("The answer is cut off"), "{ended:?}");
}

#[test]
fn the_doctor_says_what_is_there_and_how_to_get_the_rest() {
    let desk = configured(
        "[providers.work]\nkind = 'anthropic'\nmodel = 'm'\nkey_env = 'NOBODY_HAS_SET_THIS'\n[mcp.gone]\ncommand = ['/nonexistent/server']",
    );
    let told: Value = serde_json::from_str(&alone(&desk, &["--json", "doctor"]).stdout).unwrap();
    let found = |name: &str| {
        let findings = told["findings"].as_array().unwrap();
        let finding =
            findings.iter().find(|finding| finding["name"] == name).unwrap_or_else(|| panic!("{name}: {told}"));
        (finding["ok"].as_bool().unwrap(), finding["detail"].as_str().unwrap().to_owned())
    };
    assert_eq!(told["asked"]["provider"], json!("work"));
    assert!(found("rehearsal").0);
    assert_eq!(found("work"), (false, "the environment has no NOBODY_HAS_SET_THIS: set it to the key".to_owned()));
    assert!(found("driver").0 && found("python").0 && found("git").0, "{told}");
    assert!(!found("mcp, gone").0);
    let read = alone(&desk, &["doctor"]);
    assert_eq!(read.code, 0);
    assert!(read.stdout.contains("missing  work"), "{}", read.stdout);
}

#[test]
fn bad_questions_are_refused_before_anybody_is_asked() {
    let desk = Desk::new();
    let cases: [(&[&str], i32, &str); 7] = [
        (&["ask-model", " "], 1, "there is no question"),
        (&["ask-model", "x", "--provider", "nobody"], 1, "there is no provider \"nobody\""),
        (&["ask-model", "x", "--max-tokens", "0"], 2, "0 is not in"),
        (&["ask-model", "x", "--schema", "/nonexistent"], 1, "/nonexistent cannot be read"),
        (&["ask-model", "x", "--provider", "openai"], 1, "set OPENAI_API_KEY to its key"),
        (&["ask-model", "x", "--provider", "rehearsal", "--model", "y"], 1, "has no models to choose from"),
        (&["ask-model", "x", "--replay", "nothing"], 1, "neither a file nor a run"),
    ];
    for (arguments, code, expected) in cases {
        let ended = alone(&desk, arguments);
        assert!(ended.code == code && ended.stderr.contains(expected), "{ended:?}");
    }
}

#[test]
fn an_interrupted_question_ends_the_program_that_was_asked() {
    let desk = configured("[providers.slow]\nkind = 'command'\ncommand = ['sh', '-c', 'echo $$; sleep 60']");
    let mut asking = folkmoot(desk.path());
    let child = super::piped(asking.args(["ask-model", "Well?", "--provider", "slow"]).stdin(Stdio::null()));
    let ours = child.id();
    let asked = eventually("the program runs", || {
        let children = std::fs::read_to_string(format!("/proc/{ours}/task/{ours}/children")).ok()?;
        let all: Vec<String> = std::fs::read_dir(format!("/proc/{ours}/task"))
            .ok()?
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok())
            .chain([children])
            .collect();
        all.join(" ").split_whitespace().next().map(str::to_owned)
    });
    assert!(std::process::Command::new("kill").args(["-INT", &ours.to_string()]).status().unwrap().success());
    let ended = super::finish(child);
    assert!(ended.code == 130 && ended.stderr.contains("Interrupted"), "{ended:?}");
    eventually("it has ended too", || {
        let state = std::fs::read_to_string(format!("/proc/{asked}/stat")).unwrap_or_default();
        (state.is_empty() || state.contains(") Z ")).then_some(())
    });
}

#[test]
fn a_failure_has_its_name_and_attempts_are_told() {
    let desk = configured(
        "[providers.far]\nkind = 'openai'\nmodel = 'm'\nbase_url = 'http://127.0.0.1:1'\nattempts = 2\n\
         [providers.safe]\nkind = 'openai'\nmodel = 'm'\nbase_url = 'http://127.0.0.1:1'\nattempts = 1\nfallback = ['rehearsal']",
    );
    let ended = alone(&desk, &["--json", "ask-model", "x", "--provider", "far"]);
    let told: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!((ended.code, &told["code"]), (1, &json!("unreachable")), "{told}");
    let ended = alone(&desk, &["ask-model", "x", "--provider", "far"]);
    assert!(ended.stderr.contains("again in ") && ended.stderr.contains("(tried 2 times)"), "{}", ended.stderr);
    // Whoever answers in place of somebody else says why.
    let ended = alone(&desk, &["ask-model", "x", "--provider", "safe"]);
    assert!(
        ended.code == 0 && ended.stderr.contains("safe/m failed: http://127.0.0.1:1 cannot be reached"),
        "{ended:?}"
    );
    let several = alone(&desk, &["ask-model", "x"]);
    assert!(several.code == 1 && several.stderr.contains("several are configured and none is chosen"), "{several:?}");
}

#[test]
fn what_is_configured_wrongly_stops_the_server_and_not_the_doctor() {
    let prompts = tempfile::tempdir().unwrap();
    std::fs::create_dir(prompts.path().join("roles")).unwrap();
    std::fs::write(prompts.path().join("roles/critic.md"), "{{ nobody }}").unwrap();
    let desk = configured(&format!("prompts = '{}'", prompts.path().display()));
    let served = alone(&desk, &["serve", "--listen", "127.0.0.1:0"]);
    assert!(served.code == 1 && served.stderr.contains("roles/critic.md"), "{served:?}");
    let examined = alone(&desk, &["doctor"]);
    assert!(examined.code == 0 && examined.stdout.contains("missing  prompts"), "{examined:?}");
    assert_eq!(alone(&desk, &["ask-model", "Hello?", "--provider", "rehearsal"]).code, 0);
    let desk = configured("provider = 'nobody'");
    assert!(alone(&desk, &["serve", "--listen", "127.0.0.1:0"]).stderr.contains("there is no provider \"nobody\""));
}
