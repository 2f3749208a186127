//! The events that a debate's workflow appends to the log, from where the feed shows them.
//!
//! No event contains the words of agents. The log cannot be erased; the records of turns, which
//! contain these words, can be.

use folkmoot_core::{Name, vocabulary};
use serde::{Deserialize, Serialize};

use super::{record::LogLevel, verdict::DebateVerdict};
use crate::agent::{AgentRole, DebatePhase, Share};

vocabulary! {
    /// The outcome of a turn.
    pub enum TurnState {
        /// The agent answered.
        Answered = "answered",
        /// The model's text is not an answer of the form that was asked for.
        Unparsed = "unparsed",
        /// The model gave no answer.
        Failed = "failed",
        /// The answer breaks a rule of the debate and does not count.
        Refused = "refused",
    }
}

/// An event that a debate's workflow appends to the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum DebateEvent {
    /// The debate began.
    Started {
        topic: String,
        /// Id and role of each agent.
        agents: Vec<(Name, AgentRole)>,
        phases: Vec<DebatePhase>,
        /// How its agents are linked.
        topology: String,
        /// The planning style.
        planning: String,
        /// Why the planning style was chosen, and what else was decided that the configuration left
        /// open.
        reasons: Vec<String>,
        /// The providers whose models it asks.
        providers: Vec<String>,
    },
    /// Something that the configuration leaves open was changed during the debate.
    ConfigChanged {
        field: String,
        /// The new value.
        value: String,
        reason: String,
    },
    /// Agents are shown lessons of earlier debates.
    LessonsShown {
        /// The id of each lesson, with the id of the debate that learned it.
        lessons: Vec<(String, String)>,
    },
    /// A round began.
    RoundStarted {
        /// Counted from 1.
        round: u32,
    },
    /// A round is over.
    RoundCompleted {
        /// Counted from 1.
        round: u32,
        /// How far the agents agree, if that is known.
        consensus: Option<Share>,
        /// Whether something was decided.
        decided: bool,
    },
    /// A phase began.
    PhaseStarted {
        phase: DebatePhase,
        round: u32,
        leader: Name,
        /// The speakers, in groups that speak one after another.
        speakers: Vec<Vec<Name>>,
        /// Agents of the team that do not speak in the phase.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<Name>,
    },
    /// A phase is over.
    PhaseCompleted {
        phase: DebatePhase,
        round: u32,
        /// How many turns have an answer.
        answered: u32,
        /// How many turns there were.
        asked: u32,
        /// How many messages were sent. A relayed message counts at each hop.
        messages: u32,
        /// The result, in one line.
        note: String,
        /// How the phase compares with what was expected of it, from 0 to 1; 0.5 is as expected.
        overall: Option<Share>,
    },
    /// An agent spoke.
    Turn {
        /// The id of the turn's record.
        turn: String,
        phase: DebatePhase,
        round: u32,
        agent: Name,
        role: AgentRole,
        part: String,
        state: TurnState,
        /// Why there is no answer that counts; empty if there is one.
        why: String,
        provider: String,
        model: String,
        /// How many tools it called.
        tool_calls: u32,
        response_time_ms: u64,
        tokens: u64,
        /// The cost, in millionths of a dollar.
        usd_micros: u64,
    },
    /// Code was executed on tests.
    Tested {
        /// Who wrote the code.
        author: Name,
        phase: DebatePhase,
        /// How many tests passed.
        passed: u32,
        /// How many were run.
        of: u32,
        /// The names of those that failed.
        failed: Vec<String>,
    },
    /// An agent reflected on why its code failed.
    Reflected {
        agent: Name,
        /// The id of the turn's record.
        turn: String,
    },
    /// There is a new version of the code.
    Version {
        /// Counted from 1.
        version: u32,
        author: Name,
        /// The share of its tests that it passes.
        test_pass_rate: Option<Share>,
    },
    /// A vote was cast.
    Vote {
        voter: Name,
        round: u32,
        /// The ranked candidates, the best first; empty if the vote was refused.
        ranking: Vec<Name>,
        confidence: Share,
        /// Why the vote does not count; `None` if it does.
        refused: Option<String>,
    },
    /// The network was rebuilt without an agent that no longer answers.
    Rebalanced { agent: Name, reason: String },
    /// The project's own commands were run.
    Hook {
        /// The point of the debate at which they were run.
        hook: String,
        /// How many passed.
        passed: u32,
        /// How many were run.
        of: u32,
        /// The names of those that failed.
        failed: Vec<String>,
    },
    /// Something went wrong, and the debate went on.
    Error { phase: Option<DebatePhase>, message: String },
    /// The debate is over.
    Completed {
        /// Without the texts of voters.
        verdict: Box<DebateVerdict>,
    },
}

