//! Debates on the wire.

use std::{collections::BTreeMap, fmt};

use folkmoot_core::{Digest, GateId, Name, QuestionId, RunId, SessionId, Timeout, Timestamp, gate::OnTimeout};
use folkmoot_debate::{
    self as debate, CastVote, DecidedBy, Dissent, NoDecision, Provenance, Style, Switch, Topology, Turns,
    agent::{AgentRole, DebatePhase, Domain, Score, Share},
    record::DebateStatus,
    voting::{ElectionResult, Fallback, TieBreak, VotingMethod},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::{Fault, Outage, PlanBudget, object, schema};

/// Starts a debate. Only `topic` is required. All other fields override the preset.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"topic": "Is a queue or a log the better fit for our audit trail?", "preset": "economy", "agents": 3}))]
pub struct StartDebate {
    /// What the debate is about.
    #[schema(min_length = 1, max_length = 65536)]
    pub topic: String,
    /// The debate's id, which must be new; by default it is generated.
    pub id: Option<RunId>,
    /// The debate's session; by default a new UUID.
    pub session_id: Option<SessionId>,
    /// A number of agents, or a list of them; by default the preset's number.
    pub agents: Option<Agents>,
    /// `full` (the default: all phases), `economy` (stops early if the first answers agree) or
    /// `quick` (answers and a vote).
    pub preset: Option<String>,
    /// Which agents hear each other; `auto` chooses by the size of the team.
    #[schema(schema_with = schema::or_auto::<Topology>)]
    pub topology: Option<OrAuto<Topology>>,
    /// Which agents plan; `auto` is `adaptive`.
    #[schema(schema_with = schema::or_auto::<Style>)]
    pub planning: Option<OrAuto<Style>>,
    /// How ballots are counted; `auto` chooses by the number of agents.
    #[schema(schema_with = schema::or_auto::<VotingMethod>)]
    pub voting: Option<OrAuto<VotingMethod>>,
    /// The method that decides if no answer beats all others.
    pub voting_fallback: Option<Fallback>,
    /// How a tie for the first place is broken; `none` leaves it undecided.
    #[schema(schema_with = schema::or_none::<TieBreak>)]
    pub tie_break: Option<OrNone<TieBreak>>,
    /// The number of agents that must vote.
    #[schema(minimum = 1)]
    pub minimum_votes: Option<u32>,
    /// The maximum number of rounds.
    #[schema(minimum = 1, maximum = 10)]
    pub max_rounds: Option<u32>,
    /// The agreement at which the debate ends, from 0 to 1 in hundredths.
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 1, multiple_of = 0.01)]
    pub min_consensus: Option<Decimal>,
    /// `true`, `false` or `"auto"` for each phase that should differ from the preset.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<DebatePhase, PhaseSwitch>,
    /// Whether enough agreement ends the debate before its last round.
    pub early_exit: Option<bool>,
    /// Whether the debate ends if the first answers are the same. Agents give them before they see
    /// each other's.
    pub early_agreement: Option<bool>,
    /// The number of agents that answer.
    #[schema(minimum = 1)]
    pub answers: Option<u32>,
    /// The number of agents that speak at the same time.
    #[schema(minimum = 1, maximum = 64)]
    pub max_parallel: Option<u32>,
    /// The language of the debate's code; by default it is guessed from the topic. `none` if the
    /// topic is not about code.
    pub language: Option<String>,
    /// How often agents may ask what is unclear.
    #[schema(minimum = 1, maximum = 10)]
    pub clarification_rounds: Option<u32>,
    /// Who answers those questions: `agent` (the default) or `person`.
    pub instructor: Option<String>,
    /// How often an agent repairs its own draft before others see it.
    #[schema(minimum = 0, maximum = 10)]
    pub self_evolvement_iterations: Option<u32>,
    /// How often an agent tries to improve the best answer. After a failed attempt it reflects on
    /// the failure and tries again.
    #[schema(minimum = 1, maximum = 10)]
    pub reflexion_attempts: Option<u32>,
    /// How many of its newest reflections an agent sees when it tries again; default 10, which is
    /// all of them.
    #[schema(minimum = 1, maximum = 100)]
    pub reflections_max: Option<u32>,
    /// How often the red team attacks.
    #[schema(minimum = 1, maximum = 10)]
    pub adversarial_rounds: Option<u32>,
    /// The number of tool calls that an agent has in a turn; 0 for none.
    #[schema(minimum = 0, maximum = 32)]
    pub tool_calls_max: Option<u32>,
    /// Whether the debate sees lessons of earlier debates and keeps new ones.
    pub lessons: Option<bool>,
    /// After which phases people decide, and on which terms.
    #[serde(default, deserialize_with = "object::maybe")]
    pub gates: Option<DebateGates>,
    /// The model provider, as `provider` or `provider/model`; by default the server's.
    pub provider: Option<String>,
    /// The longest answer of a model, in tokens; by default as the provider is configured.
    #[schema(minimum = 1, maximum = 1000000)]
    pub max_tokens: Option<u32>,
    /// What the debate may spend on models; by default as configured.
    #[serde(default, deserialize_with = "object::maybe")]
    pub budget: Option<PlanBudget>,
    /// The longest working time; default 24 hours. Waiting does not count.
    #[schema(minimum = 1)]
    pub timeout_ms: Option<u64>,
    /// A repository on the server. The debate's code is committed there, on a branch of its own.
    /// For reviewers and admins only.
    pub repository: Option<String>,
    /// When the project's own commands run: `post_proposal`, `post_optimization`,
    /// `post_adversarial`, `post_convergence`. For reviewers and admins only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
}

