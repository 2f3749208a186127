//! The state of a debate so far. Every pass rebuilds it from the journal, so it is the same each
//! time.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_core::{Digest, Name, Timestamp};
use folkmoot_debate::{
    Agent, NoteKind, TurnPart, TurnState, Turns, agent::Share, cognition::PhaseExpectations, consensus::same_answer,
    findings::Finding, lesson::Lesson, memory::EpisodicMemory, planning::PlanningChoice, topology::Network,
};
use folkmoot_tools::testing::{CrossTests, TestCase};

use super::turn::TurnResult;

/// At most this many tests of one author are kept.
const TESTS_KEPT: usize = 40;

/// An answer that can win, under its author's name. Each author has one: the latest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    pub author: Name,
    /// In words.
    pub text: String,
    /// The answer in one line, if it is not code. It is compared with the positions of others.
    pub position: String,
    pub code: Option<String>,
    /// Its author's tests.
    pub tests: Vec<TestCase>,
    pub confidence: Option<Share>,
    /// The turn that gave it.
    pub turn: String,
}

/// A criticism of an answer. `author` is the author of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub author: Name,
    pub text: String,
}

/// A reviewer's score of an answer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct AnswerScore {
    pub reviewer: Name,
    pub author: Name,
    pub score: Share,
    pub reason: String,
}

#[derive(Debug)]
pub(super) struct DebateState {
    pub network: Network,
    pub style: PlanningChoice,
    pub planner: PhaseExpectations,
    pub candidates: BTreeMap<Name, Candidate>,
    /// What all agents are told: what people said, what was clarified, the plan.
    pub notes: Vec<(NoteKind, String)>,
    /// What is still unclear after the questions before the debate were answered.
    pub ambiguities: Vec<String>,
    pub lessons: Vec<Lesson>,
    pub points: Vec<Point>,
    pub scores: Vec<AnswerScore>,
    /// Every test that was written in this debate, by author. Of attacks, only the tests that held.
    pub tests: BTreeMap<Name, Vec<TestCase>>,
    /// The results of all tests on everybody's code.
    pub cross: Option<CrossTests>,
    /// The latest results of the project's commands.
    pub hooked: Vec<String>,
    pub findings: Vec<Finding>,
    pub memory: EpisodicMemory,
    /// The versions of the code, each with its author, oldest first.
    pub versions: Vec<(Name, String)>,
    /// The code that is committed, if there is a repository.
    pub committed: BTreeSet<String>,
    pub turns: Turns,
    /// The outcome and confidence of each turn of the current phase.
    pub in_phase: Vec<(TurnState, Option<Share>)>,
    /// When the debate began.
    pub began: Timestamp,
}

impl DebateState {
    /// Counts a turn.
    pub fn add_turn<A>(&mut self, turn: &TurnResult<A>) {
        let counter = match turn.state {
            TurnState::Answered => &mut self.turns.answered,
            TurnState::Unparsed => &mut self.turns.unparsed,
            TurnState::Failed => &mut self.turns.failed,
            TurnState::Refused => &mut self.turns.refused,
        };
        *counter += 1;
        self.in_phase.push((turn.state, turn.confidence));
    }

    /// How many turns of the current phase gave an answer.
    pub fn answered(&self) -> usize {
        self.in_phase.iter().filter(|(state, _)| *state == TurnState::Answered).count()
    }

    /// Keeps tests, so that later answers are tested with them too. Known tests are not kept again.
    /// A new test with a known name gets another name.
    pub fn keep_tests(&mut self, author: &Name, new: &[TestCase]) {
        let known = self.tests.entry(author.clone()).or_default();
        for test in new {
            if known.len() >= TESTS_KEPT || known.iter().any(|it| it.code == test.code) {
                continue;
            }
            let is_taken = |name: &str| known.iter().any(|it| it.name == name);
            let others = (2..).map(|number| format!("{} ({number})", test.name));
            let name = std::iter::once(test.name.clone()).chain(others).find(|name| !is_taken(name));
            known.push(TestCase { name: name.unwrap_or_default(), ..test.clone() });
        }
    }

