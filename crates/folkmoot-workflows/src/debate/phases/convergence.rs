//! Agents vote, and the debate is decided. Executed tests come before ballots.

use folkmoot_core::Name;
use folkmoot_debate::{
    Agent, CastVote, DebateEvent, DebateVerdict, DecidedBy, Dissent, NoDecision, NoteKind, TurnPart, TurnState,
    agent::{Share, choose},
    consensus::{Consensus, Contribution, label},
    effective::{EffectiveVotes, ModelRef},
    voting::{Ballot, ElectionResult, VotingRules, elect},
};
use folkmoot_engine::{Ctx, Failure};
use serde_json::{Value, json};

use super::{
    super::{
        DebateContext, EndReason, PhaseAttempt,
        config::NOBODY,
        parts::{BallotPart, EndorsePart},
        state::{Candidate, DebateState},
        tell,
        turn::{TurnRequest, TurnResult},
    },
    PhaseReport, authors, count,
};

/// A voter that is less confident than this has no opinion, and its vote does not count.
const CONFIDENCE_MIN: u8 = 30;
/// How much of a voter's evidence and objection is kept in the verdict.
const SAID_BYTES: usize = 1_000;

/// A voter's turn, and why it does not count, if it does not.
struct VoterTurn {
    turn: TurnResult<RankedAnswers>,
    refused: Option<String>,
}

/// A voter's ranking, with its reasons.
struct RankedAnswers {
    /// The authors of the answers, the best first.
    ranking: Vec<Name>,
    evidence: String,
    objection: String,
}

impl VoterTurn {
    fn ranking(&self) -> Option<&Vec<Name>> {
        self.turn.answer.as_ref().map(|answer| &answer.ranking)
    }
}

impl DebateContext {
    pub(in super::super) async fn convergence(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        state: &mut DebateState,
    ) -> Result<PhaseReport, Failure> {
        let voters = self.voters(at, state);
        let groups = state.network.turns(at.phase, &voters);
        let least = at.phase.rule().min_responses.min(voters.len());
        self.begin(ctx, at, &groups, state).await?;
        let standing = self.standing(state);
        if standing.is_empty() {
            let verdict = self.ended(
                EndReason::Undecided(NoDecision::TooFewResponses, "there is no answer".to_owned()),
                at.round,
                state,
            );
            return Ok(PhaseReport {
                verdict: Some(verdict),
                ..PhaseReport::note("there is no answer to vote on".to_owned())
            });
        }
        let (mut voted, mut messages) = (Vec::new(), 0);
        for (number, group) in groups.iter().enumerate() {
            let (known, standing): (&DebateState, &[Name]) = (state, &standing);
            let cast = ctx.join(at.key(&format!("group/{}", number + 1)), group.clone(), |ctx, id| async move {
                self.vote(&ctx, at, self.agent(&id)?, standing, known).await
            });
            for one in cast.await? {
                let shown = standing.iter().filter(|author| **author != one.turn.agent);
                messages += state.hops(&one.turn.agent, shown.filter_map(|author| state.candidates.get(author)));
                self.add_turn(ctx, at, &one.turn, state).await?;
                voted.push(one);
            }
        }
        let too_few = self.too_few(at, least, state);
        let verdict = self.count(at, &standing, &voted, state)?;
        for (number, cast) in verdict.ballots.iter().enumerate() {
            let CastVote { voter, ranking, confidence, refused, .. } = cast.clone();
            let told = DebateEvent::Vote { voter, round: at.round, ranking, confidence, refused };
            tell(ctx, &at.key(&format!("vote/{}", number + 1)), told).await?;
        }
        let note = match (&verdict.winner, verdict.decided_by) {
            (Some(winner), Some(by)) => format!("{winner}'s answer wins, by {by}"),
            _ => format!("no decision: {}", verdict.reason),
        };
        let insights = count(verdict.ballots.len());
        Ok(PhaseReport { too_few, messages, insights, verdict: Some(verdict), ..PhaseReport::note(note) })
    }

