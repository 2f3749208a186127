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

/// Starts a debate. Only the topic is needed: a preset says the rest, and every field changes what
/// the preset says.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"topic": "Is a queue or a log the better fit for our audit trail?", "preset": "economy", "agents": 3}))]
pub struct StartDebate {
    /// What it is about.
    #[schema(min_length = 1, max_length = 65536)]
    pub topic: String,
    /// What to call it; made unless it is given. A known one is refused.
    pub id: Option<RunId>,
    /// Its session; a new UUID unless it is given.
    pub session_id: Option<SessionId>,
    /// How many agents, or which; as many as the preset has unless it is given.
    pub agents: Option<Agents>,
    /// `full` (all phases, unless it is given), `economy` (ends where the first answers agree) or
    /// `quick` (answers and a vote).
    pub preset: Option<String>,
    /// Who hears whom; `auto` is what fits the team.
    #[schema(schema_with = schema::or_auto::<Topology>)]
    pub topology: Option<OrAuto<Topology>>,
    /// Who plans; `auto` is `adaptive`.
    #[schema(schema_with = schema::or_auto::<Style>)]
    pub planning: Option<OrAuto<Style>>,
    /// How ballots are counted; `auto` is what fits the number of agents.
    #[schema(schema_with = schema::or_auto::<VotingMethod>)]
    pub voting: Option<OrAuto<VotingMethod>>,
    /// What decides where nobody beats every other one.
    pub voting_fallback: Option<Fallback>,
    /// What tells those apart who are first together; `none` lets a tie be a tie.
    #[schema(schema_with = schema::or_none::<TieBreak>)]
    pub tie_break: Option<OrNone<TieBreak>>,
    /// How many must vote.
    #[schema(minimum = 1)]
    pub minimum_votes: Option<u32>,
    /// How many rounds at most.
    #[schema(minimum = 1, maximum = 10)]
    pub max_rounds: Option<u32>,
    /// How much agreement ends it, from 0 to 1 in hundredths.
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 1, multiple_of = 0.01)]
    pub min_consensus: Option<Decimal>,
    /// Phases that are to be otherwise than the preset has them: `true`, `false` or `"auto"` for
    /// each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<DebatePhase, PhaseSwitch>,
    /// Whether agreement ends it before its last round.
    pub early_exit: Option<bool>,
    /// Whether it ends where the first answers, given blindly, are the same.
    pub early_agreement: Option<bool>,
    /// How many agents answer.
    #[schema(minimum = 1)]
    pub answers: Option<u32>,
    /// How many agents speak at the same time.
    #[schema(minimum = 1, maximum = 64)]
    pub max_parallel: Option<u32>,
    /// What code is to be written in; guessed from the topic unless it is given. `none` for a topic
    /// that is not about code.
    pub language: Option<String>,
    /// How often it is asked what is unclear.
    #[schema(minimum = 1, maximum = 10)]
    pub clarification_rounds: Option<u32>,
    /// Who answers that: `agent` (unless it is given) or `person`.
    pub instructor: Option<String>,
    /// How often an agent mends its own draft before others see it.
    #[schema(minimum = 0, maximum = 10)]
    pub self_evolvement_iterations: Option<u32>,
    /// How often the best answer is tried, reflected on and tried again.
    #[schema(minimum = 1, maximum = 10)]
    pub reflexion_attempts: Option<u32>,
    /// How many of its earlier reflections whoever tries again is shown, the newest; 10 unless it
    /// is given, which is all of them.
    #[schema(minimum = 1, maximum = 100)]
    pub reflections_max: Option<u32>,
    /// How often the red team attacks.
    #[schema(minimum = 1, maximum = 10)]
    pub adversarial_rounds: Option<u32>,
    /// How many tools an agent may call in a turn; 0 for none.
    #[schema(minimum = 0, maximum = 32)]
    pub tool_calls_max: Option<u32>,
    /// Whether lessons of earlier debates are shown, and new ones kept.
    pub lessons: Option<bool>,
    /// Where people are asked.
    #[serde(default, deserialize_with = "object::maybe")]
    pub gates: Option<DebateGates>,
    /// Whom to ask, `provider` or `provider/model`; whoever there is unless it is given.
    pub provider: Option<String>,
    /// The longest answer of a model, in tokens; what the provider's configuration says unless it
    /// is given.
    #[schema(minimum = 1, maximum = 1000000)]
    pub max_tokens: Option<u32>,
    /// What it may spend; what the configuration says unless it is given.
    #[serde(default, deserialize_with = "object::maybe")]
    pub budget: Option<PlanBudget>,
    /// How long it may be worked on; waiting is not counted. 24 hours unless it is given.
    #[schema(minimum = 1)]
    pub timeout_ms: Option<u64>,
    /// A repository on the server: code is committed there, on a branch of the debate's own. Only
    /// for whoever may decide.
    pub repository: Option<String>,
    /// When the project's own commands are run: `post_proposal`, `post_optimization`,
    /// `post_adversarial`, `post_convergence`. Only for whoever may decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
}

