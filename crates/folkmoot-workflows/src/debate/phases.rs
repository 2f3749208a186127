//! The eight phases, each in its file, and what they have in common: who speaks, in which order,
//! and what happens if an agent does not answer.

mod adversarial;
mod convergence;
mod critique;
mod dehallucination;
mod optimization;
mod proposal;
mod review;
mod self_evolvement;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use folkmoot_core::Name;
use folkmoot_debate::{
    Agent, DebateEvent, NoteKind, TurnState,
    agent::{AgentRole, choose, weight},
};
use folkmoot_engine::{Ctx, Failure};
use serde_json::{Value, json};

use super::{
    DebateContext, PhaseAttempt, PhaseReport,
    parts::{Part, ProposalAnswer, test_cases},
    state::{Candidate, DebateState},
    tell,
    turn::{TurnRequest, TurnResult},
};

impl DebateContext {
    /// Who speaks in a phase, in groups that speak one after another, and how many must answer.
    fn speakers(&self, at: PhaseAttempt, state: &DebateState) -> (Vec<Vec<Name>>, usize) {
        let chosen = choose(at.phase, state.network.agents(), &state.network.groups(at.phase));
        (state.network.turns(at.phase, &chosen.agents), chosen.min_responses)
    }

    /// The agents that write answers: proposers first, then those whose role has most to say about
    /// their domain.
    fn answerers(&self, at: PhaseAttempt, state: &DebateState) -> Vec<Vec<Name>> {
        let maker = |agent: &&Agent| {
            let proposes = matches!(agent.role, AgentRole::Proposer | AgentRole::Generator | AgentRole::Implementer);
            (std::cmp::Reverse(proposes), std::cmp::Reverse(weight(agent.domain, agent.role)), agent.id.clone())
        };
        let mut agents: Vec<&Agent> = state.network.agents().iter().collect();
        agents.sort_by_key(maker);
        agents.truncate(usize::try_from(self.config.answers).unwrap_or(usize::MAX));
        state.network.turns(at.phase, &agents)
    }

    async fn begin(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        speakers: &[Vec<Name>],
        state: &DebateState,
    ) -> Result<(), Failure> {
        let leader = state.network.leader(at.phase).clone();
        let speaks = |id: &Name| speakers.iter().flatten().any(|speaker| speaker == id);
        let team = state.network.agents().iter().map(|agent| agent.id.clone());
        let left_out = team.filter(|id| !speaks(id)).collect();
        let speakers = speakers.to_vec();
        let told = DebateEvent::PhaseStarted { phase: at.phase, round: at.round, leader, speakers, left_out };
        tell(ctx, &at.key("started"), told).await
    }

    fn agent(&self, id: &Name) -> Result<&Agent, Failure> {
        self.config.agent(id).ok_or_else(|| Failure::new("invalid_journal", format!("{id} is not in the team")))
    }

    /// Counts a turn. An agent whose turn failed is left out from here on.
    async fn add_turn<A>(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        turn: &TurnResult<A>,
        state: &mut DebateState,
    ) -> Result<(), Failure> {
        state.add_turn(turn);
        let is_there = state.network.agents().iter().any(|agent| agent.id == turn.agent);
        if turn.state == TurnState::Failed && is_there && state.network.agents().len() > 1 {
            state.network = state.network.without(&turn.agent)?;
            let told = DebateEvent::Rebalanced { agent: turn.agent.clone(), reason: turn.why.clone() };
            tell(ctx, &at.key(&format!("without/{}", turn.agent)), told).await?;
        }
        Ok(())
    }

