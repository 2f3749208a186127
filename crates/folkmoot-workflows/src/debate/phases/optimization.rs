//! Agents improve the best answer. An improvement that fails more tests is not taken.

use std::collections::{BTreeSet, VecDeque};

use folkmoot_core::Name;
use folkmoot_debate::{Agent, DebateEvent, NoteKind, TurnPart, memory::Reflection};
use folkmoot_engine::{Ctx, Failure};
use folkmoot_tools::testing::{TestCase, TestRun};
use serde_json::json;

use super::{
    super::{
        DebateContext, PhaseAttempt,
        evidence::{self, FailedCandidate},
        parts::ProposalPart,
        state::{Candidate, DebateState},
        tell,
        turn::TurnRequest,
    },
    PhaseReport, candidate, count,
    self_evolvement::lessons,
};

impl DebateContext {
    pub(in super::super) async fn optimization(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        state: &mut DebateState,
    ) -> Result<PhaseReport, Failure> {
        let (groups, min_responses) = self.speakers(at, state);
        self.begin(ctx, at, &groups, state).await?;
        let (mut taken, mut messages) = (0, 0);
        let mut speakers: VecDeque<Name> = groups.into_iter().flatten().collect();
        let mut asked: BTreeSet<Name> = speakers.iter().cloned().collect();
        while let Some(id) = speakers.pop_front() {
            // One after another, so that each builds on the result of the one before.
            let Some(best) = state.leading().cloned() else { break };
            messages += state.hops(&id, [&best]);
            taken += u32::from(self.improve(ctx, at, self.agent(&id)?, &best, state).await?);
            if speakers.is_empty() {
                speakers.extend(self.substitutes(at, min_responses, &mut asked, state).into_iter().flatten());
            }
        }
        self.keep_versions(ctx, at, state).await?;
        let told = match taken {
            1 => "1 improvement was taken".to_owned(),
            taken => format!("{taken} improvements were taken"),
        };
        let report = self.optional_phase(at, min_responses, told, state);
        Ok(PhaseReport { messages, insights: taken, ..report })
    }

    /// Tries, reflects and tries again. Returns whether the improvement was taken.
    async fn improve(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        agent: &Agent,
        best: &Candidate,
        state: &mut DebateState,
    ) -> Result<bool, Failure> {
        let suites = suites(state, &agent.id);
        let mut reflections: Vec<Reflection> = Vec::new();
        let mut own: Option<Candidate> = None;
        let mut episode: Option<String> = None;
        let attempts = if self.config.language.is_some() { self.config.reflexion_attempts } else { 1 };
        for attempt in 0..attempts {
            let mut notes = state.notes_for(TurnPart::Optimization);
            notes.push((NoteKind::Own, own.as_ref().unwrap_or(best).text.clone()));
            notes.extend(state.results(&[best]));
            let against = state.points.iter().filter(|point| point.author == best.author);
            notes.extend(against.map(|point| (NoteKind::Point, point.text.clone())));
            notes.extend(evidence::shown(&reflections, self.config.reflections_max));
            let key = at.key(&format!("{}/{attempt}", agent.id));
            let request = TurnRequest {
                notes,
                given: json!({ "language": self.config.language, "code": own.as_ref().unwrap_or(best).code }),
                attempt,
                metadata: json!({ "attempt": attempt + 1, "lessons": lessons(state), "of": best.author }),
                ..TurnRequest::new(at, key.clone(), agent)
            };
            let is_code = self.config.language.is_some();
            let part = ProposalPart { part: TurnPart::Optimization, is_code, change_rule: None };
            let turn = self.ask(ctx, part, request).await?;
            self.add_turn(ctx, at, &turn, state).await?;
            let Some(better) = candidate(&turn) else { return Ok(false) };
            own = Some(better.clone());
            let runs = self.test_all(ctx, &key, &better, &suites).await?;
            let results = evidence::results(&runs.iter().collect::<Vec<_>>());
            if self.config.language.is_some() {
                let told = DebateEvent::Tested {
                    author: agent.id.clone(),
                    phase: at.phase,
                    passed: results.passed,
                    of: results.passed + count(results.failures.len()),
                    failed: results.failures.iter().map(|failure| failure.test.clone()).collect(),
                };
                tell(ctx, &format!("{key}/tested"), told).await?;
            }
            if let Some(episode) = episode.take() {
                state.memory.followed_by(&episode, results.clone());
            }
            if results.failures.is_empty() {
                break;
            }
            if attempt + 1 == attempts {
                break;
            }
            let failed = FailedCandidate { agent, failed: &better, results: &results, number: attempt + 1 };
            let turn = self.reflect(ctx, at, &format!("{key}/reflect"), failed, &reflections).await?;
            self.add_turn(ctx, at, &turn, state).await?;
            if let Some(reflection) = &turn.answer {
                episode = Some(turn.id.clone());
                state.memory.remember(self.episode(ctx, &turn.id, failed, reflection, state.began));
                reflections.push(reflection.clone());
            }
        }
        match own {
            Some(own) => self.take(ctx, at, &format!("{}/cross", agent.id), best, own, state).await,
            None => Ok(false),
        }
    }