/// How many agents, or which.
#[derive(Clone, Debug, PartialEq)]
pub enum Agents {
    /// So many, in the roles that are needed most.
    Count(u64),
    /// These.
    Listed(Vec<NewAgent>),
}

/// An agent.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAgent {
    /// Unique in its debate.
    pub id: Name,
    /// What it is there for.
    pub role: AgentRole,
    /// Who runs its model; the debate's unless it is given.
    pub provider: Option<String>,
    /// Which model of that provider; its default unless it is given.
    pub model: Option<String>,
    /// What it knows best; what the topic is about unless it is given.
    pub domain: Option<Domain>,
    /// How good it has been until now, from 0 to 10 in tenths; 7 unless it is given.
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 10, multiple_of = 0.1)]
    pub score: Option<Decimal>,
}

/// Where people are asked, and what their silence means.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DebateGates {
    /// Whether they are asked at all.
    pub enabled: bool,
    /// After which phases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gate_points: Vec<DebatePhase>,
    /// How long a gate waits; as the server's policy says unless it is given.
    pub timeout_ms: Option<Timeout>,
    /// What a timeout does; as the server's policy says unless it is given.
    pub on_timeout: Option<OnTimeout>,
    /// What a rejection does: `fail` (unless it is given), `retry` the phase, or `continue` with
    /// what was said.
    pub on_rejected: Option<String>,
    /// Whom to tell, beside the feed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notification_channels: Vec<String>,
    /// Who may decide.
    pub reviewers: Option<Vec<Name>>,
}

/// A word of a vocabulary, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrAuto<T> {
    /// What fits.
    Auto,
    /// This.
    Is(T),
}

/// A word of a vocabulary, or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrNone<T> {
    /// None.
    None,
    /// This.
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

/// A number with a point. What it may be is for the server to say, so that it can say it well.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Decimal(pub f64);

impl Decimal {
    /// In hundredths, if it is from 0 to 1 and has no more than that.
    pub fn share(self) -> Option<Share> {
        Share::hundredths(self.scaled(100.0)?).ok()
    }

    /// In tenths, if it is from 0 to 10 and has no more than that.
    pub fn score(self) -> Option<Score> {
        Score::tenths(self.scaled(10.0)?).ok()
    }

    fn scaled(self, by: f64) -> Option<u8> {
        let scaled = self.0 * by;
        let whole = scaled.round();
        // What is written with so many digits is as near as this to a whole number.
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
    /// The debate's id; `/v1/runs` has it under the same.
    pub id: RunId,
    pub session_id: SessionId,
    /// Where it is.
    pub status: DebateStatus,
}

/// A debate: a row of `debate_sessions`, and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Debate {
    /// The debate's id: the row's `debate_id`.
    pub id: RunId,
    /// Its session: the row's `id`.
    pub session_id: SessionId,
    /// What it is about; null where it was erased.
    pub topic: Option<String>,
    /// Where it is. `paused` while it waits for people.
    pub status: DebateStatus,
    /// Who hears whom; null before it began.
    pub topology_type: Option<String>,
    /// Who plans; null before it began.
    pub coordination_protocol: Option<String>,
    /// All that it goes by; null before it began.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Value>,
    /// Who started it.
    pub initiated_by: Name,
    pub created_at: Timestamp,
    /// When it last moved.
    pub updated_at: Timestamp,
    /// When it was over.
    pub completed_at: Option<Timestamp>,
    /// How many rounds are over.
    pub total_rounds: u32,
    /// How far they agreed at the end, from 0 to 1.
    pub final_consensus_score: Option<f64>,
    /// Winner, voting method, confidence, once there are any.
    #[schema(value_type = Option<Object>)]
    pub outcome: Option<Value>,
    /// What else is known.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    /// The phase it is in, or was in last.
    pub phase: Option<DebatePhase>,
    /// The round; 0 before the first.
    pub round: u32,
    /// The gate at which it waits.
    pub waiting_at: Option<GateId>,
    /// What it has asked people, and waits for.
    #[serde(default)]
    pub questions: Vec<QuestionId>,
    /// The providers of models that it waits for. It goes on by itself when they are back, or at
    /// once when its run is resumed.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// The questions and halts that keep it from working, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub halted_by: Vec<String>,
    /// What it has spent on models.
    pub cost: DebateCost,
    /// Why it has no result, where it has none and will have none as it is.
    pub fault: Option<Fault>,
}

