//! One agent attacks the best answer and another repairs it, until nothing new is found. If there
//! is code, an attack counts if its test fails in the jail, and a defence if that test passes
//! afterwards.

use folkmoot_core::Name;
use folkmoot_debate::{
    DebateEvent, NoteKind, TurnPart,
    agent::AgentRole,
    findings::{Attack, Finding, RedTeamReport, test_digest},
};
use folkmoot_engine::{Ctx, Failure};
use folkmoot_tools::testing::{FailureCause, TestCase};
use serde_json::json;

use super::{
    super::{
        DebateContext, PhaseAttempt, evidence,
        parts::{AttackAnswer, AttackPart, ProposalPart},
        state::{Candidate, DebateState, Point},
        tell,
        turn::TurnRequest,
    },
    PhaseReport, candidate, count,
};

/// The author of all tests of attacks, whoever wrote them. No answer has this author.
const RED_TEAM: &str = "red-team";

/// An attack, and the test that shows it.
#[derive(Clone, Debug)]
struct ProvenAttack {
    finding: Finding,
    test: Option<TestCase>,
}

impl DebateContext {
    pub(in super::super) async fn adversarial(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        state: &mut DebateState,
    ) -> Result<PhaseReport, Failure> {
        let author = state.leading().map(|target| target.author.clone());
        let Some(red) = red(state, author.as_ref()) else {
            return Ok(PhaseReport::note("nobody is there to attack".to_owned()));
        };
        let blue = blue(state, author.as_ref());
        self.begin(ctx, at, &[vec![red], blue.into_iter().collect()], state).await?;
        let (mut found, mut mended, mut messages, mut unmended) = (0, 0, 0, Vec::new());
        let mut why = "there were enough rounds";
        for round in 1..=self.config.adversarial_rounds {
            let Some(target) = state.leading().cloned() else { break };
            let (report, tests, hops) = self.attack(ctx, at, round, &target, state).await?;
            messages += hops;
            let attack = Attack::of(&state.findings, vec![report]);
            let landed = self.try_out(ctx, at, round, &target, &attack.new, &tests).await?;
            // Everything that was tried is known from now on, even attacks that did not hold.
            let is_new = !attack.new.is_empty();
            state.findings.extend(attack.new);
            match (attack.unread, landed.is_empty()) {
                // A repaired answer is attacked again. The phase ends when no new attack holds, or
                // after the last round.
                (0, true) => {
                    why = if is_new { "no new attack held" } else { "nothing new was found" };
                    break;
                }
                // A report that could not be read may contain anything, so the attack is repeated.
                (_, true) => why = "the last report could not be read",
                (_, false) => {
                    // The tests stay, so that later answers are tested with them too.
                    let tests: Vec<TestCase> = landed.iter().filter_map(|landed| landed.test.clone()).collect();
                    state.keep_tests(&RED_TEAM.parse()?, &tests);
                    found += count(landed.len());
                    let (defended, hops) = self.defend(ctx, at, round, &target, &landed, state).await?;
                    messages += hops;
                    mended += defended;
                    if defended == 0 {
                        // Voters are told about attacks that nobody repaired.
                        unmended.extend(landed.iter().map(|ProvenAttack { finding, .. }| Point {
                            author: target.author.clone(),
                            text: format!("attack ({}) that nobody mended: {}", finding.severity, finding.title),
                        }));
                    }
                }
            }
        }
        state.points.extend(unmended);
        if mended < found {
            // Attacks that nobody repaired count against the answers that they broke.
            self.cross_test(ctx, at, "attacked", state).await?;
        }
        self.keep_versions(ctx, at, state).await?;
        let note = format!("{found} attacks held, {mended} were mended; {why}");
        Ok(PhaseReport { messages, insights: found, ..self.optional_phase(at, 1, note, state) })
    }

