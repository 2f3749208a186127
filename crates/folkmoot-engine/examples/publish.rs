//! A workflow of one's own, with a step, a question, a gate and a record:
//! `cargo run -p folkmoot-engine --example publish`. End it whenever you like and start it again:
//! it goes on where it was.

use std::time::Duration;

use folkmoot_engine::{
    Ctx, Engine, EngineSettings, Failure, GateSpec, Principal, QuestionSpec, Role, RunQuery, Workflows,
    core::{
        NewRecord, RecordQuery,
        gate::{Choice, Review},
        question::{Close, QuestionType, Reply},
        record::{RecordOrder, View},
    },
};
use serde_json::json;

/// What people query with SQL: `SELECT * FROM notices`.
const VIEWS: &[View] = &[View {
    name: "notices",
    sql: "SELECT run_id, fields ->> 'place' AS place, created_at FROM record_fields WHERE collection = 'notices'",
}];

async fn publish(ctx: Ctx, topic: String) -> Result<String, Failure> {
    let draft = ctx.step("draft", move || write(topic.clone())).await?;
    let ask = QuestionSpec::new(QuestionType::Blocking, "Where is it published?").options(["wall", "door"]);
    let place: String = ctx.ask("place", ask).await?.get()?;
    let decided = ctx.gate("publish", GateSpec::new(format!("On the {place}? {draft}"))).await?;
    if !decided.may_proceed() {
        return Err(Failure::new("withdrawn", decided.decision.reason));
    }
    let notice = NewRecord::new("notices", &json!({ "place": place, "text": draft }))?.texts(&["text"]);
    let print = move || std::future::ready(Ok(format!("On the {place} it says: {draft}")));
    let printed = ctx.step("print", print).once().await?;
    ctx.keep("notice", "publish.printed", &json!({}), vec![notice]).await?;
    Ok(printed)
}

async fn write(topic: String) -> Result<String, Failure> {
    println!("(writing about {topic}: once, however often you end this program)");
    Ok(format!("All that anybody needs to know about {topic}."))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workflows = Workflows::new().with("publish@1", publish).with_views(VIEWS);
    let settings = EngineSettings { workflows, ..EngineSettings::default() };
    let engine = Engine::on_file(std::env::temp_dir().join("folkmoot-publish.db"), settings).await?;
    let you = Principal::new("you".parse()?, Role::Reviewer);
    let last = engine.runs(&you, RunQuery { limit: 1, ..RunQuery::default() }).await?.items.pop();
    let mut run = match last.filter(|run| run.ending().is_none()) {
        Some(run) => run,
        None => engine.start_workflow(Principal::new("author".parse()?, Role::Agent), "publish@1", &"moots").await?,
    };
    while run.ending().is_none() {
        let waiting = engine.waiting_at(&run).await?;
        for question in waiting.questions {
            let close = Close::Answer(typed(&question.options.join(" or "))?.into());
            let reply = Reply { question: question.id, close, reason: String::new() };
            engine.close_question(you.clone().into(), reply).await?;
        }
        for gate in waiting.gates {
            let choice = if typed("publish? y or n")? == "y" { Choice::Approve } else { Choice::Reject };
            engine.decide(you.clone().into(), Review::on(&gate, choice, "typed")).await?;
        }
        run = engine.wait_for_end(&you, &run.start.id, Duration::from_millis(100)).await?;
    }
    println!("{}: {}", run.status(), engine.output(&run).await?.unwrap_or_default());
    let (collection, order) = ("notices".to_owned(), RecordOrder::Newest);
    let newest = RecordQuery { collection, order, limit: 5, ..RecordQuery::default() };
    for notice in engine.records(&you, newest).await? {
        println!("{} on the {}: {}", notice.record.at, notice.record.fields["place"], notice.texts["text"]);
    }
    engine.close().await;
    Ok(())
}

fn typed(question: &str) -> Result<String, std::io::Error> {
    println!("{question}");
    Ok(std::io::stdin().lines().next().transpose()?.unwrap_or_default())
}