/// A number of agents, or a list of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Agents {
    /// This number of agents, in the roles that are needed most.
    Count(u64),
    /// Exactly these agents.
    Listed(Vec<NewAgent>),
}

/// An agent of a debate.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAgent {
    /// Unique in the debate.
    pub id: Name,
    pub role: AgentRole,
    /// The provider of its model; by default the debate's.
    pub provider: Option<String>,
    /// The model; by default the provider's.
    pub model: Option<String>,
    /// What it knows best; by default what the topic is about.
    pub domain: Option<Domain>,
    /// The quality of its work so far, from 0 to 10 in tenths; default 7.
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 10, multiple_of = 0.1)]
    pub score: Option<Decimal>,
}

/// After which phases people decide, and what happens if they do not.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DebateGates {
    /// Whether the debate has gates.
    pub enabled: bool,
    /// The phases after which a gate opens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gate_points: Vec<DebatePhase>,
    /// How long each gate waits; by default as the server's policy says.
    pub timeout_ms: Option<Timeout>,
    /// What a timeout does; by default as the server's policy says.
    pub on_timeout: Option<OnTimeout>,
    /// What a rejection does: `fail` (the default) ends the debate, `retry` repeats the phase, and
    /// `continue` goes on with what was said.
    pub on_rejected: Option<String>,
    /// The channels that are notified.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notification_channels: Vec<String>,
    pub reviewers: Option<Vec<Name>>,
}

/// A word of a vocabulary, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrAuto<T> {
    /// The word `auto`.
    Auto,
    /// A word of the vocabulary.
    Is(T),
}

/// A word of a vocabulary, or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrNone<T> {
    /// The word `none`.
    None,
    /// A word of the vocabulary.
    Is(T),
}

macro_rules! word_or {
    ($type:ident, $other:ident, $word:literal) => {
        impl<T: Serialize> Serialize for $type<T> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $type::$other => serializer.serialize_str($word),
                    $type::Is(word) => word.serialize(serializer),
                }
            }
        }

        impl<'de, T: std::str::FromStr<Err: fmt::Display>> Deserialize<'de> for $type<T> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = std::borrow::Cow::<str>::deserialize(deserializer)?;
                if word == $word {
                    return Ok($type::$other);
                }
                let unknown = |error| de::Error::custom(format_args!(concat!("{}, ", $word), error));
                word.parse().map($type::Is).map_err(unknown)
            }
        }
    };
}

