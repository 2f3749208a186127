//! A debate as server-sent events: what the log has of it, from its beginning or from where
//! somebody left. The last frame is always `debate.ended`, with the debate as it is then.

use axum::response::sse;
use folkmoot_api::wire;
use folkmoot_core::Event;
use folkmoot_debate::DebateEvent;
use folkmoot_engine::Error;
use folkmoot_workflows::debate::records;
use serde_json::{Value, json};

use super::held;
use crate::run_frames::{RunFollower, RunFrames};

/// What happens in a debate. Its steps are its journal's to tell.
const SHOWN: [&str; 4] = ["debate.", "gate.", "question.", "run."];
/// How much of what was said is shown to whoever watches.
const BEGINS_CHARS: usize = 200;
/// The last frame.
const ENDED: &str = "debate.ended";

/// The frames of a debate.
pub(crate) struct DebateRunFrames;

impl RunFrames for DebateRunFrames {
    async fn tell(run: &mut RunFollower, event: &Event) -> Result<(), Error> {
        if SHOWN.iter().any(|front| event.fact.kind.starts_with(front)) {
            let frame = frame(run, event).await?;
            run.ready.push_back(frame);
        }
        Ok(())
    }

    async fn end(run: &mut RunFollower) -> Result<(), Error> {
        let debate = held(&run.app, &run.who.principal, &run.id).await?;
        let told = serde_json::to_string(&debate.on_the_wire()).unwrap_or_default();
        run.ready.push_back(sse::Event::default().event(ENDED).id(run.position.to_string()).data(told));
        run.ended = true;
        Ok(())
    }

    fn fail(run: &mut RunFollower, error: &Error) {
        tracing::warn!("the events of debate {} end early: {error}", run.id);
    }
}

/// An event, and what was said in the turn that it tells of, unless that was erased: for who
/// watches.
async fn frame(run: &RunFollower, event: &Event) -> Result<sse::Event, Error> {
    let mut told = wire::Event::new(event);
    let turn = match DebateEvent::read(&event.fact.kind, &event.fact.payload) {
        Some(DebateEvent::Turn { turn, .. } | DebateEvent::Reflected { turn, .. }) => {
            records::turn(&run.app.engine, &run.who.principal, &run.id, &turn).await?
        }
        _ => None,
    };
    if let Some(turn) = turn
        && let Ok(mut payload) = serde_json::from_str::<Value>(told.payload.get())
    {
        let begins = turn.content.map(|content| content.chars().take(BEGINS_CHARS).collect::<String>());
        payload["begins"] = json!(begins);
        if let Some(reflections) = turn.reflections.filter(Value::is_object) {
            payload["reflection"] = reflections;
        }
        if let Ok(whole) = serde_json::value::to_raw_value(&payload) {
            told.payload = whole.into();
        }
    }
    let data = serde_json::to_string(&told).unwrap_or_default();
    Ok(sse::Event::default().event(event.fact.kind.as_ref()).id(event.position.to_string()).data(data))
}
