//! Agents score the answers of others against what was asked.

use folkmoot_engine::{Ctx, Failure};

use super::{
    super::{
        DebateContext, PhaseAttempt,
        parts::ReviewPart,
        state::{AnswerScore, DebateState},
        turn::share,
    },
    PhaseReport, count,
};

impl DebateContext {
    pub(in super::super) async fn review(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        state: &mut DebateState,
    ) -> Result<PhaseReport, Failure> {
        state.scores.clear();
        let part = |answers| ReviewPart { answers };
        let judged = self.judge(ctx, at, state, part, |state, turn, authors| {
            let scores = turn.answer.into_iter().flat_map(|answer| answer.scores);
            state.scores.extend(scores.filter_map(|scored| {
                Some(AnswerScore {
                    reviewer: turn.agent.clone(),
                    author: authors.get(scored.answer.checked_sub(1)?)?.clone(),
                    score: share(scored.score)?,
                    reason: scored.reason,
                })
            }));
        });
        let (messages, min_responses) = judged.await?;
        let scores = count(state.scores.len());
        let report = self.optional_phase(at, min_responses, format!("{scores} scores"), state);
        Ok(PhaseReport { messages, insights: scores, ..report })
    }
}
