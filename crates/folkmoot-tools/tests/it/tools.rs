//! Tools as an agent calls them: by name, with JSON, in the real jail and on a real repository.

use std::{fs, path::Path, process::Command, sync::Arc};

use folkmoot_core::Timestamp;
use folkmoot_debate::agent::{AgentRole, ToolKind};
use folkmoot_tools::{
    Jail, JailLimits, Profile, Tool, Toolbox,
    git::{Author, Repository, Snapshot, WorktreeKind},
    lsp::{DiagnosticsTool, Lsp},
    tool::{CommitRange, ExecuteTool, FormatTool, ProjectCommandTool, RunTestsTool, SearchTool, serving, serving_all},
};
use serde_json::{Value, json};

use crate::project::jail;

/// All of them, on a folder.
fn toolbox(jail: &Jail, folder: &Path) -> Toolbox {
    let mut tools = Toolbox::default();
    let all: [Arc<dyn Tool>; 6] = [
        Arc::new(ExecuteTool::new(jail.clone())),
        Arc::new(RunTestsTool::new(jail.clone())),
        Arc::new(FormatTool::new(jail.clone())),
        Arc::new(SearchTool::new(folder).unwrap()),
        Arc::new(ProjectCommandTool::new(jail.clone(), folder, JailLimits::of(Profile::Project))),
        Arc::new(DiagnosticsTool::new(folder, Lsp::new(jail.clone()))),
    ];
    for tool in all {
        tools.add(tool).unwrap();
    }
    tools
}

async fn call(tools: &Toolbox, name: &str, arguments: Value) -> Result<Value, String> {
    let call = tools.call(name, arguments.clone()).await;
    assert_eq!((call.tool.as_str(), &call.arguments), (name, &arguments), "recorded as it came");
    call.result.map_err(|error| format!("{}: {}", error.code, error.detail))
}

#[tokio::test]
async fn code_is_executed_and_each_end_is_told() {
    let tools = toolbox(&jail().await, Path::new("/"));
    let execute = async |language: &str, code: &str, stdin: &str| {
        call(&tools, "execute", json!({ "language": language, "code": code, "stdin": stdin })).await
    };
    let told = execute("python", "import sys; print(int(input()) * 2); print('hm', file=sys.stderr)", "21\n").await;
    let told = told.unwrap();
    assert_eq!((&told["end"], &told["exit_code"]), (&json!("exited"), &json!(0)));
    assert_eq!((&told["stdout"], &told["stderr"]), (&json!("42"), &json!("hm")));
    assert!(told["peak_memory_bytes"].as_u64() > Some(100_000) && told["wall_ms"].is_u64(), "{told}");

    let told = execute("bash", "exit 7", "").await.unwrap();
    assert_eq!((&told["end"], &told["exit_code"], told.get("limit")), (&json!("exited"), &json!(7), None));
    let told = execute("python", "print('x' * 5_000_000)", "").await.unwrap();
    assert_eq!((&told["end"], &told["limit"]), (&json!("limited"), &json!("output")));
    assert!(told["stdout"].as_str().unwrap().contains("[cut: 16384 of 1048576 bytes]"));
    let told = execute("rust", "fn main() { let n: u32 = \"\"; }", "").await.unwrap();
    assert!(told["end"] == "not_compiled" && told["stderr"].as_str().unwrap().contains("mismatched types"), "{told}");

    let refused = execute("cobol", "x", "").await.unwrap_err();
    assert!(refused.starts_with("invalid_arguments: "), "{refused}");
    let none = toolbox(&Jail::refuse("not here"), Path::new("/"));
    let none = call(&none, "execute", json!({ "language": "bash", "code": "true" })).await.unwrap_err();
    assert!(none.starts_with("missing: nothing is executed here, because there is no jail: not here"), "{none}");
}

