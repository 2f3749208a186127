//! Agents that really call tools, in the real jail.

use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    path::Path,
    process::Command,
    sync::Mutex,
};

use folkmoot_core::Role;
use folkmoot_debate::agent::{AgentRole, ToolKind};
use folkmoot_llm::{
    Cue, FailureKind, Hear, Model, ModelAnswer, ModelFailure, ModelRequest, Prompts, Rehearsal, rehearsal::exercises,
};
use folkmoot_tools::{
    Toolbox,
    jail::Helper,
    tool::{ToolTurn, TurnLimits, TurnOutcome, turn},
};
use folkmoot_workflows::{Equipment, Site, Workbench, equipment::EquipmentSettings};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

pub(crate) fn equipment(settings: EquipmentSettings) -> Equipment {
    Equipment::new(settings, |_| None, Helper::at(env!("CARGO_BIN_EXE_folkmoot-workflows-jail"))).unwrap()
}

fn names(tools: &Toolbox) -> Vec<&str> {
    tools.names().collect()
}

/// Says one thing after the other, in the form of the rehearsal's answers.
#[derive(Debug)]
struct Scripted(Mutex<VecDeque<String>>);

impl Model for Scripted {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        let said = self.0.lock().unwrap().pop_front();
        Box::pin(async move {
            let answer = Rehearsal.ask(request, hear).await?;
            let text = said.ok_or_else(|| ModelFailure::new("script", FailureKind::NotRecorded, "no more lines"))?;
            Ok(ModelAnswer { text, ..answer })
        })
    }
}

