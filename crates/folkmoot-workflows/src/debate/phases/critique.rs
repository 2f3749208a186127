//! Answers are attacked with facts. Whose they are is hidden, and everybody reads them in another
//! order.

use std::collections::{BTreeSet, VecDeque};

use folkmoot_core::{
    Name,
    debate::{NoteKind, TurnPart},
};
use folkmoot_engine::{Ctx, Failure};
use serde_json::{Value, json};

use super::{
    super::{
        forms,
        room::{At, Room, TurnRequest},
        state::{DebateState, Point},
    },
    PhaseReport, authors, meant, no_rule, numbered, texts,
};

impl Room {
    pub(in super::super) async fn critique(
        &self,
        ctx: &Ctx,
        at: At,
        state: &mut DebateState,
    ) -> Result<PhaseReport, Failure> {
        let (groups, min_responses) = self.speakers(at, state);
        self.begin(ctx, at, &groups, state).await?;
        let (mut messages, mut points) = (0, 0);
        // What was said of answers that have changed since is no more.
        state.points.clear();
        let mut asked: BTreeSet<Name> = groups.iter().flatten().cloned().collect();
        let (mut groups, mut number) = (VecDeque::from(groups), 0);
        while let Some(group) = groups.pop_front() {
            number += 1;
            let known: &DebateState = state;
            let run = ctx.run_id().to_string();
            let spoken = ctx.join(at.key(&format!("group/{number}")), group, |ctx, id| {
                let run = run.clone();
                async move {
                    let agent = self.agent(&id)?;
                    let shown = known.read_by(agent, &run, at.round);
                    if shown.is_empty() {
                        return Ok(None);
                    }
                    let mut notes = known.notes_for(TurnPart::Critique);
                    notes.extend(known.results(&shown));
                    // Groups come one after another, so that the later need not repeat the earlier.
                    notes.extend(known.points.iter().map(|point| (NoteKind::Point, point.text.clone())));
                    let asking = TurnRequest {
                        at,
                        key: "turn".to_owned(),
                        agent,
                        part: TurnPart::Critique,
                        notes,
                        answers: texts(&shown),
                        schema: forms::critique(shown.len()),
                        given: json!({ "answers": numbered(&shown) }),
                        attempt: at.again,
                        rule: &no_rule,
                        results: Value::Null,
                        metadata: json!({ "shown": authors(&shown) }),
                    };
                    let spoken = self.speak(&ctx, asking).await?;
                    Ok(Some((spoken, authors(&shown), known.hops(&id, shown.iter().copied()))))
                }
            });
            for (spoken, shown, hops) in spoken.await?.into_iter().flatten() {
                messages += hops;
                self.hear(ctx, at, std::slice::from_ref(&spoken), state).await?;
                for point in spoken.answered().and_then(|value| value["points"].as_array()).into_iter().flatten() {
                    if let Some(read) = read(&shown, point) {
                        points += 1;
                        state.points.push(read);
                    }
                }
            }
            if groups.is_empty() {
                groups.extend(self.instead(at, min_responses, &mut asked, state));
            }
        }
        let said = self.helps(at, min_responses, format!("{points} points against the answers"), state);
        Ok(PhaseReport { messages, insights: points, ..said })
    }
}

fn read(shown: &[Name], point: &Value) -> Option<Point> {
    let author = meant(shown, &point["answer"])?.clone();
    let (text, evidence) = (point["point"].as_str()?, point["evidence"].as_str().unwrap_or_default());
    let text = if evidence.is_empty() { format!("{text} (unchecked)") } else { format!("{text} ({evidence})") };
    Some(Point { author, text })
}
