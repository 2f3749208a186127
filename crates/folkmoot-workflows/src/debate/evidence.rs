//! Evidence from executed code: tests in the jail, reflections on failures, and versions of the
//! code.

use std::sync::Arc;

use folkmoot_core::{Name, Timestamp};
use folkmoot_debate::{
    Agent, DebateEvent, NoteKind,
    agent::{DebatePhase, Share},
    memory::{Episode, FailureSource, Reflection, TestFailure, TestResults},
    record::{self, DebateRecord},
};
use folkmoot_engine::{Ctx, Failure};
use folkmoot_tools::{
    git::Author,
    project::Hook,
    testing::{CrossTests, Solution, Suite, TestCase, TestRun},
};
use serde_json::{Value, json};

use super::{
    DebateContext, PhaseAttempt, ProjectCommandRun,
    parts::ReflectPart,
    state::{Candidate, DebateState, last_line},
    tell,
    turn::{TurnRequest, TurnResult},
};

/// Code with more lines than this gets no diff.
const DIFF_LINES_MAX: usize = 2_000;
/// How much of a test's output is shown.
const MESSAGE_CHARS: usize = 400;

/// Test results in the form that the memory keeps.
pub(super) fn results(runs: &[&TestRun]) -> TestResults {
    let tested = || runs.iter().flat_map(|run| &run.tested);
    let failure = |test: &folkmoot_tools::testing::TestResult| {
        let said = folkmoot_core::text::shortened(last_line(&test.output), MESSAGE_CHARS);
        let cause = test.failed.map(|cause| cause.to_string()).unwrap_or_default();
        TestFailure { test: test.name.clone(), message: format!("{cause}: {said}") }
    };
    TestResults {
        passed: u32::try_from(tested().filter(|test| test.failed.is_none()).count()).unwrap_or(u32::MAX),
        failures: tested().filter(|test| test.failed.is_some()).map(failure).collect(),
    }
}

/// The newest reflections, as notes for an agent that tries again.
pub(super) fn shown(reflections: &[Reflection], most: u32) -> Vec<(NoteKind, String)> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let newest = &reflections[reflections.len().saturating_sub(most)..];
    let text = |Reflection { root_cause, what_went_wrong, what_to_change, .. }: &Reflection| {
        format!("Cause: {root_cause}\nWhat went wrong: {what_went_wrong}\nWhat to change: {what_to_change}")
    };
    newest.iter().map(|reflection| (NoteKind::Reflection, text(reflection))).collect()
}

/// An answer that failed its tests.
#[derive(Clone, Copy)]
pub(super) struct FailedCandidate<'a> {
    pub agent: &'a Agent,
    pub failed: &'a Candidate,
    pub results: &'a TestResults,
    /// The number of the attempt, counted from 1.
    pub number: u32,
}

impl DebateContext {
    /// Executes one author's tests on a candidate's code, as a step. `None` if it cannot be
    /// executed here, which is recorded.
    pub async fn test(
        &self,
        ctx: &Ctx,
        key: &str,
        candidate: &Candidate,
        author: &Name,
        tests: &[TestCase],
    ) -> Result<Option<TestRun>, Failure> {
        let (Some(language), Some(code)) = (self.config.language, &candidate.code) else { return Ok(None) };
        let solution = Solution { id: candidate.author.to_string(), language, code: code.clone() };
        let suite = Suite::new(author.as_str(), tests.to_vec())?;
        let effects = Arc::clone(&self.effects);
        let input = json!({ "solution": solution, "suite": suite });
        let work = move || {
            let (effects, solution, suite) = (Arc::clone(&effects), solution.clone(), suite.clone());
            async move { Ok(effects.test(solution, suite).await) }
        };
        let ran: Result<TestRun, String> = ctx.step(key, work).input(&input).agent(candidate.author.clone()).await?;
        match ran {
            Ok(run) => Ok(Some(run)),
            Err(message) => {
                tell(ctx, &format!("{key}/not executed"), DebateEvent::Error { phase: None, message }).await?;
                Ok(None)
            }
        }
    }

