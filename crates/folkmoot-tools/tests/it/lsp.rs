//! Language servers: a real one for Python, which compiles the file, well behaved and not.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crate::process::python;
use folkmoot_tools::{
    Lsp, Toolbox,
    lsp::{Diagnosis, DiagnosticsTool, Language, LspError, Question, Severity},
};
use serde_json::json;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/lsp/server.py");

async fn ask_in(root: &Path, arguments: &[&str], text: &str) -> Result<Diagnosis, LspError> {
    let server: Vec<String> =
        [python(), "-IS", SERVER].iter().chain(arguments).map(|part| (*part).to_owned()).collect();
    // Generous where it is not what is tested: the machine may be busy.
    let total = if arguments.iter().any(|habit| ["mute", "silent"].contains(habit)) { 500 } else { 20_000 };
    let lsp = Lsp {
        total: Duration::from_millis(total),
        quiet: Duration::from_millis(100),
        message_bytes: 100_000,
        diagnostics_max: 10,
        outside_the_jail: true,
    };
    let question = Question { server: &server, root, file: Path::new("a b.py"), language: Language::Python, text };
    let begun = Instant::now();
    let diagnosis = lsp.diagnostics(&question).await;
    assert!(begun.elapsed() < Duration::from_secs(15), "{arguments:?} took {:?}", begun.elapsed());
    diagnosis
}

async fn ask(arguments: &[&str], text: &str) -> Result<Diagnosis, LspError> {
    ask_in(tempfile::tempdir().unwrap().path(), arguments, text).await
}

#[tokio::test]
async fn faults_are_found_whether_they_are_sent_or_asked_for() {
    // Before the fault is a character that is one, two or four long, by who counts.
    let text = "a = 1\né = \"😀\" )\n";
    for way in ["push", "pull"] {
        let diagnosis = ask(&[way], text).await.unwrap();
        let [found] = diagnosis.diagnostics.as_slice() else { panic!("{diagnosis:?}") };
        assert_eq!((found.line, found.column, found.severity), (2, 9, Severity::Error), "{found:?}");
        assert_eq!((found.message.as_str(), found.source.as_str()), ("unmatched ')'", "compile"));
        assert!(diagnosis.is_complete);
        assert_eq!(ask(&[way], "a = 1\n").await, Ok(Diagnosis { diagnostics: Vec::new(), is_complete: true }));
    }
}

#[tokio::test]
async fn a_server_that_asks_us_things_or_is_at_work_for_a_while_is_heard_out() {
    let text = "a = )\n";
    for arguments in [["push", "curious"], ["push", "slow"], ["pull", "cancel"]] {
        let diagnosis = ask(&arguments, text).await.unwrap();
        assert_eq!((diagnosis.diagnostics.len(), diagnosis.is_complete), (1, true), "{arguments:?}");
        assert_eq!(diagnosis.diagnostics[0].message, "unmatched ')'");
    }
}

#[tokio::test]
async fn a_server_is_told_that_it_is_over() {
    let folder = tempfile::tempdir().unwrap();
    ask_in(folder.path(), &["push"], "# FAREWELL\n").await.unwrap();
    assert!(folder.path().join("farewell").exists());
}

#[tokio::test]
async fn a_server_that_says_nothing_about_the_file_is_an_error_and_not_a_clean_file() {
    assert_eq!(ask(&["push", "mute"], "a").await, Err(LspError::TimedOut(Duration::from_millis(500))));
    assert_eq!(ask(&["push", "silent"], "a").await, Err(LspError::TimedOut(Duration::from_millis(500))));
}

#[tokio::test]
async fn each_fault_of_a_server_has_its_own_error() {
    let fails = |habit: &'static str, part: &'static str| async move {
        let error = ask(&["push", habit], "a").await.unwrap_err().to_string();
        assert!(error.contains(part), "{habit}: {error}");
    };
    fails("exit", "ended too early, saying: not installed, and auto-install is 0").await;
    fails("die", "ended too early, saying: out of memory").await;
    fails("garbage", "no header: \"Starting server...\"").await;
    fails("long", "a message of 999999999 bytes; 100000 are allowed").await;
    fails("short", "does not speak its protocol").await;
    fails("refuse", "refused: no workspace").await;
    fails("odd", "a diagnostic that cannot be read").await;
    fails("flood", "more than 20000 messages").await;
}

#[tokio::test]
async fn nothing_is_started_outside_of_the_jail_unless_somebody_said_so() {
    let server = ["touch".to_owned(), "started".to_owned()];
    let folder = tempfile::tempdir().unwrap();
    let question = Question {
        server: &server,
        root: folder.path(),
        file: Path::new("a.py"),
        language: Language::Python,
        text: "",
    };
    assert_eq!(Lsp::default().diagnostics(&question).await, Err(LspError::NoJail));
    assert!(!folder.path().join("started").exists());
    let allowed = Lsp { outside_the_jail: true, ..Lsp::default() };
    assert_eq!(allowed.diagnostics(&question).await, Err(LspError::Ended(String::new())));
    assert!(folder.path().join("started").exists());
}

#[tokio::test]
async fn the_tool_reads_files_of_the_project_and_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.go"), "package main").unwrap();
    let mut tools = Toolbox::default();
    tools.add(std::sync::Arc::new(DiagnosticsTool::new(folder.path(), Lsp::default()))).unwrap();
    let call = |arguments| async {
        let error = tools.call("lsp_diagnostics", arguments).await.result.unwrap_err();
        format!("{}: {}", error.code, error.detail)
    };
    assert!(call(json!({ "path": "../../etc/x.py" })).await.starts_with("invalid_arguments: ../../etc/x.py is not in"));
    assert!(call(json!({ "path": "none.py" })).await.starts_with("missing: none.py: No such file"));
    assert!(call(json!({ "path": "README" })).await.starts_with("invalid_arguments: its name tells no language"));
    // Whether it is missing depends on the machine; what is said then does not.
    if Language::Go.server().is_err() {
        assert_eq!(
            call(json!({ "path": "main.go" })).await,
            "missing: there is no language server for go: install gopls"
        );
    }
}