    /// What an agent is told in a turn for this part, besides the answers.
    pub fn notes_for(&self, part: TurnPart) -> Vec<(NoteKind, String)> {
        let mut notes = self.notes.clone();
        if part.is_an_answer() {
            notes.extend(self.lessons.iter().map(|lesson| (NoteKind::Lesson, lesson.text.clone())));
        }
        notes
    }

    /// The candidates that an agent reads: those whose words reach it, but not its own. If it hears
    /// no author, it reads all of them, because it would have nothing to say otherwise. Each agent
    /// reads them in another order, because all would be swayed alike by the answer that they read
    /// first.
    pub fn read_by(&self, reader: &Agent, run: &str, round: u32) -> Vec<&Candidate> {
        let heard = self.network.hears(&reader.id);
        let others = || self.candidates.values().filter(|candidate| candidate.author != reader.id);
        let mut read: Vec<&Candidate> = others().filter(|candidate| heard.contains(&candidate.author)).collect();
        if read.is_empty() {
            read = others().collect();
        }
        shuffle(&mut read, reader, run, round);
        read
    }

    /// The candidates of these authors, in the reader's own order.
    pub fn shown_to(&self, reader: &Agent, authors: &[Name], run: &str, round: u32) -> Vec<&Candidate> {
        let mut shown: Vec<&Candidate> = authors.iter().filter_map(|author| self.candidates.get(author)).collect();
        shuffle(&mut shown, reader, run, round);
        shown
    }

