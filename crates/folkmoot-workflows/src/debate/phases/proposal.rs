//! Answers are made. The first time blindly, but for a chain, where each builds on the one before;
//! later only for new evidence.

use folkmoot_core::{
    Name,
    debate::{
        NoteKind, TurnPart,
        planning::{PlannedTask, Style, TaskPlan},
    },
};
use folkmoot_engine::{Ctx, Failure};
use serde_json::{Value, json};

use super::{
    super::{
        forms,
        room::{At, Room, TurnRequest, TurnResult},
        state::DebateState,
    },
    PhaseReport, candidate,
    self_evolvement::lessons,
};

impl Room {
    pub(in super::super) async fn proposal(
        &self,
        ctx: &Ctx,
        at: At,
        state: &mut DebateState,
    ) -> Result<PhaseReport, Failure> {
        self.begin(ctx, at, &self.answerers(at, state), state).await?;
        if state.style.style == Style::Cpde && !state.notes.iter().any(|(note, _)| *note == NoteKind::Plan) {
            self.plan(ctx, at, state).await?;
        }
        // Whoever was to plan and gave no answer is not asked again.
        let groups = self.answerers(at, state);
        let mut messages = 0;
        for (number, group) in groups.iter().enumerate() {
            let known: &DebateState = state;
            let spoken = ctx.join(at.key(&format!("group/{}", number + 1)), group.clone(), |ctx, id| async move {
                self.propose(&ctx, at, &id, known).await
            });
            let spoken = spoken.await?;
            self.hear(ctx, at, &spoken, state).await?;
            for one in &spoken {
                messages += u32::try_from(state.network.messages(at.phase)).unwrap_or(u32::MAX)
                    / u32::try_from(groups.len()).unwrap_or(1).max(1);
                if let Some(candidate) = candidate(one) {
                    state.candidates.insert(candidate.author.clone(), candidate);
                }
            }
        }
        // Whoever planned has not answered.
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
            insights: u32::try_from(answered).unwrap_or(u32::MAX),
            ..PhaseReport::said(format!("{answered} answers"))
        })
    }

    async fn propose(&self, ctx: &Ctx, at: At, id: &Name, state: &DebateState) -> Result<TurnResult, Failure> {
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
        // In a chain each builds on the one before; anywhere else nobody sees another answer before
        // their own is given.
        let before: Vec<_> = match state.network.topology() {
            folkmoot_core::debate::topology::Topology::Chain => {
                let heard = state.network.hears(id);
                state.candidates.values().filter(|other| heard.contains(&other.author) && other.author != *id).collect()
            }
            _ => Vec::new(),
        };
        let unchanged = own.map(|own| (own.code.clone(), own.position.clone()));
        let rule = |value: &Value| {
            let Some((code, position)) = unchanged.as_ref().filter(|_| revises) else { return Ok(()) };
            let same = match code {
                Some(code) => value["code"].as_str().is_some_and(|new| new.trim() == code.trim()),
                None => value["position"]
                    .as_str()
                    .is_some_and(|new| folkmoot_core::debate::consensus::same_answer(new, position)),
            };
            let named = value["evidence"].as_str().unwrap_or_default().trim();
            match same || evidence.iter().any(|label| label == named) {
                true => Ok(()),
                false => {
                    Err("it changes its answer and names no evidence that it was shown; the earlier answer stands"
                        .to_owned())
                }
            }
        };
        let asking = TurnRequest {
            at,
            key: "turn".to_owned(),
            agent,
            part,
            notes,
            answers: super::texts(&before),
            schema: forms::answer(self.debating.language.is_some(), revises),
            given: json!({
                "language": self.debating.language, "code": own.and_then(|own| own.code.clone()), "evidence": evidence,
            }),
            attempt: at.round - 1 + at.again,
            rule: &rule,
            results: Value::Null,
            metadata: json!({ "lessons": lessons(state), "shown": super::authors(&before) }),
        };
        self.speak(ctx, asking).await
    }

    /// One plans for all.
    async fn plan(&self, ctx: &Ctx, at: At, state: &mut DebateState) -> Result<(), Failure> {
        let leader = |state: &DebateState| Some(state.network.leader(at.phase).clone());
        let asking = |agent, state: &DebateState| TurnRequest {
            at,
            key: String::new(),
            agent,
            part: TurnPart::Plan,
            notes: state.notes_for(TurnPart::Plan),
            answers: Vec::new(),
            schema: forms::plan(),
            given: Value::Null,
            attempt: 0,
            rule: &is_plan,
            results: Value::Null,
            metadata: Value::Null,
        };
        let spoken = self.speak_or_next(ctx, "plan", leader, asking, state).await?;
        // Without a plan everybody plans their own part; that it failed is in the record.
        if let Some(Ok(plan)) = spoken.as_ref().and_then(TurnResult::answered).map(tasks) {
            let lines = plan.tasks().iter().enumerate().map(|(at, task)| format!("{}. {}", at + 1, task.title));
            state.notes.push((NoteKind::Plan, lines.collect::<Vec<_>>().join("\n")));
        }
        // Whoever plans has not answered yet.
        state.in_phase.clear();
        Ok(())
    }
}

fn is_plan(value: &Value) -> Result<(), String> {
    tasks(value).map(drop)
}

fn tasks(value: &Value) -> Result<TaskPlan, String> {
    let tasks: Vec<PlannedTask> = serde_json::from_value(value["tasks"].clone()).map_err(|error| error.to_string())?;
    TaskPlan::of(tasks).map_err(|error| error.to_string())
}

/// What can be named as evidence, as the prompt labels it.
pub(super) fn labels(notes: &[(NoteKind, String)]) -> Vec<String> {
    let counts =
        |note: &NoteKind| matches!(note, NoteKind::Result | NoteKind::Point | NoteKind::Finding | NoteKind::Guidance);
    let label = |(at, (note, _)): (usize, &(NoteKind, String))| counts(note).then(|| format!("{note} {}", at + 1));
    notes.iter().enumerate().filter_map(label).collect()
}