/// What was spent on models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateCost {
    /// Tokens, read and written.
    pub tokens: u64,
    /// US dollars, as far as prices are known.
    pub usd: f64,
}

/// How far a debate is, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateProgress {
    /// The debate's id.
    pub id: RunId,
    pub session_id: SessionId,
    /// Where it is.
    pub status: DebateStatus,
    /// The phase it is in, or was in last.
    pub phase: Option<DebatePhase>,
    /// The round; 0 before the first.
    pub round: u32,
    /// Who leads the phase.
    pub leader: Option<Name>,
    /// Those of the phase who have not spoken yet.
    pub speaking: Vec<Name>,
    /// Turns with an answer, and with none of each sort.
    pub turns: DebateTurns,
    /// Votes that count, of this round.
    pub votes: u32,
    /// The gate at which it waits.
    pub waiting_at: Option<GateId>,
    /// What it has asked people, and waits for.
    #[serde(default)]
    pub questions: Vec<QuestionId>,
    /// The providers of models that it waits for. It goes on by itself when they are back, or at
    /// once when its run is resumed.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// The questions and halts that keep it from working, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub halted_by: Vec<String>,
    /// What it has spent on models.
    pub cost: DebateCost,
    /// Why it has no result, where it has none and will have none as it is.
    pub fault: Option<Fault>,
}

/// How many turns there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DebateTurns {
    /// With an answer.
    pub answered: u32,
    /// With words that are no answer.
    pub unparsed: u32,
    /// With nothing.
    pub failed: u32,
    /// With what breaks a rule.
    pub refused: u32,
}

impl From<Turns> for DebateTurns {
    fn from(Turns { answered, unparsed, failed, refused }: Turns) -> Self {
        Self { answered, unparsed, failed, refused }
    }
}

/// What a debate came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateResults {
    /// The debate's id.
    pub id: RunId,
    pub session_id: SessionId,
    /// `completed`
    pub status: DebateStatus,
    /// What was decided, and how; also where nothing was.
    pub verdict: DebateVerdict,
    /// The answer that won; empty where nothing was decided.
    pub answer: String,
    /// Where nothing was decided, all answers that there were, the best first. Why nothing was
    /// decided is in the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<UndecidedAnswer>,
    pub code: Option<String>,
    /// In which language.
    pub language: Option<String>,
    /// How many versions of code there are.
    pub versions: u32,
    /// Who was asked.
    pub providers: Vec<String>,
    /// What was spent.
    pub cost: DebateCost,
}

/// An answer of a debate that decided nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UndecidedAnswer {
    pub author: Name,
    /// In words.
    pub answer: String,
    pub code: Option<String>,
    /// How many tests of others it passes.
    pub tests: Option<DebateTests>,
    /// The mean of what reviewers gave it, from 0 to 1.
    pub quality: Option<f64>,
}