word_or!(OrAuto, Auto, "auto");
word_or!(OrNone, None, "none");

/// Whether a debate has a phase: `true`, `false` or `"auto"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseSwitch(pub Switch);

impl Serialize for PhaseSwitch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Switch::On => serializer.serialize_bool(true),
            Switch::Off => serializer.serialize_bool(false),
            Switch::Auto => serializer.serialize_str(Switch::Auto.word()),
        }
    }
}

impl<'de> Deserialize<'de> for PhaseSwitch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PhaseSwitchVisitor;
        impl de::Visitor<'_> for PhaseSwitchVisitor {
            type Value = PhaseSwitch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or \"auto\"")
            }

            fn visit_bool<E: de::Error>(self, on: bool) -> Result<PhaseSwitch, E> {
                Ok(PhaseSwitch(if on { Switch::On } else { Switch::Off }))
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<PhaseSwitch, E> {
                match word.parse() {
                    Ok(Switch::Auto) => Ok(PhaseSwitch(Switch::Auto)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }
        }
        deserializer.deserialize_any(PhaseSwitchVisitor)
    }
}

impl Serialize for Agents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Agents::Count(count) => serializer.serialize_u64(*count),
            Agents::Listed(agents) => agents.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Agents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AgentsVisitor;
        impl<'de> de::Visitor<'de> for AgentsVisitor {
            type Value = Agents;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of agents, or a list of them")
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Agents, E> {
                Ok(Agents::Count(count))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, listed: A) -> Result<Agents, A::Error> {
                object::list(de::value::SeqAccessDeserializer::new(listed)).map(Agents::Listed)
            }
        }
        deserializer.deserialize_any(AgentsVisitor)
    }
}

/// A decimal number. Its range is not checked here, so that the server can refuse it with a good
/// message.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Decimal(pub f64);

impl Decimal {
    /// The number in hundredths, if it is from 0 to 1 and has at most two decimals.
    pub fn share(self) -> Option<Share> {
        Share::hundredths(self.scaled(100.0)?).ok()
    }

    /// The number in tenths, if it is from 0 to 10 and has at most one decimal.
    pub fn score(self) -> Option<Score> {
        Score::tenths(self.scaled(10.0)?).ok()
    }

    fn scaled(self, by: f64) -> Option<u8> {
        let scaled = self.0 * by;
        let whole = scaled.round();
        // A number with at most that many decimals is this close to a whole number.
        let exact = (scaled - whole).abs() < 1e-6 && (0.0..=100.0).contains(&whole);
        exact.then_some(whole as u8)
    }
}

impl From<Share> for Decimal {
    fn from(share: Share) -> Self {
        Self(f64::from(share.as_hundredths()) / 100.0)
    }
}

fn decimal(share: Option<Share>) -> Option<f64> {
    share.map(|share| Decimal::from(share).0)
}

/// A debate that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DebateStarted {
    /// The debate's id. `/v1/runs` has the debate under the same id.
    pub id: RunId,
    pub session_id: SessionId,
    pub status: DebateStatus,
}