    /// The agents that vote: those whom the phase requires, then the others, up to the limit of the
    /// phase.
    fn voters<'a>(&self, at: PhaseAttempt, state: &'a DebateState) -> Vec<&'a Agent> {
        let required = choose(at.phase, state.network.agents(), &[]).agents;
        let others = state.network.agents().iter().filter(|agent| !required.iter().any(|voter| voter.id == agent.id));
        let mut voters: Vec<&Agent> = required.iter().copied().chain(others).collect();
        voters.truncate(at.phase.rule().max_parallel);
        voters
    }

    /// The authors whose answers can be voted for. Two agents say yes or no to one answer, the
    /// leading one, because each would vote for their own. Of identical answers only the first
    /// author's stands, because they would split the votes.
    fn standing(&self, state: &DebateState) -> Vec<Name> {
        if state.network.agents().len() <= 2 {
            return state.leading().map(|candidate| candidate.author.clone()).into_iter().collect();
        }
        let mut standing: Vec<Name> = Vec::new();
        for author in state.eligible() {
            let same = standing.iter().any(|other| state.is_same(other, &author));
            standing.extend((!same).then_some(author));
        }
        standing
    }

    async fn vote(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        voter: &Agent,
        standing: &[Name],
        state: &DebateState,
    ) -> Result<VoterTurn, Failure> {
        let run = ctx.run_id().to_string();
        let shown = state.shown_to(voter, &shown(standing, &voter.id, state), &run, at.round);
        let is_only = standing.len() == 1;
        let mut notes = state.notes_for(if is_only { TurnPart::Endorse } else { TurnPart::Ballot });
        notes.extend(state.results(&shown));
        let authors = authors(&shown);
        notes.extend(state.points.iter().filter_map(|point| {
            let number = authors.iter().position(|author| *author == point.author)? + 1;
            Some((NoteKind::Point, format!("Answer {number}: {}", point.text)))
        }));
        let passed = |candidate: &Candidate| state.tested(&candidate.author).map_or(0, |tested| tested.passed);
        let candidates: Vec<Value> = shown
            .iter()
            .enumerate()
            .map(|(at, candidate)| json!({ "id": (at + 1).to_string(), "passed": passed(candidate) }))
            .collect();
        let passes =
            shown.first().is_none_or(|only| state.tested(&only.author).is_none_or(|tested| tested.passed == tested.of));
        let request = TurnRequest {
            notes,
            given: json!({ "candidates": candidates, "passes": passes }),
            attempt: at.round - 1,
            metadata: json!({ "shown": authors }),
            shown,
            ..TurnRequest::new(at, "turn", voter)
        };
        let turn = match is_only {
            true => self.ask(ctx, EndorsePart, request).await?.map(|answer| RankedAnswers {
                ranking: if answer.endorse { authors } else { vec![none()] },
                evidence: said(&answer.evidence),
                objection: said(&answer.objection),
            }),
            false => self.ask(ctx, BallotPart { answers: authors.len() }, request).await?.map(|answer| {
                let places = answer.ranking.iter().filter_map(|number| number.parse::<usize>().ok()?.checked_sub(1));
                RankedAnswers {
                    ranking: places.filter_map(|place| authors.get(place).cloned()).collect(),
                    evidence: said(&answer.evidence),
                    objection: said(&answer.objection),
                }
            }),
        };
        let unsure = turn.confidence.is_some_and(|sure| sure.as_hundredths() < CONFIDENCE_MIN);
        let refused = match (&turn.answer, unsure) {
            (None, _) => Some(turn.why.clone()),
            (Some(_), true) => Some(format!("it is less sure than 0.{CONFIDENCE_MIN}")),
            (Some(_), false) => None,
        };
        Ok(VoterTurn { turn, refused })
    }

    fn count(
        &self,
        at: PhaseAttempt,
        standing: &[Name],
        voted: &[VoterTurn],
        state: &DebateState,
    ) -> Result<DebateVerdict, Failure> {
        let mut candidates = standing.to_vec();
        if standing.len() == 1 {
            candidates.push(none());
        }
        let ballots: Vec<Ballot> = voted.iter().filter_map(|voted| self.ballot(voted, standing, state)).collect();
        let least = usize::from(at.phase.rule().min_responses as u8).min(voted.len());
        let rules = VotingRules {
            method: self.config.method(),
            fallback: self.config.voting_fallback,
            tie_break: self.config.tie_break,
            minimum_votes: self.config.minimum_votes.unwrap_or(u32::try_from(least).unwrap_or(u32::MAX)),
        };
        let elected = elect(&candidates, &ballots, rules)?;
        let votes: Vec<Name> = ballots.iter().filter_map(|ballot| ballot.ranking.first().cloned()).collect();
        let contributions: Vec<Contribution<'_>> = voted.iter().map(|voted| contribution(voted, state)).collect();
        let consensus = Consensus::of(&contributions, &votes);
        let by_voice: Vec<(&Ballot, ModelRef<'_>)> =
            ballots.iter().filter_map(|ballot| Some((ballot, voice_of(voted, &ballot.voter)?))).collect();
        // If executed tests leave one of several answers, no opinion overrides them, unless more
        // than half of the voters want none of the answers.
        let against = votes.iter().filter(|vote| **vote == none()).count();
        let by_tests = standing.len() == 1
            && state.network.agents().len() > 2
            && state.eligible().len() < state.candidates.len()
            && state.tested(&standing[0]).is_some_and(|tested| tested.passed == tested.of)
            && against * 2 <= votes.len();
        let for_an_answer = elected.winner.clone().filter(|winner| *winner != none());
        let (winner, decided_by) = match (for_an_answer, by_tests) {
            (_, true) => (Some(standing[0].clone()), Some(DecidedBy::Tests)),
            (Some(winner), false) => (Some(winner), Some(DecidedBy::Vote)),
            (None, false) => (None, None),
        };
        // If the voters did not choose the winner, they did not agree on it, however much they
        // agreed on something else.
        let is_elected = winner.is_some() && winner == elected.winner;
        let label = label(&candidates, &ballots, &elected)?.filter(|_| is_elected);
        let reason = match (&winner, elected.undecided) {
            (Some(_), _) => String::new(),
            (None, Some(reason)) => format!("the ballots decide nothing: {reason}"),
            (None, None) => "the voters want none of the answers".to_owned(),
        };
        let no_decision =
            winner.is_none().then_some(if ballots.is_empty() { NoDecision::NoVotes } else { NoDecision::Undecided });
        let sure: Vec<u64> = ballots
            .iter()
            .filter(|ballot| ballot.ranking.first() == winner.as_ref())
            .map(|ballot| ballot.confidence.as_hundredths().into())
            .collect();
        Ok(DebateVerdict {
            decided_by,
            no_decision,
            reason,
            voting_method: Some(rules.method),
            label: label.map_or_else(String::new, |label| label.word().to_owned()),
            confidence: Share::part(sure.iter().sum(), sure.len() as u64 * 100),
            consensus: consensus.level.filter(|_| consensus.votes > 0 && (is_elected || winner.is_none())),
            rounds: at.round,
            effective_votes: (!ballots.is_empty()).then(|| EffectiveVotes::of_ballots(&by_voice).votes),
            ballots: voted.iter().map(|voted| self.cast(voted, standing, state)).collect(),
            dissent: dissent(voted, winner.as_ref(), state),
            tests: winner.as_ref().and_then(|winner| state.tested(winner)).map(|tested| (tested.passed, tested.of)),
            turns: state.turns,
            consensus_reached: false,
            elected: Some(ElectionResult { winner: elected.winner.clone(), ..elected }),
            winner,
        })
    }

    /// The ballot of a voter; `None` if its vote does not count. Its weight in weighted voting
    /// comes from the voter's confidence and score, and is higher if no other agent has its role.
    fn ballot(&self, voted: &VoterTurn, standing: &[Name], state: &DebateState) -> Option<Ballot> {
        let ranking = voted.ranking().filter(|_| voted.refused.is_none())?.clone();
        let voter = self.config.agent(&voted.turn.agent)?;
        let confidence = voted.turn.confidence.unwrap_or(Share::CONFIDENCE);
        let score = 1_000 + 2 * u64::from(voter.score.as_tenths());
        let diversity = if agents_with_same_role(voted, state) <= 1 { 1_040 } else { 1_000 };
        let shown = shown(standing, &voter.id, state);
        let recused = standing.iter().filter(|author| !shown.contains(author)).cloned().collect();
        let weight = u64::from(confidence.as_hundredths()) * score * diversity / 10_000;
        Some(Ballot { voter: voter.id.clone(), ranking, recused, weight, confidence, score: voter.score })
    }

    fn cast(&self, voted: &VoterTurn, standing: &[Name], state: &DebateState) -> CastVote {
        let ballot = self.ballot(voted, standing, state);
        CastVote {
            voter: voted.turn.agent.clone(),
            ranking: voted.ranking().cloned().unwrap_or_default(),
            confidence: voted.turn.confidence.unwrap_or(Share::ZERO),
            weight: ballot.map_or(0, |ballot| ballot.weight),
            evidence: voted.turn.answer.as_ref().map_or_else(String::new, |answer| answer.evidence.clone()),
            refused: voted.refused.clone(),
        }
    }
}

