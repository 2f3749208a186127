//! Agents write answers: at first without seeing other answers, except in a chain, where each
//! builds on the one before. Later they change an answer only for new evidence.

use folkmoot_core::Name;
use folkmoot_debate::{NoteKind, TurnPart, planning::Style, topology::Topology};
use folkmoot_engine::{Ctx, Failure};
use serde_json::json;

use super::{
    super::{
        DebateContext, PhaseAttempt,
        parts::{ChangeRule, PlanPart, ProposalAnswer, ProposalPart},
        state::DebateState,
        turn::{TurnRequest, TurnResult},
    },
    PhaseReport, authors, candidate, count,
    self_evolvement::lessons,
};

impl DebateContext {
    pub(in super::super) async fn proposal(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        state: &mut DebateState,
    ) -> Result<PhaseReport, Failure> {
        self.begin(ctx, at, &self.answerers(at, state), state).await?;
        if state.style.style == Style::Cpde && !state.notes.iter().any(|(note, _)| *note == NoteKind::Plan) {
            self.plan(ctx, at, state).await?;
        }
        // Chosen again, because a planner that failed is no longer in the network.
        let groups = self.answerers(at, state);
        let mut messages = 0;
        for (number, group) in groups.iter().enumerate() {
            let known: &DebateState = state;
            let turns = ctx.join(at.key(&format!("group/{}", number + 1)), group.clone(), |ctx, id| async move {
                self.propose(&ctx, at, &id, known).await
            });
            let turns = turns.await?;
            for turn in &turns {
                self.add_turn(ctx, at, turn, state).await?;
            }
            for turn in &turns {
                messages += u32::try_from(state.network.messages(at.phase)).unwrap_or(u32::MAX)
                    / u32::try_from(groups.len()).unwrap_or(1).max(1);
                if let Some(candidate) = candidate(turn) {
                    state.candidates.insert(candidate.author.clone(), candidate);
                }
            }
        }
        // Counts candidates, because a plan is not an answer.
        let answered = state.candidates.len();
        let too_few =
            (answered == 0).then(|| self.too_few(at, 1, state).unwrap_or_else(|| "nobody answered".to_owned()));
        if too_few.is_none() {
            self.cross_test(ctx, at, "cross", state).await?;
            self.keep_versions(ctx, at, state).await?;
        }
        Ok(PhaseReport {
            too_few,
            messages,
            insights: count(answered),
            ..PhaseReport::note(format!("{answered} answers"))
        })
    }

    async fn propose(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        id: &Name,
        state: &DebateState,
    ) -> Result<TurnResult<ProposalAnswer>, Failure> {
        let agent = self.agent(id)?;
        let own = state.candidates.get(id);
        let revises = at.round > 1 && own.is_some();
        let part = if revises { TurnPart::Revise } else { TurnPart::Proposal };
        let mut notes = state.notes_for(part);
        if let Some(own) = own {
            notes.push((NoteKind::Own, own.text.clone()));
            notes.extend(state.results(&[own]));
            notes.extend(
                state
                    .points
                    .iter()
                    .filter(|point| point.author == *id)
                    .map(|point| (NoteKind::Point, point.text.clone())),
            );
        }
        let evidence = labels(&notes);
        // In a chain each agent builds on the answer before. In other topologies nobody sees
        // another answer before giving their own.
        let heard = match state.network.topology() {
            Topology::Chain => state.network.hears(id),
            Topology::GraphMesh | Topology::Star | Topology::Tree => Default::default(),
        };
        let shown: Vec<_> =
            state.candidates.values().filter(|other| heard.contains(&other.author) && other.author != *id).collect();
        let change_rule = own.filter(|_| revises).map(|earlier| ChangeRule { earlier, evidence: &evidence });
        let request = TurnRequest {
            notes,
            given: json!({
                "language": self.config.language, "code": own.and_then(|own| own.code.clone()), "evidence": evidence,
            }),
            attempt: at.round - 1 + at.again,
            metadata: json!({ "lessons": lessons(state), "shown": authors(&shown) }),
            shown,
            ..TurnRequest::new(at, "turn", agent)
        };
        self.ask(ctx, ProposalPart { part, is_code: self.config.language.is_some(), change_rule }, request).await
    }

    /// Asks one agent to plan for all.
    async fn plan(&self, ctx: &Ctx, at: PhaseAttempt, state: &mut DebateState) -> Result<(), Failure> {
        let leader = |state: &DebateState| Some(state.network.leader(at.phase).clone());
        let ask = |request, state: &DebateState| {
            (PlanPart, TurnRequest { notes: state.notes_for(TurnPart::Plan), ..request })
        };
        let turn = self.ask_or_next(ctx, at, "plan", leader, ask, state).await?;
        // Without a plan every agent plans its own part. The record says that there is none.
        if let Some(Ok(plan)) = turn.and_then(|turn| turn.answer).map(|answer| answer.tasks()) {
            let lines = plan.tasks().iter().enumerate().map(|(at, task)| format!("{}. {}", at + 1, task.title));
            state.notes.push((NoteKind::Plan, lines.collect::<Vec<_>>().join("\n")));
        }
        // The turn of the planner is not an answer.
        state.in_phase.clear();
        Ok(())
    }
}

/// What can be named as evidence, as the prompt labels it.
pub(super) fn labels(notes: &[(NoteKind, String)]) -> Vec<String> {
    let counts =
        |note: &NoteKind| matches!(note, NoteKind::Result | NoteKind::Point | NoteKind::Finding | NoteKind::Guidance);
    let label = |(at, (note, _)): (usize, &(NoteKind, String))| counts(note).then(|| format!("{note} {}", at + 1));
    notes.iter().enumerate().filter_map(label).collect()
}