/// A debate: a row of `debate_sessions`, and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Debate {
    /// The debate's id; `debate_id` in the row.
    pub id: RunId,
    /// The debate's session; `id` in the row.
    pub session_id: SessionId,
    /// What the debate is about; `null` if it was erased.
    pub topic: Option<String>,
    /// `paused` while the debate waits for people.
    pub status: DebateStatus,
    /// Which agents hear each other; `null` before the debate began.
    pub topology_type: Option<String>,
    /// Which agents plan; `null` before the debate began.
    pub coordination_protocol: Option<String>,
    /// The complete configuration; `null` before the debate began.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Value>,
    /// The principal that started the debate.
    pub initiated_by: Name,
    pub created_at: Timestamp,
    /// When the debate last progressed.
    pub updated_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    /// The number of rounds that are over.
    pub total_rounds: u32,
    /// The agreement at the end, from 0 to 1.
    pub final_consensus_score: Option<f64>,
    /// The winner, the voting method, the confidence and more, once there are any.
    #[schema(value_type = Option<Object>)]
    pub outcome: Option<Value>,
    /// Further information.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    /// The present phase, or the last one.
    pub phase: Option<DebatePhase>,
    /// The present round; 0 before the first.
    pub round: u32,
    /// The gate at which the debate waits.
    pub waiting_at: Option<GateId>,
    /// The open questions to people for which the debate waits.
    #[serde(default)]
    pub questions: Vec<QuestionId>,
    /// The unavailable model providers for which the debate waits. It continues by itself when they
    /// are back, or at once when its run is resumed.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// The ids of the questions and halts that keep the debate from working, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub halted_by: Vec<String>,
    /// What the debate has spent on models.
    pub cost: DebateCost,
    /// Why the debate has no result, if it failed, was cancelled or is stopped.
    pub fault: Option<Fault>,
}

/// What was spent on models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateCost {
    /// Tokens read and written.
    pub tokens: u64,
    /// US dollars, for models whose price is known.
    pub usd: f64,
}

/// The progress of a debate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateProgress {
    pub id: RunId,
    pub session_id: SessionId,
    pub status: DebateStatus,
    /// The present phase, or the last one.
    pub phase: Option<DebatePhase>,
    /// The present round; 0 before the first.
    pub round: u32,
    /// The agent that leads the phase.
    pub leader: Option<Name>,
    /// The agents that still have to speak in this phase.
    pub speaking: Vec<Name>,
    /// The number of turns by outcome.
    pub turns: DebateTurns,
    /// The number of valid votes in this round.
    pub votes: u32,
    /// The gate at which the debate waits.
    pub waiting_at: Option<GateId>,
    /// The open questions to people for which the debate waits.
    #[serde(default)]
    pub questions: Vec<QuestionId>,
    /// The unavailable model providers for which the debate waits. It continues by itself when they
    /// are back, or at once when its run is resumed.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// The ids of the questions and halts that keep the debate from working, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub halted_by: Vec<String>,
    /// What the debate has spent on models.
    pub cost: DebateCost,
    /// Why the debate has no result, if it failed, was cancelled or is stopped.
    pub fault: Option<Fault>,
}

/// The number of turns by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DebateTurns {
    /// Turns with a valid answer.
    pub answered: u32,
    /// Turns whose answer does not have the required form.
    pub unparsed: u32,
    /// Turns in which the model gave no answer.
    pub failed: u32,
    /// Turns whose answer breaks a rule of the debate and does not count.
    pub refused: u32,
}

impl From<Turns> for DebateTurns {
    fn from(Turns { answered, unparsed, failed, refused }: Turns) -> Self {
        Self { answered, unparsed, failed, refused }
    }
}

/// The results of a debate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateResults {
    pub id: RunId,
    pub session_id: SessionId,
    /// Always `completed`.
    pub status: DebateStatus,
    /// What was decided and how, or why nothing was decided.
    pub verdict: DebateVerdict,
    /// The winning answer; empty if nothing was decided.
    pub answer: String,
    /// If nothing was decided: all answers, best first. The verdict gives the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<UndecidedAnswer>,
    pub code: Option<String>,
    /// The language of the code.
    pub language: Option<String>,
    /// The number of versions of the code.
    pub versions: u32,
    /// The model providers that were asked.
    pub providers: Vec<String>,
    /// What the debate spent on models.
    pub cost: DebateCost,
}

/// An answer of a debate that decided nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UndecidedAnswer {
    pub author: Name,
    /// The text of the answer.
    pub answer: String,
    pub code: Option<String>,
    /// How many of the other agents' tests it passes.
    pub tests: Option<DebateTests>,
    /// The mean of the reviewers' scores, from 0 to 1.
    pub quality: Option<f64>,
}