/// What a debate decided. Shares are from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateVerdict {
    /// Whose answer it is; nobody's where nothing was decided.
    pub winner: Option<Name>,
    /// What decided.
    pub decided_by: Option<DecidedBy>,
    /// Why nothing was.
    pub no_decision: Option<NoDecision>,
    /// More about why, in words.
    pub reason: String,
    /// How ballots were counted.
    pub voting_method: Option<VotingMethod>,
    /// How the vote went: unanimous, by majority, by weight; empty where nobody voted.
    pub label: String,
    /// How sure those are who voted for it.
    pub confidence: Option<f64>,
    /// How much agreement there is.
    pub consensus: Option<f64>,
    /// How many rounds it took.
    pub rounds: u32,
    /// How many votes there really are: copies of one model that agree are few.
    pub effective_votes: Option<f64>,
    /// The count: who was first, by which rule a tie was broken, which method had to fall back and
    /// why, and the points of each.
    #[schema(value_type = Option<Object>)]
    pub elected: Option<ElectionResult>,
    /// Each vote.
    pub ballots: Vec<DebateBallot>,
    /// What others hold against it.
    pub dissent: Vec<DebateDissent>,
    /// What the winner's tests gave; those that are suspect are left out.
    pub tests: Option<DebateTests>,
    /// How many turns there were of each sort.
    pub turns: DebateTurns,
    /// Whether the method that was asked for could not decide, so that another did.
    pub fallback_used: bool,
    /// Whether there is as much agreement as `min_consensus` asked for.
    pub consensus_reached: bool,
}

/// How many tests passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DebateTests {
    /// So many.
    pub passed: u32,
    /// Of so many.
    pub of: u32,
}

/// One vote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateBallot {
    pub voter: Name,
    /// Whom it ranks, the best first; nobody where it was refused.
    pub ranking: Vec<Name>,
    /// How sure the voter is, from 0 to 1.
    pub confidence: f64,
    /// What it counts where weights count.
    pub weight: u64,
    /// What decided, by the voter.
    pub evidence: String,
    /// Why it does not count.
    pub refused: Option<String>,
}

/// What somebody holds against the winner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DebateDissent {
    pub agent: Name,
    /// Whose answer it would take.
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
    /// Each vote of each round, in the order in which they were cast; those that do not count too.
    pub votes: Vec<DebateVote>,
    /// What they came to, once it is over.
    pub verdict: Option<DebateVerdict>,
}

/// A vote as it was cast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateVote {
    /// In which round.
    pub round: u32,
    pub voter: Name,
    /// Whom it ranks, the best first; nobody where it was refused.
    pub ranking: Vec<Name>,
    /// How sure the voter is, from 0 to 1.
    pub confidence: f64,
    /// Why it does not count.
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
    /// As what.
    pub agent_role: AgentRole,
    /// Who runs the model.
    pub provider: String,
    pub model: String,
    /// What was said; null where it was erased.
    pub content: Option<String>,
    /// How sure the agent was, from 0 to 1.
    pub confidence: Option<f64>,
    /// What it called, and what came of it.
    #[schema(value_type = Option<Object>)]
    pub tool_calls: Option<Value>,
    /// What tests gave.
    #[schema(value_type = Option<Object>)]
    pub test_results: Option<Value>,
    /// What it learnt from failing.
    #[schema(value_type = Option<Object>)]
    pub reflections: Option<Value>,
    /// What the turn was for and what became of it, its tokens and its cost.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    pub created_at: Timestamp,
    /// How long the answer took.
    pub response_time_ms: u64,
}

/// A page of turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateTurnList {
    /// In the order in which they were recorded.
    pub turns: Vec<DebateTurn>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// Which turns.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DebateTurnQuery {
    /// Only of this phase.
    pub phase: Option<DebatePhase>,
    /// Only of this agent.
    pub agent: Option<Name>,
    /// Only of this round.
    pub round: Option<u32>,
    /// From `next` of the page before.
    pub cursor: Option<String>,
    /// How many; 50 unless it is given.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}

/// A row of `code_versions`: code at a milestone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CodeVersion {
    /// A UUID.
    pub id: String,
    pub session_id: SessionId,
    /// The turn that wrote it.
    pub turn_id: Option<String>,
    /// Whose turn that was.
    pub author: Option<Name>,
    /// In which language.
    pub language: String,
    /// All of it; null where it was erased.
    pub code: Option<String>,
    /// From 1.
    pub version_number: u32,
    /// How good it was judged to be, from 0 to 1.
    pub quality_score: Option<f64>,
    /// How many of its tests passed, from 0 to 1.
    pub test_pass_rate: Option<f64>,
    /// Maintainability, complexity, security and the like.
    #[schema(value_type = Option<Object>)]
    pub metrics: Option<Value>,
    /// What changed; null for the first.
    pub diff_from_previous: Option<String>,
    pub created_at: Timestamp,
}

/// The versions of a debate's code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CodeVersionList {
    /// The first first.
    pub versions: Vec<CodeVersion>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// Debates, the newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DebateList {
    /// This page.
    pub debates: Vec<Debate>,
    /// Where the next one begins, if there is one.
    pub next: Option<String>,
}

