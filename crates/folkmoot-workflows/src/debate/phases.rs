//! The eight phases, each in its file, and what they have in common: who speaks, in which order,
//! and what comes of somebody who does not answer.

mod adversarial;
mod convergence;
mod critique;
mod dehallucination;
mod optimization;
mod proposal;
mod review;
mod self_evolvement;

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_core::{
    Agent, Name,
    agent::{AgentRole, choose, weight},
    debate::{DebateEvent, TurnState},
};
use folkmoot_engine::{Ctx, Failure};
use serde_json::{Value, json};

use super::{
    PhaseReport,
    room::{At, Room, TurnRequest, TurnResult},
    state::{Candidate, DebateState},
    tell,
};

impl Room {
    /// Who speaks in a phase, in groups one after another, and how many of them must answer.
    fn speakers(&self, at: At, state: &DebateState) -> (Vec<Vec<Name>>, usize) {
        let chosen = choose(at.phase, state.network.agents(), &state.network.groups(at.phase));
        (state.network.turns(at.phase, &chosen.agents), chosen.min_responses)
    }

    /// Those who answer: proposers first, then whoever is best at making something of the domain.
    fn answerers(&self, at: At, state: &DebateState) -> Vec<Vec<Name>> {
        let maker = |agent: &&Agent| {
            let proposes = matches!(agent.role, AgentRole::Proposer | AgentRole::Generator | AgentRole::Implementer);
            (std::cmp::Reverse(proposes), std::cmp::Reverse(weight(agent.domain, agent.role)), agent.id.clone())
        };
        let mut agents: Vec<&Agent> = state.network.agents().iter().collect();
        agents.sort_by_key(maker);
        agents.truncate(usize::try_from(self.debating.answers).unwrap_or(usize::MAX));
        state.network.turns(at.phase, &agents)
    }

    async fn begin(&self, ctx: &Ctx, at: At, speakers: &[Vec<Name>], state: &DebateState) -> Result<(), Failure> {
        let leader = state.network.leader(at.phase).clone();
        let speaks = |id: &Name| speakers.iter().flatten().any(|speaker| speaker == id);
        let team = state.network.agents().iter().map(|agent| agent.id.clone());
        let left_out = team.filter(|id| !speaks(id)).collect();
        let speakers = speakers.to_vec();
        let told = DebateEvent::PhaseStarted { phase: at.phase, round: at.round, leader, speakers, left_out };
        tell(ctx, &at.key("started"), told).await
    }

    fn agent(&self, id: &Name) -> Result<&Agent, Failure> {
        self.debating.agent(id).ok_or_else(|| Failure::new("invalid_journal", format!("{id} is not in the team")))
    }

    /// Hears what came of some turns. Whoever gave no answer at all, with whatever voice, is left
    /// out from here on.
    async fn hear(&self, ctx: &Ctx, at: At, spoken: &[TurnResult], state: &mut DebateState) -> Result<(), Failure> {
        for one in spoken {
            state.hear(one);
            let is_there = state.network.agents().iter().any(|agent| agent.id == one.agent);
            if one.state == TurnState::Failed && is_there && state.network.agents().len() > 1 {
                state.network = state.network.without(&one.agent)?;
                let told = DebateEvent::Rebalanced { agent: one.agent.clone(), reason: one.why.clone() };
                tell(ctx, &at.key(&format!("without/{}", one.agent)), told).await?;
            }
        }
        Ok(())
    }

    /// One turn of whoever is there for it, and of the next one where they give no answer at all.
    /// Nobody is asked twice.
    async fn speak_or_next<'a>(
        &'a self,
        ctx: &Ctx,
        key: &str,
        who: impl Fn(&DebateState) -> Option<Name>,
        asking: impl Fn(&'a Agent, &DebateState) -> TurnRequest<'a>,
        state: &mut DebateState,
    ) -> Result<Option<TurnResult>, Failure> {
        let mut last: Option<TurnResult> = None;
        let mut asked = BTreeSet::new();
        loop {
            // Each turn of the loop asks another member of the team, so there are no more turns
            // than members.
            let Some(id) = who(state).filter(|id| asked.insert(id.clone())) else { return Ok(last) };
            let mut asking = asking(self.agent(&id)?, state);
            let at = asking.at;
            asking.key = if last.is_none() { at.key(key) } else { at.key(&format!("{key}/instead/{id}")) };
            let spoken = self.speak(ctx, asking).await?;
            self.hear(ctx, at, std::slice::from_ref(&spoken), state).await?;
            if spoken.state != TurnState::Failed {
                return Ok(Some(spoken));
            }
            last = Some(spoken);
        }
    }