/// The verdict of a debate. Shares are from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateVerdict {
    /// The agent whose answer won; `null` if nothing was decided.
    pub winner: Option<Name>,
    /// What decided: the vote, tests, or agreement.
    pub decided_by: Option<DecidedBy>,
    /// Why nothing was decided.
    pub no_decision: Option<NoDecision>,
    /// The reason in words.
    pub reason: String,
    pub voting_method: Option<VotingMethod>,
    /// How the ballots fell, such as `unanimous` or `majority`; empty if nobody voted.
    pub label: String,
    /// The confidence of those who voted for the winner.
    pub confidence: Option<f64>,
    /// The agreement among the agents.
    pub consensus: Option<f64>,
    /// The number of rounds.
    pub rounds: u32,
    /// The estimated number of independent votes. Agents of one model that agree count for little
    /// more than one.
    pub effective_votes: Option<f64>,
    /// The count: who was first, how a tie was broken, which method had to fall back and why, and
    /// the points of each candidate.
    #[schema(value_type = Option<Object>)]
    pub elected: Option<ElectionResult>,
    pub ballots: Vec<DebateBallot>,
    /// The objections to the winner.
    pub dissent: Vec<DebateDissent>,
    /// How many tests the winner passes. Suspect tests are left out.
    pub tests: Option<DebateTests>,
    /// The number of turns by outcome.
    pub turns: DebateTurns,
    /// Whether the requested voting method could not decide, so that another one did.
    pub fallback_used: bool,
    /// Whether the agreement reached `min_consensus`.
    pub consensus_reached: bool,
}

/// The result of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DebateTests {
    /// The number of tests that passed.
    pub passed: u32,
    /// The number of all tests.
    pub of: u32,
}

/// One vote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateBallot {
    pub voter: Name,
    /// The authors in the voter's order, best first; empty if the vote was refused.
    pub ranking: Vec<Name>,
    /// The voter's confidence, from 0 to 1.
    pub confidence: f64,
    /// The weight of the vote in weighted voting.
    pub weight: u64,
    /// What the voter based the vote on.
    pub evidence: String,
    /// Why the vote does not count.
    pub refused: Option<String>,
}

/// An objection to the winner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DebateDissent {
    pub agent: Name,
    /// The agent whose answer this one prefers.
    pub prefers: Option<Name>,
    pub objection: String,
}

impl From<debate::DebateVerdict> for DebateVerdict {
    fn from(verdict: debate::DebateVerdict) -> Self {
        Self {
            winner: verdict.winner,
            decided_by: verdict.decided_by,
            no_decision: verdict.no_decision,
            reason: verdict.reason,
            voting_method: verdict.voting_method,
            label: verdict.label,
            confidence: decimal(verdict.confidence),
            consensus: decimal(verdict.consensus),
            rounds: verdict.rounds,
            effective_votes: verdict.effective_votes.map(|hundredths| f64::from(hundredths) / 100.0),
            fallback_used: verdict.elected.as_ref().is_some_and(|elected| elected.fallback.is_some()),
            consensus_reached: verdict.consensus_reached,
            elected: verdict.elected,
            ballots: verdict.ballots.into_iter().map(DebateBallot::from).collect(),
            dissent: verdict.dissent.into_iter().map(DebateDissent::from).collect(),
            tests: verdict.tests.map(|(passed, of)| DebateTests { passed, of }),
            turns: verdict.turns.into(),
        }
    }
}

impl From<CastVote> for DebateBallot {
    fn from(CastVote { voter, ranking, confidence, weight, evidence, refused }: CastVote) -> Self {
        Self { voter, ranking, confidence: Decimal::from(confidence).0, weight, evidence, refused }
    }
}

impl From<Dissent> for DebateDissent {
    fn from(Dissent { agent, prefers, objection }: Dissent) -> Self {
        Self { agent, prefers, objection }
    }
}

/// The votes of a debate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateVotes {
    /// All votes of all rounds, in the order in which they were cast, including those that do not
    /// count.
    pub votes: Vec<DebateVote>,
    /// The verdict, once the debate is over.
    pub verdict: Option<DebateVerdict>,
}

