//! Agents test their own answers before anybody sees them: generate, execute, reflect, mend,
//! execute again.

use folkmoot_core::{
    Name,
    agent::Share,
    debate::{
        DebateEvent, NoteKind, TurnPart, TurnState,
        memory::{Episode, Reflection},
    },
};
use folkmoot_engine::{Ctx, Failure};
use serde_json::{Value, json};

use super::{
    super::{
        evidence::{self, FailedCandidate},
        forms,
        room::{At, Room, TurnRequest, TurnResult},
        state::{Candidate, DebateState},
        tell,
    },
    PhaseReport, candidate, no_rule,
};

/// What came of one agent's work on its own answer.
pub(super) struct EvolvedAnswer {
    pub turns: Vec<TurnResult>,
    pub candidate: Option<Candidate>,
    /// All that it tried, with how much of its own tests each passed.
    pub tried: Vec<(Candidate, Option<Share>)>,
    pub episodes: Vec<Episode>,
    /// Whether the last version passed all its tests.
    pub passed: bool,
}

impl Room {
    pub(in super::super) async fn self_evolvement(
        &self,
        ctx: &Ctx,
        at: At,
        state: &mut DebateState,
    ) -> Result<PhaseReport, Failure> {
        let Some(language) = self.debating.language else {
            self.begin(ctx, at, &[], state).await?;
            return Ok(PhaseReport::said("there is no code to execute".to_owned()));
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
                self.hear(ctx, at, &evolved.turns, state).await?;
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
        Ok(PhaseReport { insights: passed, ..self.helps(at, 1, note, state) })
    }

    async fn evolve(
        &self,
        ctx: &Ctx,
        at: At,
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
        for attempt in 0..=self.debating.self_evolvement_iterations {
            let part = if attempt == 0 { TurnPart::Draft } else { TurnPart::Refine };
            let mut notes = state.notes_for(part);
            if let Some(own) = &evolved.candidate {
                notes.push((NoteKind::Own, own.text.clone()));
            }
            notes.extend(evidence::shown(&reflections, self.debating.reflections_max));
            let asking = TurnRequest {
                at,
                key: format!("{part}/{attempt}"),
                agent,
                part,
                notes,
                answers: Vec::new(),
                schema: forms::answer(true, false),
                given: json!({ "language": language, "code": evolved.candidate.as_ref().and_then(|own| own.code.clone()) }),
                attempt,
                rule: &no_rule,
                results: Value::Null,
                metadata: json!({ "attempt": attempt + 1, "lessons": lessons(state) }),
            };
            let spoken = self.speak(ctx, asking).await?;
            evolved.turns.push(spoken.clone());
            let Some(draft) = candidate(&spoken) else {
                if spoken.state == TurnState::Failed {
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
            // No tests is no pass.
            evolved.passed = results.all_passed();
            if results.failures.is_empty() || attempt == self.debating.self_evolvement_iterations {
                break;
            }
            let key = format!("reflect/{attempt}");
            let failed = FailedCandidate { agent, failed: &draft, results: &results, number: attempt + 1 };
            let (spoken, reflection) = self.reflect(ctx, at, &key, failed, &reflections).await?;
            if let Some(reflection) = reflection {
                evolved.episodes.push(self.episode(ctx, &spoken, failed, &reflection, state.began));
                reflections.push(reflection);
            }
            evolved.turns.push(spoken);
        }
        Ok(evolved)
    }
}

pub(super) fn lessons(state: &DebateState) -> Vec<String> {
    state.lessons.iter().map(|lesson| lesson.id.clone()).collect()
}

pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