    /// Takes an answer in place of its author's last one, unless it fails more tests than the best
    /// one.
    pub(super) async fn take(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        key: &str,
        best: &Candidate,
        new: Candidate,
        state: &mut DebateState,
    ) -> Result<bool, Failure> {
        // Text cannot be tested. An improvement of the best answer replaces it, so that the next
        // agent builds on it and voters see it.
        let author = if self.config.language.is_none() { best.author.clone() } else { new.author.clone() };
        let new = Candidate { author: author.clone(), ..new };
        let before = state.candidates.insert(author.clone(), new);
        let known = state.cross.clone();
        self.cross_test(ctx, at, key, state).await?;
        // All tests count except those of the new answer's author. The tests of the best answer's
        // author count too: the answer that stands need not prove that it is right.
        let is_worse = state.failures(&author, &author) > state.failures(&best.author, &author);
        if !is_worse {
            return Ok(true);
        }
        let message = format!("{author}'s answer fails more tests than {}'s, and is not taken", best.author);
        tell(ctx, &at.key(&format!("{key}/not taken")), DebateEvent::Error { phase: Some(at.phase), message }).await?;
        match before {
            Some(before) => drop(state.candidates.insert(author.clone(), before)),
            None => drop(state.candidates.remove(&author)),
        }
        state.cross = known;
        Ok(false)
    }

    /// Executes all suites on one answer.
    pub(super) async fn test_all(
        &self,
        ctx: &Ctx,
        key: &str,
        candidate: &Candidate,
        suites: &[(Name, Vec<TestCase>)],
    ) -> Result<Vec<TestRun>, Failure> {
        let mut runs = Vec::new();
        for (author, tests) in suites.iter().filter(|(_, tests)| !tests.is_empty()) {
            runs.extend(self.test(ctx, &format!("{key}/by/{author}"), candidate, author, tests).await?);
        }
        Ok(runs)
    }
}

/// The tests of everybody except `but`, without suspect tests.
pub(super) fn suites(state: &DebateState, but: &Name) -> Vec<(Name, Vec<TestCase>)> {
    let suspects = state.cross.as_ref().map(|cross| cross.suspects()).unwrap_or_default();
    let others = state.candidates.values().filter(|candidate| candidate.author != *but);
    let sound = |author: &Name, test: &TestCase| !suspects.contains(&(author.as_str(), test.name.as_str()));
    others
        .map(|candidate| {
            let tests = candidate.tests.iter().filter(|test| sound(&candidate.author, test)).cloned().collect();
            (candidate.author.clone(), tests)
        })
        .collect()
}