    async fn attack(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        round: u32,
        target: &Candidate,
        state: &mut DebateState,
    ) -> Result<(RedTeamReport, Vec<TestCase>, u32), Failure> {
        let mut notes = state.notes_for(TurnPart::Attack);
        notes.extend(state.results(&[target]));
        notes.extend(
            state
                .findings
                .iter()
                .map(|finding| (NoteKind::Finding, format!("{}: {}", finding.severity, finding.title))),
        );
        let ask = |request, _: &DebateState| {
            let request = TurnRequest {
                notes: notes.clone(),
                shown: vec![target],
                given: json!({ "code": target.code }),
                attempt: round - 1,
                metadata: json!({ "adversarial_round": round, "of": target.author }),
                ..request
            };
            (AttackPart, request)
        };
        let turn = self
            .ask_or_next(ctx, at, &format!("attack/{round}"), |state| red(state, Some(&target.author)), ask, state)
            .await?;
        let hops = turn.as_ref().map_or(0, |turn| state.hops(&turn.agent, [target]));
        let (report, tests) = read(turn.and_then(|turn| turn.answer));
        Ok((report, tests, hops))
    }

    /// Executes the tests of attacks. Returns the attacks that held; one that the answer withstands
    /// did not hold.
    async fn try_out(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        round: u32,
        target: &Candidate,
        new: &[Finding],
        tests: &[TestCase],
    ) -> Result<Vec<ProvenAttack>, Failure> {
        let mut landed = Vec::new();
        for (number, finding) in new.iter().enumerate() {
            let test = tests.iter().find(|test| finding.test == Some(test_digest(&test.code)));
            match (test, &target.code) {
                (Some(test), Some(_)) => {
                    let key = at.key(&format!("attack/{round}/tried/{}", number + 1));
                    let red: Name = RED_TEAM.parse()?;
                    let run = self.test(ctx, &key, target, &red, std::slice::from_ref(test)).await?;
                    // A test that was not executed shows nothing, neither for nor against the
                    // attack.
                    let Some(run) = run else { continue };
                    let held = run.tested.iter().any(|tested| tested.failed.is_some_and(shows_something));
                    let (passed, of) = (u32::from(!held), 1);
                    let failed = if held { vec![test.name.clone()] } else { Vec::new() };
                    let told =
                        DebateEvent::Tested { author: target.author.clone(), phase: at.phase, passed, of, failed };
                    tell(ctx, &format!("{key}/told"), told).await?;
                    if held {
                        landed.push(ProvenAttack { finding: finding.clone(), test: Some(test.clone()) });
                    }
                }
                // An attack on code without a test is only a claim.
                (None, Some(_)) => {}
                (_, None) if !finding.says_something() => {}
                (_, None) => landed.push(ProvenAttack { finding: finding.clone(), test: None }),
            }
        }
        Ok(landed)
    }

    /// Asks for a defence. Returns how many attacks it repaired, and how many messages that took.
    async fn defend(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        round: u32,
        target: &Candidate,
        landed: &[ProvenAttack],
        state: &mut DebateState,
    ) -> Result<(u32, u32), Failure> {
        let mut notes = state.notes_for(TurnPart::Defence);
        notes.push((NoteKind::Own, target.text.clone()));
        notes.extend(landed.iter().map(|ProvenAttack { finding, test }| {
            let test = test.as_ref().map_or_else(String::new, |test| format!("\n\nThis test fails:\n{}", test.code));
            (NoteKind::Finding, format!("{} ({}): {}{test}", finding.title, finding.severity, finding.detail))
        }));
        let ask = |request, _: &DebateState| {
            let request = TurnRequest {
                notes: notes.clone(),
                given: json!({ "language": self.config.language, "code": target.code }),
                attempt: round - 1,
                metadata: json!({ "adversarial_round": round, "of": target.author }),
                ..request
            };
            let is_code = self.config.language.is_some();
            (ProposalPart { part: TurnPart::Defence, is_code, change_rule: None }, request)
        };
        let turn = self
            .ask_or_next(ctx, at, &format!("defence/{round}"), |state| blue(state, Some(&target.author)), ask, state)
            .await?;
        let hops = turn.as_ref().map_or(0, |turn| state.hops(&turn.agent, [target]));
        let Some(mended) = turn.as_ref().and_then(candidate) else { return Ok((0, hops)) };
        if is_unchanged(target, &mended) {
            return Ok((0, hops));
        }
        let tests: Vec<TestCase> = landed.iter().filter_map(|landed| landed.test.clone()).collect();
        let counts = match tests.is_empty() {
            true => count(landed.len()),
            false => {
                let key = at.key(&format!("defence/{round}/tests"));
                let red: Name = RED_TEAM.parse()?;
                let run = self.test(ctx, &key, &mended, &red, &distinct(&tests)).await?;
                let results = run.as_ref().map(|run| evidence::results(&[run])).unwrap_or_default();
                let (passed, of) = (results.passed, count(tests.len()));
                let failed = results.failures.iter().map(|failure| failure.test.clone()).collect();
                let told = DebateEvent::Tested { author: mended.author.clone(), phase: at.phase, passed, of, failed };
                tell(ctx, &format!("{key}/told"), told).await?;
                passed
            }
        };
        if counts == 0 {
            return Ok((0, hops));
        }
        let taken = self.take(ctx, at, &format!("defence/{round}/cross"), target, mended, state).await?;
        Ok((if taken { counts } else { 0 }, hops))
    }
}

