//! Agents say what is wrong with the answers of others. Authors are hidden, and every agent reads
//! the answers in another order.

use folkmoot_engine::{Ctx, Failure};

use super::{
    super::{
        DebateContext, PhaseAttempt,
        parts::CritiquePart,
        state::{DebateState, Point},
    },
    PhaseReport, count,
};

impl DebateContext {
    pub(in super::super) async fn critique(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        state: &mut DebateState,
    ) -> Result<PhaseReport, Failure> {
        // The answers that earlier points are about have changed since.
        state.points.clear();
        let part = |answers| CritiquePart { answers };
        let judged = self.judge(ctx, at, state, part, |state, turn, authors| {
            let points = turn.answer.into_iter().flat_map(|answer| answer.points);
            state.points.extend(points.filter_map(|point| {
                let evidence = if point.evidence.is_empty() { "unchecked" } else { &point.evidence };
                let text = format!("{} ({evidence})", point.point);
                Some(Point { author: authors.get(point.answer.checked_sub(1)?)?.clone(), text })
            }));
        });
        let (messages, min_responses) = judged.await?;
        let points = count(state.points.len());
        let report = self.optional_phase(at, min_responses, format!("{points} points against the answers"), state);
        Ok(PhaseReport { messages, insights: points, ..report })
    }
}
