//! Agents test their own answers before anybody sees them: write, execute, reflect, repair, execute
//! again.

use folkmoot_core::Name;
use folkmoot_debate::{
    DebateEvent, NoteKind, TurnPart, TurnState,
    agent::Share,
    memory::{Episode, Reflection},
};
use folkmoot_engine::{Ctx, Failure};
use serde_json::json;

use super::{
    super::{
        DebateContext, PhaseAttempt,
        evidence::{self, FailedCandidate},
        parts::ProposalPart,
        state::{Candidate, DebateState},
        tell,
        turn::{TurnRequest, TurnResult},
    },
    PhaseReport, candidate, count,
};

/// The result of one agent's work on its own answer.
pub(super) struct EvolvedAnswer {
    pub turns: Vec<TurnResult<()>>,
    pub candidate: Option<Candidate>,
    /// All versions that it tried, each with the share of its own tests that passed.
    pub tried: Vec<(Candidate, Option<Share>)>,
    pub episodes: Vec<Episode>,
    /// Whether the last version passed all its tests.
    pub passed: bool,
}

impl DebateContext {
    pub(in super::super) async fn self_evolvement(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        state: &mut DebateState,
    ) -> Result<PhaseReport, Failure> {
        let Some(language) = self.config.language else {
            self.begin(ctx, at, &[], state).await?;
            return Ok(PhaseReport::note("there is no code to execute".to_owned()));
        };
        let groups = self.answerers(at, state);
        self.begin(ctx, at, &groups, state).await?;
        let (mut passed, mut asked) = (0, 0);
        for (number, group) in groups.iter().enumerate() {
            let known: &DebateState = state;
            let evolved = ctx.join(at.key(&format!("group/{}", number + 1)), group.clone(), |ctx, id| async move {
                self.evolve(&ctx, at, &id, known, language.word()).await
            });
            for evolved in evolved.await? {
                asked += 1;
                for turn in &evolved.turns {
                    self.add_turn(ctx, at, turn, state).await?;
                }
                passed += u32::from(evolved.passed);
                for episode in evolved.episodes {
                    state.memory.remember(episode);
                }
                for (tried, rate) in &evolved.tried {
                    self.keep_version(ctx, at, tried, *rate, state).await?;
                }
                if let Some(candidate) = evolved.candidate {
                    state.candidates.insert(candidate.author.clone(), candidate);
                }
            }
        }
        let note = format!("{passed} of {asked} agents' code passes their own tests");
        Ok(PhaseReport { insights: passed, ..self.optional_phase(at, 1, note, state) })
    }

    async fn evolve(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        id: &Name,
        state: &DebateState,
        language: &str,
    ) -> Result<EvolvedAnswer, Failure> {
        let agent = self.agent(id)?;
        let mut evolved = EvolvedAnswer {
            turns: Vec::new(),
            candidate: None,
            tried: Vec::new(),
            episodes: Vec::new(),
            passed: false,
        };
        let mut reflections: Vec<Reflection> = Vec::new();
        for attempt in 0..=self.config.self_evolvement_iterations {
            let part = if attempt == 0 { TurnPart::Draft } else { TurnPart::Refine };
            let mut notes = state.notes_for(part);
            if let Some(own) = &evolved.candidate {
                notes.push((NoteKind::Own, own.text.clone()));
            }
            notes.extend(evidence::shown(&reflections, self.config.reflections_max));
            let request = TurnRequest {
                notes,
                given: json!({ "language": language, "code": evolved.candidate.as_ref().and_then(|own| own.code.clone()) }),
                attempt,
                metadata: json!({ "attempt": attempt + 1, "lessons": lessons(state) }),
                ..TurnRequest::new(at, format!("{part}/{attempt}"), agent)
            };
            let turn = self.ask(ctx, ProposalPart { part, is_code: true, change_rule: None }, request).await?;
            let draft = candidate(&turn);
            let failed = turn.state == TurnState::Failed;
            evolved.turns.push(turn.map(drop));
            let Some(draft) = draft else {
                if failed {
                    break;
                }
                continue;
            };
            let run = self.test(ctx, &format!("tests/{attempt}"), &draft, &draft.author, &draft.tests).await?;
            evolved.candidate = Some(draft.clone());
            let rate = run.as_ref().and_then(|run| evidence::results(&[run]).pass_rate());
            evolved.tried.push((draft.clone(), rate));
            let Some(run) = run else { break };
            let results = evidence::results(&[&run]);
            let told = DebateEvent::Tested {
                author: id.clone(),
                phase: at.phase,
                passed: results.passed,
                of: count(run.tested.len()),
                failed: results.failures.iter().map(|failure| failure.test.clone()).collect(),
            };
            tell(ctx, &format!("tested/{attempt}"), told).await?;
            if let Some(last) = evolved.episodes.last_mut() {
                last.next = Some(results.clone());
            }
            // Without tests nothing has passed.
            evolved.passed = results.all_passed();
            if results.failures.is_empty() || attempt == self.config.self_evolvement_iterations {
                break;
            }
            let key = format!("reflect/{attempt}");
            let failed = FailedCandidate { agent, failed: &draft, results: &results, number: attempt + 1 };
            let turn = self.reflect(ctx, at, &key, failed, &reflections).await?;
            if let Some(reflection) = &turn.answer {
                evolved.episodes.push(self.episode(ctx, &turn.id, failed, reflection, state.began));
                reflections.push(reflection.clone());
            }
            evolved.turns.push(turn.map(drop));
        }
        Ok(evolved)
    }
}

pub(super) fn lessons(state: &DebateState) -> Vec<String> {
    state.lessons.iter().map(|lesson| lesson.id.clone()).collect()
}
