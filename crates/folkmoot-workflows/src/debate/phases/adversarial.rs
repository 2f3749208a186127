//! One side breaks the best answer, the other mends it, until nothing new is found. Where there is code, an attack counts if its test
//! fails in the jail, and a defence if that test passes afterwards.

use folkmoot_core::{
    Agent, Name,
    agent::AgentRole,
    debate::{
        Note, Part, Told,
        findings::{self, Attack, Finding, Report, Severity},
    },
};
use folkmoot_engine::{Ctx, Failure};
use folkmoot_tools::testing::TestCase;
use serde_json::{Value, json};

use super::{
    super::{
        evidence, forms,
        room::{Asking, At, Room, Spoken},
        state::{Candidate, State},
        tell,
    },
    Phase, candidate, no_rule,
};

/// An attack, and the test that shows it.
#[derive(Clone, Debug)]
struct Landed {
    finding: Finding,
    test: Option<TestCase>,
}

impl Room {
    pub(in super::super) async fn adversarial(&self, ctx: &Ctx, at: At, state: &mut State) -> Result<Phase, Failure> {
        let red = side(state, &[AgentRole::RedTeam, AgentRole::Security, AgentRole::Critic], None);
        let Some(red) = red else { return Ok(Phase::said("nobody is there to attack".to_owned())) };
        let blue = side(state, &[AgentRole::BlueTeam, AgentRole::Optimizer, AgentRole::Implementer], Some(&red));
        let blue = blue.unwrap_or_else(|| red.clone());
        self.begin(ctx, at, &[vec![red.clone()], vec![blue.clone()]], state).await?;
        let (red, blue) = (self.agent(&red)?, self.agent(&blue)?);
        let (mut found, mut mended, mut messages) = (0, 0, 0);
        let mut why = "there were enough rounds".to_owned();
        for round in 1..=self.debating.adversarial_rounds {
            let Some(target) = state.leading().cloned() else { break };
            messages += state.hops(&red.id, [&target]);
            let (report, tests) = self.attack(ctx, at, round, red, &target, state).await?;
            let attack = Attack::of(&state.findings, vec![report]);
            let landed = self.try_out(ctx, at, round, &target, &attack.new, &tests).await?;
            let standing: Vec<Finding> = landed.iter().map(|landed| landed.finding.clone()).collect();
            // All that was tried is known from now on, also what did not hold.
            state.findings.extend(attack.new.iter().cloned());
            let limits =
                findings::Limits { rounds_max: self.debating.adversarial_rounds, ..findings::Limits::default() };
            if standing.is_empty() && attack.unread == 0 {
                why = "nothing new was found".to_owned();
                break;
            }
            found += u32::try_from(landed.len()).unwrap_or(u32::MAX);
            if !landed.is_empty() {
                messages += state.hops(&blue.id, [&target]);
                mended += self.defend(ctx, at, round, blue, &target, &landed, state).await?;
            }
            let left = if mended >= found { Vec::new() } else { standing };
            // What was mended is attacked again: only that nothing new is found, or the number of rounds, is an end.
            if attack.unread > 0 && findings::ends(round, &attack, &left, limits).is_some() {
                why = "the last report could not be read".to_owned();
                break;
            }
        }
        let too_few = self.too_few(at, 1.min(state.in_phase.len()), state);
        self.keep_versions(ctx, at, state).await?;
        let note = format!("{found} attacks held, {mended} were mended; {why}");
        Ok(Phase { too_few, messages, insights: found, ..Phase::said(note) })
    }

    async fn attack(
        &self,
        ctx: &Ctx,
        at: At,
        round: u32,
        red: &Agent,
        target: &Candidate,
        state: &mut State,
    ) -> Result<(Report, Vec<TestCase>), Failure> {
        let mut notes = state.notes_for(Part::Attack);
        notes.extend(state.results(&[target]));
        notes.extend(
            state.findings.iter().map(|finding| (Note::Finding, format!("{}: {}", finding.severity, finding.title))),
        );
        let asking = Asking {
            at,
            key: at.key(&format!("attack/{round}")),
            agent: red,
            part: Part::Attack,
            notes,
            answers: vec![target.text.clone()],
            schema: forms::attack(),
            given: json!({ "code": target.code }),
            attempt: round - 1,
            rule: &no_rule,
            results: Value::Null,
            metadata: json!({ "adversarial_round": round, "of": target.author }),
        };
        let spoken = self.speak(ctx, asking).await?;
        self.hear(ctx, at, std::slice::from_ref(&spoken), state).await?;
        Ok(read(&spoken))
    }