/// The standing answers that a voter is shown. If there are three or more, the voter's own answer
/// and identical ones are left out, because the voter may not vote for them.
fn shown(standing: &[Name], voter: &Name, state: &DebateState) -> Vec<Name> {
    let own = |author: &Name| author == voter || state.is_same(author, voter);
    standing.iter().filter(|author| standing.len() <= 2 || !own(author)).cloned().collect()
}

/// The model that really spoke for a voter. It can be a fallback for one that failed.
fn voice_of<'a>(voted: &'a [VoterTurn], voter: &Name) -> Option<ModelRef<'a>> {
    let TurnResult { provider, model, .. } = &voted.iter().find(|voted| voted.turn.agent == *voter)?.turn;
    Some(ModelRef { provider, model })
}

/// How many agents of the network have this voter's role.
fn agents_with_same_role(voted: &VoterTurn, state: &DebateState) -> u64 {
    let agents = state.network.agents();
    let role = agents.iter().find(|agent| agent.id == voted.turn.agent).map(|agent| agent.role);
    agents.iter().filter(|agent| Some(agent.role) == role).count() as u64
}

fn contribution<'a>(voted: &'a VoterTurn, state: &'a DebateState) -> Contribution<'a> {
    match (voted.ranking(), &voted.refused) {
        (Some(ranking), None) => {
            let chosen = ranking.first().and_then(|author| state.candidates.get(author));
            Contribution::Answer { text: chosen.map_or("", |chosen| &chosen.text), confidence: voted.turn.confidence }
        }
        (Some(_), Some(_)) => Contribution::Unparsed,
        (None, _) if voted.turn.state == TurnState::Failed => Contribution::Failed,
        (None, _) => Contribution::Unparsed,
    }
}

/// Voters who prefer another answer or none, except those who were not shown the winner because it
/// is their own.
fn dissent(voted: &[VoterTurn], winner: Option<&Name>, state: &DebateState) -> Vec<Dissent> {
    let own = |voter: &Name| winner.is_some_and(|winner| winner == voter || state.is_same(winner, voter));
    let dissent = |voted: &VoterTurn| {
        let RankedAnswers { ranking, objection, .. } = voted.turn.answer.as_ref()?;
        let wants_none = *ranking == [none()];
        let differs = ranking.first() != winner && (wants_none || !own(&voted.turn.agent));
        differs.then(|| Dissent {
            agent: voted.turn.agent.clone(),
            prefers: ranking.first().filter(|name| **name != none()).cloned(),
            objection: objection.clone(),
        })
    };
    voted.iter().filter_map(dissent).collect()
}

/// A voter's text as it is in the verdict: shortened, and without control characters.
fn said(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    folkmoot_core::text::shortened(&plain, SAID_BYTES)
}

fn none() -> Name {
    NOBODY.parse().expect("a plain word is a name")
}