/// Which debates.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DebateListParams {
    /// Only these.
    pub status: Option<DebateStatus>,
    /// From `next` of the page before.
    pub cursor: Option<String>,
    /// How many; 50 unless it is given.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}

/// Part of a list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VersionListParams {
    /// From `next` of the page before.
    pub cursor: Option<String>,
    /// How many; 50 unless it is given.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}

/// Which gates of a debate.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DebateGateQuery {
    /// Only these.
    pub status: Option<folkmoot_core::GateStatus>,
}

/// A part of a debate's trail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrailEntry {
    #[serde(rename = "type")]
    pub kind: Provenance,
    pub at: Timestamp,
    /// The event of the log that has it.
    pub position: u64,
    /// Whose doing it is.
    pub agent: Option<Name>,
    /// The step of the run's journal that has it.
    pub step: Option<String>,
    /// What there is to know of it: a prompt is whole, and so is an answer.
    #[schema(value_type = Object)]
    pub data: Value,
}

/// A page of a debate's trail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateTrail {
    /// In the order of the log. A prompt is there once its answer is, and stands before it.
    pub entries: Vec<TrailEntry>,
    /// What all of it comes to, whatever was asked for; on the first page only.
    pub summary: Option<TrailSummary>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// What a trail comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrailSummary {
    /// How many entries there are of each type.
    pub types: BTreeMap<String, u64>,
    /// How many entries each agent has.
    pub agents: BTreeMap<String, u64>,
    /// How many answers each model gave, as `provider/model`.
    pub models: BTreeMap<String, u64>,
    /// What was spent on them.
    pub cost: DebateCost,
}

/// Which part of a trail.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TrailQuery {
    /// Only of this type.
    #[serde(rename = "type")]
    pub kind: Option<Provenance>,
    /// Only of this agent.
    pub agent: Option<Name>,
    /// From `next` of the page before.
    pub cursor: Option<String>,
    /// How many; 100 unless it is given.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// What a replay of a debate came to: its workflow once more, from what is recorded alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateReplay {
    /// The debate's id.
    pub id: RunId,
    /// As the debate is; a replay changes nothing.
    pub status: DebateStatus,
    /// Whether it ended as it had ended before: with the same verdict, answer and code, or with the
    /// same failure.
    pub same: bool,
    /// The verdict that the replay came to.
    pub verdict: Option<DebateVerdict>,
    /// The failure that it came to, as where somebody rejected at a gate.
    pub fault: Option<Fault>,
    /// How many calls were answered from the record.
    pub calls: u64,
    /// Where it differs.
    pub differs: Option<ReplayDiffers>,
    /// Where the record ends, for a debate that is not over, or was ended from outside.
    pub until: Option<String>,
    /// The gate at which the debate waits.
    pub waiting_at: Option<GateId>,
}

/// Where a replay differs from what is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayDiffers {
    /// Which sort of difference: `workflow_changed` (it is asked something else now),
    /// `not_recorded` (more is asked), `not_asked` (less is), `verdict` (it ended otherwise).
    pub code: String,
    /// What, in words.
    pub why: String,
    /// At which turn, as the journal calls it: the round, the phase and whose turn it is.
    pub turn: Option<String>,
}

/// Why a debate is cancelled.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CancelDebate {
    pub reason: Option<String>,
}

/// What debates learnt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateLessonList {
    /// The newest first.
    pub lessons: Vec<DebateLesson>,
}

/// What a lesson is to say.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CorrectLesson {
    /// What to do, in place of what it says now.
    pub lesson: String,
    /// Why. It stays in the log.
    pub reason: String,
}

/// What a debate learnt, and later ones of whoever started it may be shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DebateLesson {
    pub id: String,
    /// Which debate learnt it.
    pub debate_id: RunId,
    /// Where it holds.
    pub domain: String,
    /// For code in this language; for anything where it is null.
    pub language: Option<String>,
    /// What had gone wrong; null if that was erased.
    pub root_cause: Option<String>,
    /// What to do about it.
    pub lesson: String,
    /// The digest of that text, under which it can be erased: then it is shown to no debate any
    /// more.
    pub digest: Digest,
    /// How sure that is, from 0 to 1.
    pub confidence: f64,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// When it was learnt.
    pub created_at: Timestamp,
}