    /// Asks the agent that `choose` names, and the next one if its turn fails. No agent is asked
    /// twice.
    async fn ask_or_next<'a, P: Part>(
        &'a self,
        ctx: &Ctx,
        at: PhaseAttempt,
        key: &str,
        choose: impl Fn(&DebateState) -> Option<Name>,
        ask: impl Fn(TurnRequest<'a>, &DebateState) -> (P, TurnRequest<'a>),
        state: &mut DebateState,
    ) -> Result<Option<TurnResult<P::Answer>>, Failure> {
        let mut last = None;
        let mut asked = BTreeSet::new();
        // Each turn of the loop asks another member of the team, so the loop ends.
        while let Some(id) = choose(state).filter(|id| asked.insert(id.clone())) {
            let key = if last.is_none() { at.key(key) } else { at.key(&format!("{key}/instead/{id}")) };
            let (part, request) = ask(TurnRequest::new(at, key, self.agent(&id)?), state);
            let turn = self.ask(ctx, part, request).await?;
            self.add_turn(ctx, at, &turn, state).await?;
            let failed = turn.state == TurnState::Failed;
            last = Some(turn);
            if !failed {
                break;
            }
        }
        Ok(last)
    }

    /// A phase in which agents judge the answers of others, group after group, so that later groups
    /// need not repeat earlier ones. `keep` gets each turn with the authors of the answers that the
    /// agent was shown. Returns how many messages it took, and how many agents must answer.
    async fn judge<P: Part>(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        state: &mut DebateState,
        part: impl Fn(usize) -> P + Send + Sync,
        keep: impl Fn(&mut DebateState, TurnResult<P::Answer>, &[Name]) + Send + Sync,
    ) -> Result<(u32, usize), Failure> {
        let (groups, min_responses) = self.speakers(at, state);
        self.begin(ctx, at, &groups, state).await?;
        let mut messages = 0;
        let mut asked: BTreeSet<Name> = groups.iter().flatten().cloned().collect();
        let (mut groups, mut number) = (VecDeque::from(groups), 0);
        let (run, part) = (ctx.run_id().as_str(), &part);
        while let Some(group) = groups.pop_front() {
            number += 1;
            let known: &DebateState = state;
            let turns = ctx.join(at.key(&format!("group/{number}")), group, |ctx, id| async move {
                let agent = self.agent(&id)?;
                let shown = known.read_by(agent, run, at.round);
                if shown.is_empty() {
                    return Ok(None);
                }
                let part = part(shown.len());
                let mut notes = known.notes_for(part.part());
                notes.extend(known.results(&shown));
                notes.extend(known.points.iter().map(|point| (NoteKind::Point, point.text.clone())));
                let (authors, hops) = (authors(&shown), known.hops(&id, shown.iter().copied()));
                let request = TurnRequest {
                    notes,
                    given: json!({ "answers": numbered(&shown) }),
                    shown,
                    attempt: at.again,
                    metadata: json!({ "shown": authors }),
                    ..TurnRequest::new(at, "turn", agent)
                };
                Ok(Some((self.ask(&ctx, part, request).await?, authors, hops)))
            });
            for (turn, authors, hops) in turns.await?.into_iter().flatten() {
                messages += hops;
                self.add_turn(ctx, at, &turn, state).await?;
                keep(state, turn, &authors);
            }
            if groups.is_empty() {
                groups.extend(self.substitutes(at, min_responses, &mut asked, state));
            }
        }
        Ok((messages, min_responses))
    }

    /// Chooses agents in place of those whose turn gave no answer, as many as are missing. `asked`
    /// holds every agent that was chosen for the phase, and gets those that are chosen now. No
    /// agent is chosen twice, so a phase has no more turns than the team has members.
    fn substitutes(
        &self,
        at: PhaseAttempt,
        min_responses: usize,
        asked: &mut BTreeSet<Name>,
        state: &DebateState,
    ) -> Vec<Vec<Name>> {
        let answered = state.answered();
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

    /// The report of a phase that the debate can do without. If too few agents answered, the report
    /// says so, and the debate goes on.
    fn optional_phase(&self, at: PhaseAttempt, min_responses: usize, note: String, state: &DebateState) -> PhaseReport {
        PhaseReport::note(match self.too_few(at, min_responses.min(state.in_phase.len()), state) {
            Some(too_few) => format!("{note}; {too_few}, and the debate goes on without them"),
            None => note,
        })
    }

    /// Says how many answered and why not more, if too few did.
    fn too_few(&self, at: PhaseAttempt, min_responses: usize, state: &DebateState) -> Option<String> {
        let answered = state.answered();
        (answered < min_responses).then(|| {
            let mut why: BTreeMap<TurnState, u32> = BTreeMap::new();
            let lost = state.in_phase.iter().filter(|(state, _)| *state != TurnState::Answered);
            lost.for_each(|(state, _)| *why.entry(*state).or_default() += 1);
            let why: Vec<String> = why.iter().map(|(state, count)| format!("{count} {state}")).collect();
            format!("{answered} answered in {}, and {min_responses} must ({})", at.phase, why.join(", "))
        })
    }
}

/// The answer of a turn as a candidate.
fn candidate(turn: &TurnResult<ProposalAnswer>) -> Option<Candidate> {
    let answer = turn.answer.as_ref()?;
    Some(Candidate {
        author: turn.agent.clone(),
        text: turn.text.clone(),
        position: answer.position.clone().unwrap_or_default(),
        code: answer.code.clone(),
        tests: test_cases(&answer.tests),
        confidence: turn.confidence,
        turn: turn.id.clone(),
    })
}

/// Candidates as the rehearsal model is told of them.
fn numbered(shown: &[&Candidate]) -> Value {
    shown.iter().enumerate().map(|(at, candidate)| json!({ "number": at + 1, "code": candidate.code })).collect()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn authors(shown: &[&Candidate]) -> Vec<Name> {
    shown.iter().map(|candidate| candidate.author.clone()).collect()
}

impl PhaseReport {
    fn note(note: String) -> Self {
        Self { note, ..Self::default() }
    }
}