/// A vote as it was cast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateVote {
    pub round: u32,
    pub voter: Name,
    /// The authors in the voter's order, best first; empty if the vote was refused.
    pub ranking: Vec<Name>,
    /// The voter's confidence, from 0 to 1.
    pub confidence: f64,
    /// Why the vote does not count.
    pub refused: Option<String>,
    pub at: Timestamp,
}

/// A row of `debate_turns`: what one agent said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateTurn {
    /// A UUID.
    pub id: String,
    pub session_id: SessionId,
    pub round: u32,
    pub phase: DebatePhase,
    pub agent_id: Name,
    pub agent_role: AgentRole,
    /// The provider of the model.
    pub provider: String,
    pub model: String,
    /// What the agent said; `null` if it was erased.
    pub content: Option<String>,
    /// The agent's confidence, from 0 to 1.
    pub confidence: Option<f64>,
    /// The agent's tool calls and their results.
    #[schema(value_type = Option<Object>)]
    pub tool_calls: Option<Value>,
    #[schema(value_type = Option<Object>)]
    pub test_results: Option<Value>,
    /// What the agent learnt from failed attempts.
    #[schema(value_type = Option<Object>)]
    pub reflections: Option<Value>,
    /// The purpose and the outcome of the turn, its tokens and its cost.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    pub created_at: Timestamp,
    pub response_time_ms: u64,
}

/// A page of turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateTurnList {
    /// In the order in which the turns were recorded.
    pub turns: Vec<DebateTurn>,
    /// The `cursor` of the next page; `null` at the end.
    pub next: Option<String>,
}

/// Which turns to list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DebateTurnQuery {
    /// Only turns of this phase.
    pub phase: Option<DebatePhase>,
    /// Only those of this agent.
    pub agent: Option<Name>,
    /// Only turns of this round.
    pub round: Option<u32>,
    /// `next` of the previous page.
    pub cursor: Option<String>,
    /// The maximum number of items; default 50.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}

/// A row of `code_versions`: code at a milestone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CodeVersion {
    /// A UUID.
    pub id: String,
    pub session_id: SessionId,
    /// The turn in which the code was written.
    pub turn_id: Option<String>,
    /// The agent whose turn that was.
    pub author: Option<Name>,
    pub language: String,
    /// The complete code; `null` if it was erased.
    pub code: Option<String>,
    /// Counted from 1.
    pub version_number: u32,
    /// The mean of the reviewers' scores for the author, from 0 to 1; `null` before a review.
    pub quality_score: Option<f64>,
    /// The share of the other agents' tests that pass, from 0 to 1.
    pub test_pass_rate: Option<f64>,
    /// `complexity` counts branches; `maintainability` and `security` are always `null`.
    #[schema(value_type = Option<Object>)]
    pub metrics: Option<Value>,
    /// The difference from the previous version; `null` for the first.
    pub diff_from_previous: Option<String>,
    pub created_at: Timestamp,
}

/// The versions of a debate's code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CodeVersionList {
    /// Oldest first.
    pub versions: Vec<CodeVersion>,
    /// The `cursor` of the next page; `null` at the end.
    pub next: Option<String>,
}

/// A page of debates, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DebateList {
    pub debates: Vec<Debate>,
    /// The `cursor` of the next page; `null` at the end.
    pub next: Option<String>,
}

/// Which debates to list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DebateListParams {
    /// Only debates with this status.
    pub status: Option<DebateStatus>,
    /// `next` of the previous page.
    pub cursor: Option<String>,
    /// The maximum number of items; default 50.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}

/// Which versions to list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VersionListParams {
    /// `next` of the previous page.
    pub cursor: Option<String>,
    /// The maximum number of items; default 50.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}

/// Which gates of a debate to list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DebateGateQuery {
    /// Only gates with this status.
    pub status: Option<folkmoot_core::GateStatus>,
}

