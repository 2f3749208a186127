//! Answers are judged against what was asked.

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
        room::{At, Room, TurnRequest, share},
        state::{AnswerScore, DebateState},
    },
    PhaseReport, authors, meant, numbered, texts,
};

impl Room {
    pub(in super::super) async fn review(
        &self,
        ctx: &Ctx,
        at: At,
        state: &mut DebateState,
    ) -> Result<PhaseReport, Failure> {
        let (groups, min_responses) = self.speakers(at, state);
        self.begin(ctx, at, &groups, state).await?;
        let mut messages = 0;
        state.scores.clear();
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
                    let mut notes = known.notes_for(TurnPart::Review);
                    notes.extend(known.results(&shown));
                    notes.extend(known.points.iter().map(|point| (NoteKind::Point, point.text.clone())));
                    let asking = TurnRequest {
                        at,
                        key: "turn".to_owned(),
                        agent,
                        part: TurnPart::Review,
                        notes,
                        answers: texts(&shown),
                        schema: forms::review(shown.len()),
                        given: json!({ "answers": numbered(&shown) }),
                        attempt: at.again,
                        rule: &once_each,
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
                let scores = spoken.answered().and_then(|value| value["scores"].as_array()).into_iter().flatten();
                state.scores.extend(scores.filter_map(|scored| {
                    Some(AnswerScore {
                        reviewer: spoken.agent.clone(),
                        author: meant(&shown, &scored["answer"])?.clone(),
                        score: share(&scored["score"])?,
                        reason: scored["reason"].as_str().unwrap_or_default().to_owned(),
                    })
                }));
            }
            if groups.is_empty() {
                groups.extend(self.instead(at, min_responses, &mut asked, state));
            }
        }
        let scores = u32::try_from(state.scores.len()).unwrap_or(u32::MAX);
        let said = self.helps(at, min_responses, format!("{scores} scores"), state);
        Ok(PhaseReport { messages, insights: scores, ..said })
    }
}

/// A mean counts every score: whoever scored one answer twice would count twice.
fn once_each(value: &Value) -> Result<(), String> {
    let scored: Vec<&Value> =
        value["scores"].as_array().into_iter().flatten().map(|scored| &scored["answer"]).collect();
    match scored.iter().enumerate().find(|(at, answer)| scored[..*at].contains(answer)) {
        Some((_, answer)) => Err(format!("it scores answer {answer} twice")),
        None => Ok(()),
    }
}