    /// Executes all tests on everybody's code.
    pub async fn cross_test(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        key: &str,
        state: &mut DebateState,
    ) -> Result<(), Failure> {
        if self.config.language.is_none() {
            return Ok(());
        }
        let candidates: Vec<Candidate> = state.candidates.values().cloned().collect();
        for candidate in &candidates {
            state.keep_tests(&candidate.author, &candidate.tests);
        }
        let suites = &state.tests;
        let tested = ctx.join(at.key(key), candidates, |ctx, candidate| async move {
            let mut runs = Vec::new();
            for (author, tests) in suites.iter().filter(|(_, tests)| !tests.is_empty()) {
                runs.extend(self.test(&ctx, &format!("by/{author}"), &candidate, author, tests).await?);
            }
            Ok(runs)
        });
        let runs: Vec<TestRun> = tested.await?.into_iter().flatten().collect();
        state.cross = Some(CrossTests { runs });
        for author in state.candidates.keys() {
            if let Some(tested) = state.tested(author) {
                let failed = tested.failed.iter().map(|line| line.chars().take(MESSAGE_CHARS).collect()).collect();
                let (passed, of) = (tested.passed, tested.of);
                let told = DebateEvent::Tested { author: author.clone(), phase: at.phase, passed, of, failed };
                tell(ctx, &at.key(&format!("{key}/{author}")), told).await?;
            }
        }
        Ok(())
    }

    /// Asks an agent why its code failed.
    pub async fn reflect(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        key: &str,
        attempt: FailedCandidate<'_>,
        earlier: &[Reflection],
    ) -> Result<TurnResult<Reflection>, Failure> {
        let FailedCandidate { agent, failed, results, .. } = attempt;
        let notes = std::iter::once((NoteKind::Own, failed.text.clone()))
            .chain(results.told().into_iter().map(|line| (NoteKind::Result, line)))
            .chain(shown(earlier, self.config.reflections_max))
            .collect();
        let request = TurnRequest {
            notes,
            given: json!({ "code": failed.code }),
            attempt: u32::try_from(earlier.len()).unwrap_or(u32::MAX),
            results: serde_json::to_value(results)?,
            ..TurnRequest::new(at, key, agent)
        };
        let turn = self.ask(ctx, ReflectPart, request).await?;
        if turn.answer.is_some() {
            let told = DebateEvent::Reflected { agent: agent.id.clone(), turn: turn.id.clone() };
            tell(ctx, &format!("{key}/told"), told).await?;
        }
        let confidence = turn.confidence.unwrap_or(Share::CONFIDENCE);
        Ok(turn.map(|answer| Reflection {
            root_cause: answer.root_cause,
            what_went_wrong: answer.what_went_wrong,
            what_to_change: answer.what_to_change,
            confidence,
        }))
    }

    /// A failed attempt as an episode.
    pub fn episode(
        &self,
        ctx: &Ctx,
        id: &str,
        attempt: FailedCandidate<'_>,
        reflection: &Reflection,
        timestamp: Timestamp,
    ) -> Episode {
        let FailedCandidate { agent, failed, results, number } = attempt;
        Episode {
            id: id.to_owned(),
            session_id: ctx.session_id().clone(),
            turn_id: failed.turn.clone(),
            agent_id: agent.id.clone(),
            task_description: self.config.topic.clone(),
            attempt_number: number,
            code: failed.code.clone().unwrap_or_default(),
            test_results: results.clone(),
            cause: FailureSource::Tests,
            failure_analysis: reflection.what_went_wrong.clone(),
            improvement: reflection.what_to_change.clone(),
            reflection: reflection.clone(),
            confidence: failed.confidence.unwrap_or(Share::CONFIDENCE),
            timestamp,
            next: None,
        }
    }