/// An entry of a debate's audit trail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrailEntry {
    #[serde(rename = "type")]
    pub kind: Provenance,
    pub at: Timestamp,
    /// The position of the event that recorded it.
    pub position: u64,
    /// The agent that caused it.
    pub agent: Option<Name>,
    /// The step of the run's journal that recorded it.
    pub step: Option<String>,
    /// The details. Prompts and answers are complete.
    #[schema(value_type = Object)]
    pub data: Value,
}

/// A page of a debate's audit trail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateTrail {
    /// In the order of the log. A prompt appears when its answer is recorded, and precedes it.
    pub entries: Vec<TrailEntry>,
    /// The totals of the whole trail, regardless of filters. Only on the first page.
    pub summary: Option<TrailSummary>,
    /// The `cursor` of the next page; `null` at the end.
    pub next: Option<String>,
}

/// The totals of an audit trail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrailSummary {
    /// The number of entries of each type.
    pub types: BTreeMap<String, u64>,
    /// The number of entries of each agent.
    pub agents: BTreeMap<String, u64>,
    /// The number of answers of each model, by `provider/model`.
    pub models: BTreeMap<String, u64>,
    /// What was spent on those answers.
    pub cost: DebateCost,
}

/// Which entries of an audit trail to list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TrailQuery {
    /// Only entries of this type.
    #[serde(rename = "type")]
    pub kind: Option<Provenance>,
    /// Only those of this agent.
    pub agent: Option<Name>,
    /// `next` of the previous page.
    pub cursor: Option<String>,
    /// The maximum number of entries; default 100.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// The result of a replay: the debate's workflow runs again, and every call is answered from the
/// record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateReplay {
    pub id: RunId,
    /// The debate's status, which a replay does not change.
    pub status: DebateStatus,
    /// Whether the replay ended as the debate did: with the same verdict, answer and code, or with
    /// the same failure.
    pub same: bool,
    /// The verdict of the replay.
    pub verdict: Option<DebateVerdict>,
    /// The failure of the replay, for example if a gate was rejected.
    pub fault: Option<Fault>,
    /// The number of calls that were answered from the record.
    pub calls: u64,
    /// Where the replay differs from the record.
    pub differs: Option<ReplayDiffers>,
    /// Where the record ends, if the debate is not over or was ended from outside.
    pub until: Option<String>,
    /// The gate at which the debate waits.
    pub waiting_at: Option<GateId>,
}

/// A difference between a replay and the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayDiffers {
    /// The kind of difference: `workflow_changed` (the workflow asks something else now),
    /// `not_recorded` (it asks more than was recorded), `not_asked` (it asks less), `verdict` (it
    /// ends differently).
    pub code: String,
    /// The difference in words.
    pub why: String,
    /// The turn that differs, as the journal names it: the round, the phase and the agent.
    pub turn: Option<String>,
}

/// Cancels a debate.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CancelDebate {
    pub reason: Option<String>,
}

/// The lessons that debates learnt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateLessonList {
    /// Newest first.
    pub lessons: Vec<DebateLesson>,
}

/// Corrects a lesson.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CorrectLesson {
    /// The new text of the lesson.
    pub lesson: String,
    /// Why the lesson is corrected. The log keeps this text.
    pub reason: String,
}

/// A lesson that a debate learnt. Later debates of the same initiator may see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateLesson {
    pub id: String,
    /// The debate that learnt it.
    pub debate_id: RunId,
    /// The domain in which it applies.
    pub domain: String,
    /// The language of the code that it applies to; `null` if it applies to anything.
    pub language: Option<String>,
    /// What had gone wrong; `null` if it was erased.
    pub root_cause: Option<String>,
    /// What to do about it: the text that debates see.
    pub lesson: String,
    /// The digest of that text. Erase the text by this digest, and no debate sees the lesson any
    /// more.
    pub digest: Digest,
    /// The confidence in the lesson, from 0 to 1.
    pub confidence: f64,
    /// Search terms.
    pub tags: Vec<String>,
    pub created_at: Timestamp,
}