#[tokio::test]
async fn tests_are_run_and_no_tests_are_no_pass() {
    let tools = toolbox(&jail().await, Path::new("/"));
    let test =
        |name: &str, code: &str| json!({ "name": name, "category": "functional", "difficulty": "basic", "code": code });
    let run = async |tests: Value| {
        let solution = "def double(n):\n    return n + 2\n";
        call(&tools, "run_tests", json!({ "language": "python", "solution": solution, "tests": tests })).await
    };
    let right = test("two", "from solution import double\nassert double(2) == 4\n");
    let wrong = test("three", "from solution import double\nassert double(3) == 6, 'three is wrong'\n");
    let told = run(json!([right, wrong])).await.unwrap();
    assert_eq!((&told["verdict"], &told["passed"], &told["of"]), (&json!("some_failed"), &json!(1), &json!(2)));
    assert_eq!((&told["tests"][0]["passed"], told["tests"][0].get("cause")), (&json!(true), None));
    assert_eq!(told["tests"][1]["cause"], "assertion");
    assert!(told["tests"][1]["output"].as_str().unwrap().contains("three is wrong"), "{told}");
    assert_eq!(run(json!([right])).await.unwrap()["verdict"], "all_passed");
    assert_eq!(run(json!([])).await, Ok(json!({ "verdict": "no_tests", "passed": 0, "of": 0, "tests": [] })));
    assert!(run(json!([right, right])).await.unwrap_err().contains("there twice"));
    assert!(run(json!([{ "name": "x" }])).await.unwrap_err().starts_with("invalid_arguments"));

    // However much they print, what is told fits.
    let loud: Vec<Value> = (0..30).map(|n| test(&n.to_string(), "raise Exception('\\\\\"' * 3000)")).collect();
    assert_eq!(run(json!(loud)).await.unwrap()["passed"], 0);
}

#[tokio::test]
async fn code_is_laid_out() {
    let tools = toolbox(&jail().await, Path::new("/"));
    let format = async |code: &str| call(&tools, "format", json!({ "language": "rust", "code": code })).await;
    assert_eq!(format("fn  main( ){}").await, Ok(json!({ "changed": true, "code": "fn main() {}\n" })));
    assert_eq!(format("fn main() {}\n").await, Ok(json!({ "changed": false, "code": "fn main() {}\n" })));
    assert!(format("fn main( {").await.unwrap_err().starts_with("invalid_arguments: rustfmt did not take the code"));
}

#[tokio::test]
async fn passages_are_found_also_those_just_written_and_what_is_left_out_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.rs"), "fn parse_duration() {}\n").unwrap();
    fs::write(folder.path().join(".env"), "KEY=1\n").unwrap();
    let tools = toolbox(&Jail::refuse("not asked"), folder.path());
    let search = async |query: &str| call(&tools, "search", json!({ "query": query, "limit": 2 })).await.unwrap();
    let found = search("duration").await;
    let hit = json!({ "path": "a.rs", "first_line": 1, "last_line": 1, "text": "fn parse_duration() {}\n" });
    assert_eq!(found, json!({ "hits": [hit], "files_searched": 1, "left_out": { "secret": 1 } }));
    assert_eq!(search("KEY").await["hits"], json!([]));
    for number in 0..5 {
        fs::write(folder.path().join(format!("{number}.md")), "about intervals\n".repeat(2000)).unwrap();
    }
    let found = search("interval").await;
    assert_eq!((found["hits"].as_array().unwrap().len(), &found["files_searched"]), (2, &json!(6)));
}

#[tokio::test]
async fn a_projects_commands_run_and_what_it_does_not_have_has_not_passed() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("Makefile"), "test:\n\t@echo it is wrong; exit 3\nbuild:\n\t@true\n").unwrap();
    let tools = toolbox(&jail().await, folder.path());
    let run = async |purpose: &str| call(&tools, "project_command", json!({ "purpose": purpose })).await;
    let told = run("test").await.unwrap();
    assert_eq!((&told["outcome"], &told["passed"]), (&json!("ran"), &json!(false)));
    assert!(told["commands"][0]["output"].as_str().unwrap().contains("it is wrong"), "{told}");
    assert_eq!(run("build").await.unwrap()["passed"], true);
    assert_eq!(run("security").await, Ok(json!({ "outcome": "no_command", "passed": false })));
    assert!(run("deploy").await.unwrap_err().starts_with("invalid_arguments"));
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=u", "-c", "user.email=u@example.org"]).args(arguments).current_dir(folder);
    assert!(git.output().unwrap().status.success(), "{arguments:?}");
}

