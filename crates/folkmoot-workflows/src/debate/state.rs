//! What there is of a debate so far. It is made anew in every pass from what the journal answers,
//! and so is the same each time.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_core::{Digest, Name, Timestamp};
use folkmoot_debate::{
    Agent, NoteKind, TurnPart, TurnState, Turns, agent::Share, cognition::PhaseExpectations, consensus::same_answer,
    findings::Finding, lesson::Lesson, memory::EpisodicMemory, planning::PlanningChoice, topology::Network,
};
use folkmoot_tools::testing::{CrossTests, TestCase};

use super::turn::TurnResult;

/// So many tests of one author are kept.
const TESTS_KEPT: usize = 40;

/// An answer that can win, under its author's name. Each author has one: the last.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    pub author: Name,
    /// In words.
    pub text: String,
    /// In a line, where it is no code: what is compared with others'.
    pub position: String,
    pub code: Option<String>,
    /// Its author's tests.
    pub tests: Vec<TestCase>,
    pub confidence: Option<Share>,
    /// The turn that gave it.
    pub turn: String,
}

/// What was said against an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub author: Name,
    pub text: String,
}

/// How somebody scored an answer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct AnswerScore {
    pub reviewer: Name,
    pub author: Name,
    pub score: Share,
    pub reason: String,
}

/// All that a debate has come to so far.
#[derive(Debug)]
pub(super) struct DebateState {
    pub network: Network,
    pub style: PlanningChoice,
    pub planner: PhaseExpectations,
    pub candidates: BTreeMap<Name, Candidate>,
    /// What everybody is told: what people said, what was clarified, the plan.
    pub notes: Vec<(NoteKind, String)>,
    /// What whoever answered the questions before a debate could not clear up.
    pub ambiguities: Vec<String>,
    pub lessons: Vec<Lesson>,
    pub points: Vec<Point>,
    pub scores: Vec<AnswerScore>,
    /// Every test that was ever written here, by its author; of attacks, those that held.
    pub tests: BTreeMap<Name, Vec<TestCase>>,
    /// All of them on everybody's code.
    pub cross: Option<CrossTests>,
    /// What the project's own commands said last.
    pub hooked: Vec<String>,
    pub findings: Vec<Finding>,
    pub memory: EpisodicMemory,
    /// The versions of the code, each with its author, oldest first.
    pub versions: Vec<(Name, String)>,
    /// What is committed, where there is a repository.
    pub committed: BTreeSet<String>,
    pub turns: Turns,
    /// The turns of the current phase: what they gave, and how sure the agent was.
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

    /// Keeps tests, so that whatever comes later is tried on them too. Those that are known are not
    /// kept again; another one of a known name gets a name of its own.
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

    /// What an agent is told in a turn of this sort, beside the answers.
    pub fn notes_for(&self, part: TurnPart) -> Vec<(NoteKind, String)> {
        let mut notes = self.notes.clone();
        if part.is_an_answer() {
            notes.extend(self.lessons.iter().map(|lesson| (NoteKind::Lesson, lesson.text.clone())));
        }
        notes
    }

    /// The candidates whose words reach an agent, but its own, in an order that is its own too: who
    /// reads first what all read first is swayed as all are. Where it hears no author, it reads
    /// all: else it would have nothing to say.
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

    /// All candidates of these authors, in the reader's own order.
    pub fn shown_to(&self, reader: &Agent, authors: &[Name], run: &str, round: u32) -> Vec<&Candidate> {
        let mut shown: Vec<&Candidate> = authors.iter().filter_map(|author| self.candidates.get(author)).collect();
        shuffle(&mut shown, reader, run, round);
        shown
    }

    /// How many messages it took that these were read: each hop of each.
    pub fn hops<'a>(&self, reader: &Name, read: impl IntoIterator<Item = &'a Candidate>) -> u32 {
        let hops = |candidate: &Candidate| self.network.route(&candidate.author, reader).map_or(0, |hops| hops.len());
        u32::try_from(read.into_iter().map(hops).sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// Passed tests of others, of all that are not suspect, and which failed, of one author's code.
    /// A failure counts where somebody else than the test's author passes it: else the author alone
    /// says what is right.
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

    /// How many tests fail on an author's code, of all but those that `but` wrote and those that
    /// are suspect.
    pub fn failures(&self, author: &Name, but: &Name) -> usize {
        let Some(cross) = &self.cross else { return 0 };
        let suspects = cross.suspects();
        let runs = cross.runs.iter().filter(|run| run.solution == author.as_str() && run.author != but.as_str());
        let fails = |by: &str, test: &folkmoot_tools::testing::TestResult| {
            test.failed.is_some() && !suspects.contains(&(by, test.name.as_str()))
        };
        runs.map(|run| run.tested.iter().filter(|test| fails(&run.author, test)).count()).sum()
    }

    /// What was executed, in words, for those who judge.
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

    /// Those that executed tests do not speak against: whoever fails fewest of those that are not
    /// suspect, and whoever no test of others was executed on. Else whoever alone wrote tests would
    /// be out, as their own do not speak for them.
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

    /// Whether everybody's tests pass on everybody's code, those that are suspect too, and there
    /// are so many on each.
    pub fn all_pass(&self, least: usize) -> bool {
        let Some(cross) = &self.cross else { return false };
        self.candidates.keys().all(|author| {
            let others =
                || cross.runs.iter().filter(|run| run.solution == author.as_str() && run.author != run.solution);
            let tests = others().map(|run| run.tested.len()).sum::<usize>();
            tests >= least && others().all(|run| run.passed() == run.tested.len())
        })
    }

    /// The mean of what reviewers gave an author's answer.
    pub fn quality(&self, author: &Name) -> Option<Share> {
        let scores = self.scores.iter().filter(|scored| scored.author == *author);
        let (count, sum) =
            scores.fold((0, 0), |(count, sum), scored| (count + 1, sum + u64::from(scored.score.as_hundredths())));
        Share::part(sum, count * 100)
    }

    /// All candidates, those first that evidence supports best.
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
    /// the surest, then by name.
    pub fn leading(&self) -> Option<&Candidate> {
        let eligible = self.eligible();
        eligible.iter().filter_map(|author| self.candidates.get(author)).max_by(|one, two| {
            let rank = |candidate: &Candidate| (self.quality(&candidate.author), candidate.confidence);
            rank(one).cmp(&rank(two)).then_with(|| two.author.cmp(&one.author))
        })
    }
}

/// How many of the others' tests an answer passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TestTally {
    pub passed: u32,
    pub of: u32,
    pub failed: Vec<String>,
}

/// By a digest, so that every pass has the same order, and each reader another.
fn shuffle(candidates: &mut [&Candidate], reader: &Agent, run: &str, round: u32) {
    candidates.sort_by_cached_key(|candidate| {
        Digest::of(format!("{run}\n{round}\n{}\n{}", reader.id, candidate.author).as_bytes()).hex()
    });
}

/// How much of a line that a program printed is shown.
const LINE_BYTES: usize = 300;

pub(super) fn last_line(output: &str) -> &str {
    let line = output.trim().lines().next_back().unwrap_or_default();
    &line[..line.floor_char_boundary(LINE_BYTES)]
}