async fn play(model: &dyn Model, request: ModelRequest, tools: &Toolbox) -> ToolTurn {
    turn(model, &Prompts::embedded(), request, tools, TurnLimits::default(), &mut ()).await.unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_agent_executes_and_tests_and_answers_with_what_came_of_it() {
    let bench = Workbench::new(&equipment(EquipmentSettings::default()), None, Role::Admin).await;
    let tools = bench.toolbox(AgentRole::Executor.tools());
    assert_eq!(names(&tools), ["execute", "run_tests"]);
    let execute = json!({ "tool": "execute", "arguments": { "language": "python", "code": "print(6 * 7)" } });
    let test = json!({ "name": "six", "category": "functional", "difficulty": "basic",
        "code": "from solution import f\nassert f(6) == 42" });
    let run_tests = json!({ "tool": "run_tests", "arguments": {
        "language": "python", "solution": "def f(n):\n    return n * 6\n", "tests": [test] } });
    let answer = json!({ "answer": "It prints 42 and fails." });
    let model = Scripted(Mutex::new([&execute, &run_tests, &answer].map(Value::to_string).into()));
    let turn = play(&model, ModelRequest::new("What does it print?"), &tools).await;
    assert_eq!(turn.outcome, TurnOutcome::Answered(json!("It prints 42 and fails.")));
    let [executed, tested] = turn.tool_calls.as_slice() else { panic!("{turn:#?}") };
    assert_eq!((&executed.tool[..], &executed.arguments), ("execute", &execute["arguments"]));
    let told = executed.result.as_ref().unwrap();
    assert_eq!((&told["stdout"], &told["exit_code"]), (&json!("42"), &json!(0)));
    assert_eq!((&tested.tool[..], &tested.arguments), ("run_tests", &run_tests["arguments"]));
    let told = tested.result.as_ref().unwrap();
    assert_eq!((&told["verdict"], &told["tests"][0]["cause"]), (&json!("some_failed"), &json!("assertion")));
    // As a journal has it.
    let recorded = serde_json::to_string(&turn).unwrap();
    assert_eq!(serde_json::from_str::<ToolTurn>(&recorded).unwrap(), turn);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_rehearsal_has_its_code_tested_and_learns_with_each_attempt() {
    let bench = Workbench::new(&equipment(EquipmentSettings::default()), None, Role::Admin).await;
    let tools = bench.toolbox(AgentRole::Implementer.tools());
    let exercise = &exercises()[0];
    let mut verdicts = Vec::new();
    for attempt in [0, 9] {
        let cue = Cue {
            part: "code".to_owned(),
            agent: "implementer-1".to_owned(),
            topic: exercise.task.clone(),
            attempt,
            given: Value::Null,
        };
        let turn = play(&Rehearsal, ModelRequest { cue: Some(cue), ..ModelRequest::new(&exercise.task) }, &tools).await;
        let [call] = turn.tool_calls.as_slice() else { panic!("{turn:#?}") };
        assert_eq!(call.arguments["tests"].as_array().unwrap().len(), exercise.tests.len());
        let told = call.result.as_ref().unwrap();
        let TurnOutcome::Answered(Value::String(answer)) = &turn.outcome else { panic!("{turn:#?}") };
        let said = format!("run_tests: {} of {} tests passed.", told["passed"], exercise.tests.len());
        assert!(answer.contains(&said), "{said}: {answer}");
        verdicts.push(told["verdict"].clone());
    }
    assert_eq!(verdicts, ["some_failed", "all_passed"]);
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=u", "-c", "user.email=u@example.org"]).args(arguments).current_dir(folder);
    assert!(git.output().unwrap().status.success(), "{arguments:?}");
}

#[tokio::test]
async fn a_role_has_the_tools_that_serve_it_and_on_a_project_every_role_has_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("README.md"), "About intervals.\n").unwrap();
    let equipment = equipment(EquipmentSettings::default());
    let bench = Workbench::new(&equipment, None, Role::Admin).await;
    assert_eq!(names(&bench.toolbox(AgentRole::Generator.tools())), ["execute", "format"]);
    assert_eq!(names(&bench.toolbox(&[ToolKind::Retrieval])), [""; 0], "there is nothing to search");

    let site = Site::Folder(folder.path().to_owned());
    let bench = Workbench::new(&equipment, Some(&site), Role::Admin).await;
    assert_eq!(bench.missing.len(), 1, "{:?}", bench.missing);
    assert!(bench.missing[0].starts_with("git: "), "{:?}", bench.missing);
    git(folder.path(), &["init", "-q"]);
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-q", "-m", "First"]);
    let bench = Workbench::new(&equipment, Some(&site), Role::Admin).await;
    assert_eq!(bench.missing, [""; 0]);
    for role in AgentRole::ALL {
        assert!(!bench.toolbox(role.tools()).is_empty(), "{role}");
    }
    let reviewer = bench.toolbox(AgentRole::Reviewer.tools());
    assert_eq!(
        names(&reviewer),
        ["git_blame", "git_diff", "git_history", "lsp_diagnostics", "project_command", "run_tests"]
    );
    let history = reviewer.call("git_history", json!({ "path": "README.md" })).await.result.unwrap();
    assert_eq!(history["commits"][0]["subject"], "First");
    let found = bench.toolbox(&[ToolKind::Retrieval]).call("search", json!({ "query": "intervals" })).await;
    assert_eq!(found.result.unwrap()["hits"][0]["path"], "README.md");
}

#[tokio::test]
async fn an_mcp_server_that_is_not_there_is_told_and_the_rest_is_there() {
    let server =
        folkmoot_workflows::equipment::McpServer { command: vec!["no-such-program".to_owned()], ..Default::default() };
    let settings =
        EquipmentSettings { mcp: BTreeMap::from([("gone".to_owned(), server)]), ..EquipmentSettings::default() };
    let bench = Workbench::new(&equipment(settings), None, Role::Admin).await;
    assert!(bench.missing.len() == 1 && bench.missing[0].contains("`gone`"), "{:?}", bench.missing);
    assert_eq!(names(&bench.toolbox(&[ToolKind::CodeExecutor])), ["execute"]);
}

#[tokio::test]
async fn an_agents_debate_reaches_no_mcp_server_whose_entry_does_not_say_so() {
    for (role, agents, reached) in
        [(Role::Agent, false, false), (Role::Agent, true, true), (Role::Reviewer, false, true)]
    {
        let command = vec!["no-such-program".to_owned()];
        let server = folkmoot_workflows::equipment::McpServer { command, agents, ..Default::default() };
        let settings =
            EquipmentSettings { mcp: BTreeMap::from([("gone".to_owned(), server)]), ..EquipmentSettings::default() };
        let bench = Workbench::new(&equipment(settings), None, role).await;
        assert_eq!(!bench.missing.is_empty(), reached, "{role}, agents = {agents}");
    }
}
