//! Hands whose results were recorded: what the real jail says to each solution and each test of the
//! rehearsal's exercises. A simulation has a clock of its own, in which no program would ever end.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex},
    thread,
    time::Duration,
};

use folkmoot_debate::agent::ToolKind;
use folkmoot_tools::{
    JailLimits, ToolCall,
    git::Author,
    jail::Helper,
    project::Hook,
    testing::{self, Solution, Suite, TestCase, TestResult, TestRun},
    tool::ToolOffer,
};
use folkmoot_workflows::{
    Equipment,
    debate::{Branch, Effects, ProjectCommandRun, ToolContext},
    equipment::EquipmentSettings,
};
use futures_util::future::BoxFuture;

#[derive(Debug)]
pub struct Recorded;

/// By code and test.
static KNOWN: LazyLock<Mutex<HashMap<(String, String), TestResult>>> = LazyLock::new(Mutex::default);

static EQUIPMENT: LazyLock<Equipment> = LazyLock::new(|| {
    let helper = Helper::at(env!("CARGO_BIN_EXE_folkmoot-workflows-jail"));
    Equipment::new(EquipmentSettings::default(), |_| None, helper).unwrap()
});

/// As the yard executes, but whoever never ends is ended sooner.
async fn run(solution: &Solution, suite: &Suite) -> TestRun {
    let limits = JailLimits { cpu: Duration::from_secs(1), ..testing::limits(solution.language) };
    testing::run_tests(EQUIPMENT.jail().await, solution, suite, &limits).await.unwrap()
}

/// Executed once, in a thread with a clock that runs.
fn tested(solution: &Solution, test: &TestCase) -> TestResult {
    let key = (solution.code.clone(), test.code.clone());
    // One at a time: whoever comes second finds it recorded.
    let mut known = KNOWN.lock().unwrap();
    let tested = known.entry(key).or_insert_with(|| {
        let (solution, suite) = (solution.clone(), Suite::new("recorder", vec![test.clone()]).unwrap());
        let run = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(run(&solution, &suite))
        });
        run.join().unwrap().tested.remove(0)
    });
    TestResult { name: test.name.clone(), category: test.category, ..tested.clone() }
}

impl Effects for Recorded {
    fn test(&self, solution: Solution, suite: Suite) -> BoxFuture<'_, Result<TestRun, String>> {
        Box::pin(async move {
            let tested = suite.tests().iter().map(|test| tested(&solution, test)).collect();
            Ok(TestRun { solution: solution.id.clone(), author: suite.author.clone(), tested })
        })
    }

    fn offers(&self, _: ToolContext, _: Vec<ToolKind>) -> BoxFuture<'_, Vec<ToolOffer>> {
        Box::pin(async { Vec::new() })
    }

    fn call(
        &self,
        _: ToolContext,
        _: Vec<ToolKind>,
        tool: String,
        _: serde_json::Value,
        _: bool,
    ) -> BoxFuture<'_, ToolCall> {
        unreachable!("{tool} is not offered")
    }

    fn commit(&self, _: Branch, file: String, _: String, _: Author) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move { Ok(format!("commit of {file}")) })
    }

    fn hook(&self, _: Branch, _: Hook) -> BoxFuture<'_, Result<Vec<ProjectCommandRun>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn clean(&self, _: String, _: Option<Branch>) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
}