    /// Records new versions of the candidates' code, and commits them if there is a repository.
    pub async fn keep_versions(&self, ctx: &Ctx, at: PhaseAttempt, state: &mut DebateState) -> Result<(), Failure> {
        for candidate in state.candidates.values().cloned().collect::<Vec<_>>() {
            let tested = state.tested(&candidate.author);
            let rate = tested.and_then(|tested| Share::part(tested.passed.into(), tested.of.into()));
            self.keep_version(ctx, at, &candidate, rate, state).await?;
        }
        Ok(())
    }

    /// Records a version, unless its author wrote the same code before, and commits it from the
    /// proposal phase on.
    pub async fn keep_version(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        candidate: &Candidate,
        test_pass_rate: Option<Share>,
        state: &mut DebateState,
    ) -> Result<(), Failure> {
        let Some(code) = candidate.code.clone() else { return Ok(()) };
        let version = (candidate.author.clone(), code.clone());
        let known = state.versions.iter().position(|known| *known == version);
        let number = u32::try_from(known.unwrap_or(state.versions.len()) + 1).unwrap_or(u32::MAX);
        let key = at.key(&format!("version/{number}"));
        if known.is_none() {
            self.record_version(ctx, &key, number, candidate, test_pass_rate, state).await?;
        }
        // Drafts are private to their author, so they are not committed.
        if at.phase < DebatePhase::Proposal || !state.committed.insert(code.clone()) {
            return Ok(());
        }
        let message = format!("Version {number}, by {} in {}", candidate.author, at.phase);
        self.commit(ctx, &key, &candidate.author, code, message).await
    }

    async fn record_version(
        &self,
        ctx: &Ctx,
        key: &str,
        number: u32,
        candidate: &Candidate,
        test_pass_rate: Option<Share>,
        state: &mut DebateState,
    ) -> Result<(), Failure> {
        let (Some(language), Some(code)) = (self.config.language, candidate.code.clone()) else { return Ok(()) };
        // An author without a version of its own repairs or answers what somebody else wrote.
        let own = state.versions.iter().rfind(|(author, _)| *author == candidate.author);
        let before = own.or(state.versions.last());
        let diff = before.map_or_else(String::new, |(_, before)| difference(before, &code, number));
        let version = record::VersionRecord {
            id: record::uuid(&[ctx.run_id().as_str(), "version", &number.to_string()]),
            turn_id: Some(candidate.turn.clone()),
            language: language.word().to_owned(),
            version_number: number,
            // The reviewers' mean score; tests have a column of their own.
            quality_score: state.quality(&candidate.author),
            test_pass_rate,
            metrics: metrics(&code, state),
            diff_from_previous: diff,
            code: code.clone(),
        };
        let told = DebateEvent::Version { version: number, author: candidate.author.clone(), test_pass_rate };
        ctx.keep(key, told.kind(), &told, vec![DebateRecord::Version(Box::new(version))]).await?;
        state.versions.push((candidate.author.clone(), code));
        Ok(())
    }

    /// Commits code on the debate's branch, if it has one.
    pub async fn commit(
        &self,
        ctx: &Ctx,
        key: &str,
        author: &Name,
        code: String,
        message: String,
    ) -> Result<(), Failure> {
        let (Some(branch), Some(language)) = (self.branch.clone(), self.config.language) else { return Ok(()) };
        let author = Author { name: author.to_string(), at: ctx.now(format!("{key}/now")).await?, message };
        let (effects, file) = (Arc::clone(&self.effects), format!("solution.{}", extension(language.word())));
        let work = move || {
            let (effects, branch, file) = (Arc::clone(&effects), branch.clone(), file.clone());
            let (code, author) = (code.clone(), author.clone());
            async move { Ok(effects.commit(branch, file, code, author).await) }
        };
        let committed: Result<String, String> = ctx.step(format!("{key}/commit"), work).await?;
        match committed {
            Ok(_) => Ok(()),
            Err(message) => {
                tell(ctx, &format!("{key}/not committed"), DebateEvent::Error { phase: None, message }).await
            }
        }
    }