    /// Executes what can be executed: an attack that the answer withstands did not hold.
    async fn try_out(
        &self,
        ctx: &Ctx,
        at: At,
        round: u32,
        target: &Candidate,
        new: &[Finding],
        tests: &[TestCase],
    ) -> Result<Vec<Landed>, Failure> {
        let mut landed = Vec::new();
        for (number, finding) in new.iter().enumerate() {
            let test = tests.iter().find(|test| finding.test == Some(findings::test_digest(&test.code)));
            match (test, &target.code) {
                (Some(test), Some(_)) => {
                    let key = at.key(&format!("attack/{round}/tests/{}", number + 1));
                    let red: Name = "red-team".parse()?;
                    let run = self.test(ctx, &key, target, &red, std::slice::from_ref(test)).await?;
                    let held = run.is_some_and(|run| run.passed() < run.tested.len());
                    let (passed, of) = (u32::from(!held), 1);
                    let failed = if held { vec![test.name.clone()] } else { Vec::new() };
                    let told = Told::Tested { author: target.author.clone(), phase: at.phase, passed, of, failed };
                    tell(ctx, &format!("{key}/told"), told).await?;
                    if held {
                        landed.push(Landed { finding: finding.clone(), test: Some(test.clone()) });
                    }
                }
                // What could be executed and is not shown is only said.
                (None, Some(_)) => {}
                (_, None) => landed.push(Landed { finding: finding.clone(), test: None }),
            }
        }
        Ok(landed)
    }

    /// How many attacks a defence mended.
    async fn defend(
        &self,
        ctx: &Ctx,
        at: At,
        round: u32,
        blue: &Agent,
        target: &Candidate,
        landed: &[Landed],
        state: &mut State,
    ) -> Result<u32, Failure> {
        let mut notes = state.notes_for(Part::Defence);
        notes.push((Note::Own, target.text.clone()));
        notes.extend(landed.iter().map(|Landed { finding, test }| {
            let test = test.as_ref().map_or_else(String::new, |test| format!("\n\nThis test fails:\n{}", test.code));
            (Note::Finding, format!("{} ({}): {}{test}", finding.title, finding.severity, finding.detail))
        }));
        let asking = Asking {
            at,
            key: at.key(&format!("defence/{round}")),
            agent: blue,
            part: Part::Defence,
            notes,
            answers: Vec::new(),
            schema: forms::answer(self.debating.language.is_some(), false),
            given: json!({ "language": self.debating.language, "code": target.code }),
            attempt: round - 1,
            rule: &no_rule,
            results: Value::Null,
            metadata: json!({ "adversarial_round": round, "of": target.author }),
        };
        let spoken = self.speak(ctx, asking).await?;
        self.hear(ctx, at, std::slice::from_ref(&spoken), state).await?;
        let Some(mut mended) = candidate(&spoken) else { return Ok(0) };
        let tests: Vec<TestCase> = landed.iter().filter_map(|landed| landed.test.clone()).collect();
        let counts = match tests.is_empty() {
            true => u32::try_from(landed.len()).unwrap_or(u32::MAX),
            false => {
                let key = at.key(&format!("defence/{round}/tests"));
                let red: Name = "red-team".parse()?;
                let run = self.test(ctx, &key, &mended, &red, &distinct(&tests)).await?;
                let results = run.as_ref().map(|run| evidence::results(&[run])).unwrap_or_default();
                let (passed, of) = (results.passed, u32::try_from(tests.len()).unwrap_or(u32::MAX));
                let failed = results.failures.iter().map(|failure| failure.test.clone()).collect();
                let told = Told::Tested { author: blue.id.clone(), phase: at.phase, passed, of, failed };
                tell(ctx, &format!("{key}/told"), told).await?;
                passed
            }
        };
        if counts == 0 {
            return Ok(0);
        }
        // The attacks stay: whatever comes later is tried on them too.
        for test in tests {
            if !mended.tests.iter().any(|known| known.name == test.name) {
                mended.tests.push(test);
            }
        }
        let taken = self.take(ctx, at, &format!("defence/{round}/cross"), target, mended, state).await?;
        Ok(if taken { counts } else { 0 })
    }
}

/// The first of the team with one of these roles, in the order of the roles; else anybody but `but`.
fn side(state: &State, roles: &[AgentRole], but: Option<&Name>) -> Option<Name> {
    let agents = || state.network.agents().iter().filter(|agent| Some(&agent.id) != but);
    let by_role = roles.iter().find_map(|role| agents().find(|agent| agent.role == *role));
    by_role.or_else(|| agents().next()).map(|agent| agent.id.clone())
}

/// What a red team handed in, and its tests. What cannot be read is never "nothing found".
fn read(spoken: &Spoken) -> (Report, Vec<TestCase>) {
    let Some(value) = spoken.answered() else { return (Report::Unread, Vec::new()) };
    let mut tests = Vec::new();
    let findings = value["findings"].as_array().into_iter().flatten().map(|finding| {
        let text = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        let test = evidence::tests(&json!([finding["test"]])).into_iter().next();
        let digest = test.as_ref().map(|test| findings::test_digest(&test.code));
        tests.extend(test);
        Finding {
            category: text("category"),
            severity: text("severity").parse().unwrap_or(Severity::Medium),
            title: text("title"),
            detail: text("description"),
            test: digest,
        }
    });
    let findings = findings.collect();
    (Report::Found(findings), tests)
}

/// A suite has no two tests of one name.
fn distinct(tests: &[TestCase]) -> Vec<TestCase> {
    let number =
        |(at, test): (usize, &TestCase)| TestCase { name: format!("{} ({})", test.name, at + 1), ..test.clone() };
    tests.iter().enumerate().map(number).collect()
}