    /// How many messages it takes to deliver these candidates to the reader, counting each hop.
    pub fn hops<'a>(&self, reader: &Name, read: impl IntoIterator<Item = &'a Candidate>) -> u32 {
        let hops = |candidate: &Candidate| self.network.route(&candidate.author, reader).map_or(0, |hops| hops.len());
        u32::try_from(read.into_iter().map(hops).sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// The tests of others on one author's code: how many pass, of how many, and which fail.
    /// Suspect tests are left out. A failure counts only if the code of a third agent passes the
    /// test; otherwise the test's author alone says what is right.
    pub fn tested(&self, author: &Name) -> Option<TestTally> {
        let cross = self.cross.as_ref()?;
        let suspects = cross.suspects();
        let is_passed_by_a_third = |by: &str, test: &str| {
            let thirds = cross.runs.iter().filter(|run| run.author == by && run.solution != by);
            thirds
                .filter(|run| run.solution != author.as_str())
                .any(|run| run.tested.iter().any(|tested| tested.name == test && tested.failed.is_none()))
        };
        let mut tested = TestTally::default();
        for run in cross.runs.iter().filter(|run| run.solution == author.as_str() && run.author != run.solution) {
            for test in run.tested.iter().filter(|test| !suspects.contains(&(run.author.as_str(), test.name.as_str())))
            {
                if test.failed.is_some() && !is_passed_by_a_third(&run.author, &test.name) {
                    continue;
                }
                tested.of += 1;
                match test.failed {
                    None => tested.passed += 1,
                    Some(cause) => tested.failed.push(format!("{} ({cause}): {}", test.name, last_line(&test.output))),
                }
            }
        }
        (tested.of > 0).then_some(tested)
    }

    /// How many tests fail on an author's code. Tests that `but` wrote and suspect tests are left
    /// out.
    pub fn failures(&self, author: &Name, but: &Name) -> usize {
        let Some(cross) = &self.cross else { return 0 };
        let suspects = cross.suspects();
        let runs = cross.runs.iter().filter(|run| run.solution == author.as_str() && run.author != but.as_str());
        let fails = |by: &str, test: &folkmoot_tools::testing::TestResult| {
            test.failed.is_some() && !suspects.contains(&(by, test.name.as_str()))
        };
        runs.map(|run| run.tested.iter().filter(|test| fails(&run.author, test)).count()).sum()
    }

    /// The test results in words, for agents that judge.
    pub fn results(&self, shown: &[&Candidate]) -> Vec<(NoteKind, String)> {
        let of = |(at, candidate): (usize, &&Candidate)| {
            let tested = self.tested(&candidate.author)?;
            let failed: String = tested.failed.iter().map(|line| format!("\nfailed: {line}")).collect();
            Some((
                NoteKind::Result,
                format!("Answer {} passes {} of {} tests of others.{failed}", at + 1, tested.passed, tested.of),
            ))
        };
        let hooked = self.hooked.iter().map(|line| (NoteKind::Result, line.clone()));
        shown.iter().enumerate().filter_map(of).chain(hooked).collect()
    }

    /// The authors that executed tests do not speak against: those whose code fails the fewest
    /// tests that are not suspect, and those whose code no test of others was executed on. Without
    /// the latter, the only author of tests would be out, because its own tests do not count for
    /// it.
    pub fn eligible(&self) -> Vec<Name> {
        let failures = |author: &Name| self.tested(author).map(|tested| tested.of - tested.passed);
        let all = || self.candidates.keys().cloned();
        let Some(fewest) = self.candidates.keys().filter_map(failures).min() else { return all().collect() };
        all().filter(|author| failures(author).is_none_or(|failures| failures == fewest)).collect()
    }

    /// Whether two authors gave the same answer.
    pub fn is_same(&self, one: &Name, two: &Name) -> bool {
        let (Some(one), Some(two)) = (self.candidates.get(one), self.candidates.get(two)) else { return false };
        match (&one.code, &two.code) {
            (Some(one), Some(two)) => one.trim() == two.trim(),
            _ => same_answer(&one.position, &two.position) && same_answer(&one.text, &two.text),
        }
    }

    /// Whether everybody's tests, also suspect ones, pass on everybody's code, and each code has at
    /// least `least` tests of others.
    pub fn all_pass(&self, least: usize) -> bool {
        let Some(cross) = &self.cross else { return false };
        self.candidates.keys().all(|author| {
            let others =
                || cross.runs.iter().filter(|run| run.solution == author.as_str() && run.author != run.solution);
            let tests = others().map(|run| run.tested.len()).sum::<usize>();
            tests >= least && others().all(|run| run.passed() == run.tested.len())
        })
    }

    /// The mean score that reviewers gave an author's answer.
    pub fn quality(&self, author: &Name) -> Option<Share> {
        let scores = self.scores.iter().filter(|scored| scored.author == *author);
        let (count, sum) =
            scores.fold((0, 0), |(count, sum), scored| (count + 1, sum + u64::from(scored.score.as_hundredths())));
        Share::part(sum, count * 100)
    }

    /// All candidates, those that evidence supports best first.
    pub fn ranked(&self) -> Vec<&Candidate> {
        let eligible = self.eligible();
        let mut ranked: Vec<&Candidate> = self.candidates.values().collect();
        ranked.sort_by_key(|candidate| {
            let stands = eligible.contains(&candidate.author);
            std::cmp::Reverse((stands, self.quality(&candidate.author), candidate.confidence))
        });
        ranked
    }

    /// The candidate that evidence supports best: fewest failures, then the best mean score, then
    /// the highest confidence, then the first name.
    pub fn leading(&self) -> Option<&Candidate> {
        let eligible = self.eligible();
        eligible.iter().filter_map(|author| self.candidates.get(author)).max_by(|one, two| {
            let rank = |candidate: &Candidate| (self.quality(&candidate.author), candidate.confidence);
            rank(one).cmp(&rank(two)).then_with(|| two.author.cmp(&one.author))
        })
    }
}

/// How many tests of others an answer passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TestTally {
    pub passed: u32,
    pub of: u32,
    pub failed: Vec<String>,
}

/// Sorts by a digest, so that every pass has the same order and each reader another one.
fn shuffle(candidates: &mut [&Candidate], reader: &Agent, run: &str, round: u32) {
    candidates.sort_by_cached_key(|candidate| {
        Digest::of(format!("{run}\n{round}\n{}\n{}", reader.id, candidate.author).as_bytes()).hex()
    });
}

/// How much of a line of a program's output is shown.
const LINE_BYTES: usize = 300;

pub(super) fn last_line(output: &str) -> &str {
    let line = output.trim().lines().next_back().unwrap_or_default();
    &line[..line.floor_char_boundary(LINE_BYTES)]
}