/// Whether the failure of a test says something about the code. It does not if the test cannot be
/// parsed, uses a name that does not exist, or stops before its end.
fn shows_something(cause: FailureCause) -> bool {
    match cause {
        FailureCause::Assertion
        | FailureCause::Exception
        | FailureCause::TimedOut
        | FailureCause::Exhausted
        | FailureCause::Crashed => true,
        FailureCause::Syntax | FailureCause::MissingName | FailureCause::Unfinished => false,
    }
}

/// Whether a defence left the answer as it was. Ignores white space in code, and everything but
/// letters and digits in other answers.
fn is_unchanged(before: &Candidate, after: &Candidate) -> bool {
    let seen = |text: &str| text.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect::<String>();
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    match (&before.code, &after.code) {
        (Some(before), Some(after)) => seen(before) == seen(after),
        _ => letters(&before.text) == letters(&after.text),
    }
}

/// The agent that attacks: another one than the author of the answer, if there is one.
fn red(state: &DebateState, author: Option<&Name>) -> Option<Name> {
    let roles = [AgentRole::RedTeam, AgentRole::Security, AgentRole::Critic];
    side(state, &roles, author).or_else(|| side(state, &roles, None))
}

/// The agent that defends: another one than the attacker, if there is one.
fn blue(state: &DebateState, author: Option<&Name>) -> Option<Name> {
    let red = red(state, author);
    side(state, &[AgentRole::BlueTeam, AgentRole::Optimizer, AgentRole::Implementer], red.as_ref()).or(red)
}

/// The first agent with one of these roles, in the order of the roles, or else the first agent.
/// Never `but`.
fn side(state: &DebateState, roles: &[AgentRole], but: Option<&Name>) -> Option<Name> {
    let agents = || state.network.agents().iter().filter(|agent| Some(&agent.id) != but);
    let by_role = roles.iter().find_map(|role| agents().find(|agent| agent.role == *role));
    by_role.or_else(|| agents().next()).map(|agent| agent.id.clone())
}

/// The findings of an attack, and their tests. A report that cannot be read never means "nothing
/// found".
fn read(answer: Option<AttackAnswer>) -> (RedTeamReport, Vec<TestCase>) {
    let Some(answer) = answer else { return (RedTeamReport::Unread, Vec::new()) };
    let (findings, tests): (Vec<Finding>, Vec<Option<TestCase>>) = answer.findings().into_iter().unzip();
    (RedTeamReport::Found(findings), tests.into_iter().flatten().collect())
}

/// Numbers the names, because a suite cannot have two tests of one name.
fn distinct(tests: &[TestCase]) -> Vec<TestCase> {
    let number =
        |(at, test): (usize, &TestCase)| TestCase { name: format!("{} ({})", test.name, at + 1), ..test.clone() };
    tests.iter().enumerate().map(number).collect()
}