    /// Runs the project's commands, if the configuration asks for them after this phase. Agents
    /// that speak later are told the results.
    pub async fn hooks(&self, ctx: &Ctx, at: PhaseAttempt, state: &mut DebateState) -> Result<(), Failure> {
        use DebatePhase::*;
        let hook = match at.phase {
            Proposal => Hook::PostProposal,
            Optimization => Hook::PostOptimization,
            Adversarial => Hook::PostAdversarial,
            Convergence => Hook::PostConvergence,
            Dehallucination | SelfEvolvement | Critique | Review => return Ok(()),
        };
        let Some(branch) = self.branch.clone().filter(|_| self.config.hooks.contains(&hook)) else { return Ok(()) };
        let effects = Arc::clone(&self.effects);
        let work = move || {
            let (effects, branch) = (Arc::clone(&effects), branch.clone());
            async move { Ok(effects.hook(branch, hook).await) }
        };
        let ran: Result<Vec<ProjectCommandRun>, String> = ctx.step(at.key("hook"), work).await?;
        match ran {
            Ok(ran) => {
                // A command that could not be executed is no evidence for or against anything.
                let (ran, missing): (Vec<ProjectCommandRun>, Vec<ProjectCommandRun>) =
                    ran.into_iter().partition(|ran| ran.executed);
                for (number, ProjectCommandRun { command, output, .. }) in missing.iter().enumerate() {
                    let message = format!("{hook}: {command} could not be executed: {output}");
                    let told = DebateEvent::Error { phase: Some(at.phase), message };
                    tell(ctx, &at.key(&format!("hook/missing/{}", number + 1)), told).await?;
                }
                let count = |passed: bool| {
                    u32::try_from(ran.iter().filter(|ran| ran.passed || !passed).count()).unwrap_or(u32::MAX)
                };
                let failed = ran.iter().filter(|ran| !ran.passed).map(|ran| ran.command.clone()).collect();
                let told =
                    DebateEvent::Hook { hook: hook.word().to_owned(), passed: count(true), of: count(false), failed };
                state.hooked = ran
                    .iter()
                    .map(|ProjectCommandRun { command, passed, output, .. }| {
                        format!("{hook}: `{command}` {}\n{output}", if *passed { "passed" } else { "failed" })
                    })
                    .collect();
                tell(ctx, &at.key("hook/told"), told).await
            }
            Err(message) => {
                tell(ctx, &at.key("hook/told"), DebateEvent::Error { phase: Some(at.phase), message }).await
            }
        }
    }
}

fn extension(language: &str) -> &str {
    match language {
        "python" => "py",
        "javascript" => "mjs",
        "rust" => "rs",
        "bash" => "sh",
        other => other,
    }
}

/// The difference, as `diff -u` prints it.
pub(super) fn difference(before: &str, after: &str, number: u32) -> String {
    // Text of a model must not keep the server busy: the work grows with the product of length and
    // difference.
    let lines = |text: &str| text.lines().count();
    if lines(before).max(lines(after)) > DIFF_LINES_MAX {
        return format!("(longer than {DIFF_LINES_MAX} lines: no difference is shown)\n");
    }
    let (old, new) = (format!("version {}", number - 1), format!("version {number}"));
    similar::TextDiff::from_lines(before, after).unified_diff().header(&old, &new).to_string()
}

/// Metrics that need no execution.
fn metrics(code: &str, state: &DebateState) -> Value {
    let lines = code.lines().filter(|line| !line.trim().is_empty());
    let branches = code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| {
        ["if", "elif", "else", "for", "while", "case", "match", "except", "catch", "and", "or"].contains(word)
    });
    json!({
        "lines": lines.clone().count(), "longest_line": lines.map(|line| line.chars().count()).max().unwrap_or(0),
        "branches": branches.clone().count(), "findings": state.findings.len(),
        // McCabe's complexity, approximated by counting keywords. Nothing here measures the other
        // two.
        "complexity": branches.count() + 1, "maintainability": null, "security": null,
        "risk": folkmoot_debate::findings::risk(&state.findings),
    })
}
