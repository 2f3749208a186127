//! Language servers: a real one for Python, which compiles the file, well behaved and not, in the
//! jail and outside.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crate::process::python;
use folkmoot_tools::{
    Jail, Lsp, Toolbox,
    lsp::{Diagnosis, DiagnosticSeverity, DiagnosticsTool, LspError, LspLanguage, LspPlacement, LspRequest},
};
use serde_json::json;

const SERVER: &str = include_str!("lsp/server.py");

/// Inside, where there can be a jail.
async fn places() -> Vec<LspPlacement> {
    #[cfg(target_os = "linux")]
    return vec![LspPlacement::OutsideTheJail, LspPlacement::Jail(crate::project::jail().await)];
    #[cfg(not(target_os = "linux"))]
    vec![LspPlacement::OutsideTheJail]
}

fn is_jailed(place: &LspPlacement) -> bool {
    matches!(place, LspPlacement::Jail(_))
}

async fn ask_in(place: &LspPlacement, root: &Path, arguments: &[&str], text: &str) -> Result<Diagnosis, LspError> {
    std::fs::write(root.join("server.py"), SERVER).unwrap();
    let server: Vec<String> =
        [python(), "-IS", "server.py"].iter().chain(arguments).map(|part| (*part).to_owned()).collect();
    // Generous where it is not what is tested: the machine may be busy.
    let total = if arguments.iter().any(|habit| ["mute", "silent"].contains(habit)) { 500 } else { 20_000 };
    let lsp = Lsp {
        place: place.clone(),
        total: Duration::from_millis(total),
        quiet: Duration::from_millis(100),
        message_bytes: 100_000,
        diagnostics_max: 10,
    };
    let question = LspRequest { server: &server, root, file: Path::new("a b.py"), language: LspLanguage::Python, text };
    let begun = Instant::now();
    let diagnosis = lsp.diagnostics(&question).await;
    assert!(begun.elapsed() < Duration::from_secs(60), "{arguments:?} took {:?}", begun.elapsed());
    diagnosis
}

async fn ask(place: &LspPlacement, arguments: &[&str], text: &str) -> Result<Diagnosis, LspError> {
    ask_in(place, tempfile::tempdir().unwrap().path(), arguments, text).await
}

#[tokio::test]
async fn faults_are_found_whether_they_are_sent_or_asked_for() {
    // Before the fault is a character that is one, two or four long, by who counts.
    let text = "a = 1\né = \"😀\" )\n";
    for place in places().await {
        for way in ["push", "pull"] {
            let diagnosis = ask(&place, &[way], text).await.unwrap();
            let [found] = diagnosis.diagnostics.as_slice() else { panic!("{diagnosis:?}") };
            assert_eq!((found.line, found.column, found.severity), (2, 9, DiagnosticSeverity::Error), "{found:?}");
            assert_eq!((found.message.as_str(), found.source.as_str()), ("unmatched ')'", "compile"));
            assert!(diagnosis.is_complete);
            let clean = ask(&place, &[way], "a = 1\n").await;
            assert_eq!(clean, Ok(Diagnosis { diagnostics: Vec::new(), is_complete: true }));
        }
    }
}

#[tokio::test]
async fn a_server_that_asks_us_things_or_is_at_work_for_a_while_is_heard_out() {
    let text = "a = )\n";
    for place in places().await {
        for arguments in [["push", "curious"], ["push", "slow"], ["pull", "cancel"]] {
            let diagnosis = ask(&place, &arguments, text).await.unwrap();
            assert_eq!((diagnosis.diagnostics.len(), diagnosis.is_complete), (1, true), "{arguments:?}");
            assert_eq!(diagnosis.diagnostics[0].message, "unmatched ')'");
        }
    }
}