impl DebateEvent {
    /// The event's type.
    pub const fn kind(&self) -> &'static str {
        match self {
            DebateEvent::Started { .. } => "debate.started",
            DebateEvent::ConfigChanged { .. } => "debate.config_changed",
            DebateEvent::LessonsShown { .. } => "debate.lessons_shown",
            DebateEvent::RoundStarted { .. } => "debate.round_started",
            DebateEvent::RoundCompleted { .. } => "debate.round_completed",
            DebateEvent::PhaseStarted { .. } => "debate.phase_started",
            DebateEvent::PhaseCompleted { .. } => "debate.phase_completed",
            DebateEvent::Turn { .. } => "debate.turn",
            DebateEvent::Tested { .. } => "debate.tested",
            DebateEvent::Reflected { .. } => "debate.reflected",
            DebateEvent::Version { .. } => "debate.version",
            DebateEvent::Vote { .. } => "debate.vote",
            DebateEvent::Rebalanced { .. } => "debate.rebalanced",
            DebateEvent::Hook { .. } => "debate.hook",
            DebateEvent::Error { .. } => "debate.error",
            DebateEvent::Completed { .. } => "debate.completed",
        }
    }

    /// The level of its line in the debate's log.
    pub fn level(&self) -> LogLevel {
        match self {
            DebateEvent::Error { .. } | DebateEvent::Rebalanced { .. } => LogLevel::Warn,
            DebateEvent::Turn { state, .. } if *state != TurnState::Answered => LogLevel::Warn,
            DebateEvent::Vote { refused: Some(_), .. } => LogLevel::Warn,
            DebateEvent::Completed { verdict } if verdict.winner.is_none() => LogLevel::Warn,
            DebateEvent::Started { .. }
            | DebateEvent::ConfigChanged { .. }
            | DebateEvent::LessonsShown { .. }
            | DebateEvent::RoundStarted { .. }
            | DebateEvent::RoundCompleted { .. }
            | DebateEvent::PhaseStarted { .. }
            | DebateEvent::PhaseCompleted { .. }
            | DebateEvent::Turn { .. }
            | DebateEvent::Tested { .. }
            | DebateEvent::Reflected { .. }
            | DebateEvent::Version { .. }
            | DebateEvent::Vote { .. }
            | DebateEvent::Hook { .. }
            | DebateEvent::Completed { .. } => LogLevel::Info,
        }
    }

    /// What happened, in one line.
    pub fn summary(&self) -> String {
        match self {
            DebateEvent::Started { agents, phases, .. } => {
                format!("the debate began, with {} agents and {} phases", agents.len(), phases.len())
            }
            DebateEvent::ConfigChanged { field, value, reason } => format!("{field} is {value} now: {reason}"),
            DebateEvent::LessonsShown { lessons } => format!("{} lessons of earlier debates are shown", lessons.len()),
            DebateEvent::RoundStarted { round } => format!("round {round} began"),
            DebateEvent::RoundCompleted { round, decided, .. } => {
                format!("round {round} is over, and {} was decided", if *decided { "something" } else { "nothing" })
            }
            DebateEvent::PhaseStarted { phase, round, leader, .. } => {
                format!("{phase} of round {round} began, led by {leader}")
            }
            DebateEvent::PhaseCompleted { phase, round, answered, asked, note, .. } => {
                format!("{phase} of round {round} is over, {answered} of {asked} answered: {note}")
            }
            DebateEvent::Turn { agent, part, state, why, .. } if why.is_empty() => format!("{agent}, {part}: {state}"),
            DebateEvent::Turn { agent, part, state, why, .. } => format!("{agent}, {part}: {state}: {why}"),
            DebateEvent::Tested { author, passed, of, .. } => format!("{author}'s code passes {passed} of {of} tests"),
            DebateEvent::Reflected { agent, .. } => format!("{agent} thought about why its code failed"),
            DebateEvent::Version { version, author, .. } => format!("version {version} of the code, by {author}"),
            DebateEvent::Vote { voter, refused: Some(why), .. } => format!("{voter}'s vote does not count: {why}"),
            DebateEvent::Vote { voter, ranking, .. } => {
                let first = ranking.first().map_or("nobody", |first| first.as_str());
                format!("{voter} votes for {first}")
            }
            DebateEvent::Rebalanced { agent, reason } => format!("it goes on without {agent}: {reason}"),
            DebateEvent::Hook { hook, passed, of, .. } => {
                format!("{hook}: {passed} of {of} of the project's commands passed")
            }
            DebateEvent::Error { message, .. } => message.clone(),
            DebateEvent::Completed { verdict } => match &verdict.winner {
                Some(winner) => format!("the debate is over: {winner}'s answer wins"),
                None => format!("the debate is over without a decision: {}", verdict.reason),
            },
        }
    }

    /// Reads an event from the log; `None` if it is not a debate's event or cannot be read.
    pub fn read(kind: &str, payload: &str) -> Option<Self> {
        serde_json::from_str::<Self>(payload).ok().filter(|told| told.kind() == kind)
    }
}