#[tokio::test]
async fn what_a_run_committed_is_seen_and_where_lines_come_from() {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q", "-b", "main"]);
    fs::write(folder.path().join("a.txt"), "one\ntwo\n").unwrap();
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-q", "-m", "First"]);
    let worktree =
        Repository::open(folder.path()).await.unwrap().worktree(WorktreeKind::Debate, "run1", None).await.unwrap();
    let author = Author { name: "coder".to_owned(), at: Timestamp::from_micros(1), message: "Change two".to_owned() };
    let files = vec![("a.txt".to_owned(), b"one\n2\n".to_vec())];
    worktree.commit(Snapshot { files, ..Snapshot::default() }, &author).await.unwrap();

    let mut tools = Toolbox::default();
    for tool in CommitRange::of_worktree(&worktree).tools() {
        tools.add(Arc::new(tool)).unwrap();
    }
    let diff = call(&tools, "git_diff", json!({})).await.unwrap();
    assert_eq!((&diff["files"][0]["path"], &diff["files"][0]["lines_added"]), (&json!("a.txt"), &json!(1)));
    assert!(diff["text"].as_str().unwrap().contains("-two\n+2") && diff["is_cut"] == false, "{diff}");
    let history = call(&tools, "git_history", json!({ "path": "a.txt" })).await.unwrap();
    let subjects: Vec<&str> =
        history["commits"].as_array().unwrap().iter().filter_map(|commit| commit["subject"].as_str()).collect();
    assert_eq!(subjects, ["Change two", "First"]);
    let blame = call(&tools, "git_blame", json!({ "path": "a.txt", "first_line": 2 })).await.unwrap();
    assert_eq!((blame["lines"].as_array().unwrap().len(), &blame["lines_of_file"]), (1, &json!(2)));
    assert_eq!((&blame["lines"][0]["text"], &blame["lines"][0]["author"]), (&json!("2"), &json!("coder")));

    for (tool, arguments) in [
        ("git_blame", json!({ "path": "../../etc/passwd" })),
        ("git_history", json!({ "path": "/etc/passwd" })),
        ("git_diff", json!({ "from": "--output=/tmp/x" })),
        ("git_blame", json!({ "path": "missing.txt" })),
    ] {
        let refused = call(&tools, tool, arguments.clone()).await.unwrap_err();
        assert!(refused.starts_with("invalid_arguments: "), "{tool} {arguments}: {refused}");
    }
}

#[tokio::test]
async fn every_sort_of_tool_is_served_and_every_role_has_a_tool() {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q"]);
    let mut tools = toolbox(&Jail::refuse("not asked"), folder.path());
    for tool in CommitRange::of_repository(Repository::open(folder.path()).await.unwrap(), "HEAD", "HEAD").tools() {
        tools.add(Arc::new(tool)).unwrap();
    }
    let mut served = std::collections::BTreeSet::<&str>::new();
    for kind in ToolKind::ALL {
        assert!(!serving(*kind).is_empty(), "{kind}");
        tools.only(serving(*kind).iter().copied()).unwrap_or_else(|error| panic!("{kind}: {error}"));
        served.extend(serving(*kind).iter().copied());
    }
    assert_eq!(AgentRole::ALL.len(), 20);
    for role in AgentRole::ALL {
        let own = tools.only(serving_all(role.tools())).unwrap_or_else(|error| panic!("{role}: {error}"));
        assert!(!own.is_empty(), "{role}");
    }
    assert_eq!(served.into_iter().collect::<Vec<_>>(), tools.names().collect::<Vec<_>>(), "no tool is nobody's");
    insta::assert_snapshot!(tools.describe().lines().map(|line| format!("{line}\n")).collect::<String>());
}