#[tokio::test]
async fn a_server_is_told_that_it_is_over_and_in_the_jail_it_changes_nothing() {
    for place in places().await {
        let folder = tempfile::tempdir().unwrap();
        ask_in(&place, folder.path(), &["push"], "# FAREWELL\n").await.unwrap();
        // It writes a file when it hears that.
        assert_eq!(folder.path().join("farewell").exists(), !is_jailed(&place));
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_about_the_file_is_an_error_and_not_a_clean_file() {
    for place in places().await {
        let late = Err(LspError::TimedOut { after: Duration::from_millis(500), jailed: is_jailed(&place) });
        assert_eq!(ask(&place, &["push", "mute"], "a").await, late);
        assert_eq!(ask(&place, &["push", "silent"], "a").await, late);
    }
}

#[tokio::test]
async fn each_fault_of_a_server_has_its_own_error() {
    for place in places().await {
        let fails = async |habit: &str, part: &str| {
            let error = ask(&place, &["push", habit], "a").await.unwrap_err();
            assert!(error.to_string().contains(part), "{habit}: {error}");
            let tells_where = error.to_string().contains("it was in the jail: no network");
            assert_eq!(tells_where, is_jailed(&place) && matches!(error, LspError::Ended { .. }), "{error}");
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
}

#[tokio::test]
async fn nothing_is_started_outside_of_the_jail_unless_somebody_said_so() {
    let server = ["touch".to_owned(), "started".to_owned()];
    let folder = tempfile::tempdir().unwrap();
    let question = LspRequest {
        server: &server,
        root: folder.path(),
        file: Path::new("a.py"),
        language: LspLanguage::Python,
        text: "",
    };
    let refused = Lsp::new(Jail::refuse("not here")).diagnostics(&question).await.unwrap_err();
    assert!(matches!(&refused, LspError::NoJail(why) if why == "not here"), "{refused}");
    for place in places().await {
        assert!(!folder.path().join("started").exists());
        let jailed = is_jailed(&place);
        let ended = Lsp { place, ..Lsp::outside_the_jail() }.diagnostics(&question).await;
        assert_eq!(ended, Err(LspError::Ended { complaint: String::new(), jailed }));
        assert_eq!(folder.path().join("started").exists(), !jailed);
        let _ = std::fs::remove_file(folder.path().join("started"));
    }
}

#[tokio::test]
async fn the_tool_reads_files_of_the_project_and_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.go"), "package main").unwrap();
    let mut tools = Toolbox::default();
    tools.add(std::sync::Arc::new(DiagnosticsTool::new(folder.path(), Lsp::new(Jail::refuse("not asked"))))).unwrap();
    let call = |arguments| async {
        let error = tools.call("lsp_diagnostics", arguments).await.result.unwrap_err();
        format!("{}: {}", error.code, error.detail)
    };
    assert!(call(json!({ "path": "../../etc/x.py" })).await.starts_with("invalid_arguments: ../../etc/x.py is not in"));
    assert!(call(json!({ "path": "none.py" })).await.starts_with("missing: none.py: No such file"));
    assert!(call(json!({ "path": "README" })).await.starts_with("invalid_arguments: its name tells no language"));
    // Whether it is missing depends on the machine; what is said then does not.
    if LspLanguage::Go.installed().is_err() {
        assert_eq!(
            call(json!({ "path": "main.go" })).await,
            "missing: there is no language server for go: install gopls"
        );
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "needs language servers on PATH: `cargo test -p folkmoot-tools --test it -- --ignored real_servers`"]
async fn real_servers_find_faults_in_the_jail() {
    let files = [
        ("main.py", "import nothing_of_that_name\nprint(undefined_name)\n"),
        ("main.ts", "const n: number = 'text';\nexport { n };\n"),
        ("main.go", "package main\n\nfunc main() { undefined() }\n"),
        ("src/main.rs", "fn main() { let n: u32 = \"text\"; }\n"),
        ("main.sh", "#!/bin/sh\nif [ $a = ]; then\n"),
    ];
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("Cargo.toml"), "[package]\nname = \"a\"\nedition = \"2024\"\n").unwrap();
    std::fs::write(folder.path().join("go.mod"), "module example.org/a\n").unwrap();
    let mut asked = 0;
    for (file, text) in files {
        std::fs::write(folder.path().join(file), text).unwrap();
        let language = LspLanguage::of(Path::new(file)).unwrap();
        for known in language.servers() {
            let server: Vec<String> = known.command.iter().map(|part| (*part).to_owned()).collect();
            let question = LspRequest { server: &server, root: folder.path(), file: Path::new(file), language, text };
            match Lsp::new(crate::project::jail().await).diagnostics(&question).await {
                Err(LspError::Missing(why)) => println!("{}: {why}", server[0]),
                said => {
                    let said = said.unwrap_or_else(|error| panic!("{}: {error}", server[0]));
                    println!("{}: {said:#?}", server[0]);
                    assert!(!said.diagnostics.is_empty(), "{}", server[0]);
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 0, "no language server is installed");
}
