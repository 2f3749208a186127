//! Runs: those that agents execute themselves, and those that the server does.

mod bad_input;
mod external;
mod questions;
mod replay;
mod roles;
mod shapes;
mod workflows;

use std::time::Duration;

use folkmoot_core::question::QuestionType;
use folkmoot_engine::{Ctx, Failure, GateSpec, QuestionSpec, Workflows};
use serde_json::{Value, json};

use crate::{
    debates::lessons,
    halting::id,
    http::Answer,
    node::{Node, Setting},
};

/// Workflows that wait in every way there is.
pub fn workflows() -> Workflows {
    let publish = |ctx: Ctx, title: String| async move {
        let draft = ctx.step("draft", move || std::future::ready(Ok(format!("{title}: a draft")))).await?;
        let decided = ctx.gate("publish", GateSpec::new(format!("Publish {draft:?}?"))).await?;
        if !decided.may_proceed() {
            return Err(Failure::new("not_published", decided.decision.reason));
        }
        ctx.step("ship", || std::future::ready(Ok("shipped".to_owned()))).once().await?;
        Ok(draft)
    };
    let asks = |ctx: Ctx, (): ()| async move {
        let answer = ctx.ask("colour", QuestionSpec::new(QuestionType::Decision, "Which colour?")).await?;
        answer.get::<String>()
    };
    let sleeps = |ctx: Ctx, (): ()| async move { ctx.sleep("rest", Duration::from_secs(3600)).await };
    let never = |ctx: Ctx, (): ()| async move { ctx.step("call", std::future::pending::<Result<(), Failure>>).await };
    let works = |ctx: Ctx, (): ()| async move { ctx.step("work", || std::future::ready(Ok(7))).await };
    let twice = |ctx: Ctx, (): ()| async move {
        ctx.step("same", || std::future::ready(Ok(1))).await?;
        ctx.step("same", || std::future::ready(Ok(2))).await
    };
    let parent = |ctx: Ctx, (): ()| async move { ctx.child::<String>("part", "publish@1", &"part").await };
    Workflows::new()
        .with("publish@1", publish)
        .with("asks@1", asks)
        .with("sleeps@1", sleeps)
        .with("never@1", never)
        .with("works@1", works)
        .with("debate@998", lessons::teach)
        .with("debate@999", works)
        .with("twice@1", twice)
        .with("parent@1", parent)
}

pub fn with_workflows() -> Setting {
    Setting { workflows: workflows(), ..Setting::default() }
}

impl Node {
    /// Starts a run with this body as `agent-a`.
    pub async fn started(&self, body: Value) -> Value {
        let answer = self.post("agent-a", "/v1/runs", body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    }

    /// Starts a run of a workflow; returns its id.
    pub async fn starts(&self, workflow: &str, input: Value) -> String {
        id(&self.started(json!({"workflow": workflow, "input": input})).await)
    }

    /// Starts a run that `agent-a` executes; returns its id.
    pub async fn starts_own(&self) -> String {
        id(&self.started(json!({"title": "by hand"})).await)
    }

    /// One of the verbs of a run.
    pub async fn to_run(&self, who: &str, run: &str, verb: &str, body: Value) -> Answer {
        self.post(who, &format!("/v1/runs/{run}/{verb}"), body).await
    }

    /// A run, as `vera` sees it.
    pub async fn run(&self, run: &str) -> Value {
        let answer = self.get("vera", &format!("/v1/runs/{run}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// The run, once it is so far.
    pub async fn until(&self, run: &str, so_far: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..1000 {
            let shown = self.run(run).await;
            if so_far(&shown) {
                return shown;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it never came so far: {}", self.run(run).await)
    }

    /// The run, once it has this status.
    pub async fn until_is(&self, run: &str, status: &str) -> Value {
        self.until(run, |shown| shown["status"] == status).await
    }

    /// The gate that the run waits at, once it is parked there.
    pub async fn gate_of(&self, run: &str) -> String {
        let parked =
            self.until(run, |run| run["status"] == "parked" && run["waiting_at"]["gates"][0].is_string()).await;
        parked["waiting_at"]["gates"][0].as_str().unwrap().to_owned()
    }

    /// Records a step as `agent-a`.
    pub async fn records(&self, run: &str, body: Value) -> Answer {
        self.to_run("agent-a", run, "steps", body).await
    }

    pub async fn journal_of(&self, run: &str) -> Vec<Value> {
        let answer = self.get("vera", &format!("/v1/runs/{run}/journal")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["entries"].as_array().unwrap().clone()
    }
}

/// What a line of a journal says in short.
fn lines(journal: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |entry: &Value| {
        let words = [text(&entry["key"]), text(&entry["kind"]), text(&entry["state"]), text(&entry["outcome"])];
        words.join(" ").trim_end().to_owned()
    };
    journal.iter().map(line).collect()
}