    /// Who speaks in place of those whose turn gave no answer, as many as are missing. `asked`
    /// holds everybody who had a turn in the phase, also those who had nothing to say, and gets
    /// those who are chosen now: nobody is chosen twice, so a phase has no more turns than the team
    /// has members.
    fn instead(&self, at: At, min_responses: usize, asked: &mut BTreeSet<Name>, state: &DebateState) -> Vec<Vec<Name>> {
        let answered = state.in_phase.iter().filter(|spoken| spoken.answered().is_some()).count();
        let missing = min_responses.saturating_sub(answered).min(state.in_phase.len() - answered);
        let is_new = |agent: &&Agent| !asked.contains(&agent.id);
        let rest: Vec<Agent> = state.network.agents().iter().filter(is_new).cloned().collect();
        if missing == 0 || rest.is_empty() {
            return Vec::new();
        }
        let mut chosen = choose(at.phase, &rest, &state.network.groups(at.phase)).agents;
        chosen.truncate(missing);
        asked.extend(chosen.iter().map(|agent| agent.id.clone()));
        state.network.turns(at.phase, &chosen)
    }

    /// A phase whose answers help and are not needed: where too few gave one, that is said, and the
    /// debate goes on with what there is.
    fn helps(&self, at: At, min_responses: usize, note: String, state: &DebateState) -> PhaseReport {
        PhaseReport::said(match self.too_few(at, min_responses.min(state.in_phase.len()), state) {
            Some(too_few) => format!("{note}; {too_few}, and the debate goes on without them"),
            None => note,
        })
    }

    /// Whether too few answered of those who were asked.
    fn too_few(&self, at: At, min_responses: usize, state: &DebateState) -> Option<String> {
        let answered = state.in_phase.iter().filter(|spoken| spoken.answered().is_some()).count();
        (answered < min_responses).then(|| {
            let lost = state.in_phase.iter().filter(|spoken| spoken.answered().is_none());
            let mut why: BTreeMap<TurnState, u32> = BTreeMap::new();
            lost.for_each(|spoken| *why.entry(spoken.state).or_default() += 1);
            let why: Vec<String> = why.iter().map(|(state, count)| format!("{count} {state}")).collect();
            format!("{answered} answered in {}, and {min_responses} must ({})", at.phase, why.join(", "))
        })
    }
}

/// An answer as a candidate.
fn candidate(spoken: &TurnResult) -> Option<Candidate> {
    let value = spoken.answered()?;
    Some(Candidate {
        author: spoken.agent.clone(),
        text: spoken.content.clone(),
        position: value["position"].as_str().unwrap_or_default().to_owned(),
        code: value["code"].as_str().map(str::to_owned),
        tests: super::evidence::tests(&value["tests"]),
        confidence: spoken.confidence,
        turn: spoken.turn.clone(),
    })
}

/// Candidates as the rehearsal is told of them.
fn numbered(shown: &[&Candidate]) -> Value {
    shown.iter().enumerate().map(|(at, candidate)| json!({ "number": at + 1, "code": candidate.code })).collect()
}

fn texts(shown: &[&Candidate]) -> Vec<String> {
    shown.iter().map(|candidate| candidate.text.clone()).collect()
}

fn no_rule(_: &Value) -> Result<(), String> {
    Ok(())
}

/// The candidate that a number in an answer means.
fn meant<'a>(shown: &'a [Name], number: &Value) -> Option<&'a Name> {
    // A whole number can be written as 1.0.
    let whole = number
        .as_f64()
        .filter(|number| number.fract() == 0.0 && (1.0..=1000.0).contains(number))
        .map(|number| number as u64);
    let number = number.as_u64().or(whole).and_then(|number| usize::try_from(number).ok())?;
    shown.get(number.checked_sub(1)?)
}

fn authors(shown: &[&Candidate]) -> Vec<Name> {
    shown.iter().map(|candidate| candidate.author.clone()).collect()
}

impl PhaseReport {
    fn said(note: String) -> Self {
        Self { note, ..Self::default() }
    }
}
