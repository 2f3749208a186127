//! What a debate's workflow tells the feed, and the log. The words of agents are in none of it:
//! what the log has cannot be erased, and what the turns have can.

use folkmoot_core::{Name, vocabulary};
use serde::{Deserialize, Serialize};

use super::{record::LogLevel, verdict::DebateVerdict};
use crate::agent::{AgentRole, DebatePhase, Share};

vocabulary! {
    /// What became of a turn.
    pub enum TurnState {
        /// It has an answer.
        Answered = "answered",
        /// The model's words are no answer of the form that was asked for.
        Unparsed = "unparsed",
        /// The model gave no answer.
        Failed = "failed",
        /// The answer breaks a rule of the debate, and does not count.
        Refused = "refused",
    }
}

/// An event that a debate's workflow appends to the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum DebateEvent {
    /// It began.
    Started {
        /// What it is about.
        topic: String,
        /// Who speaks: id and role.
        agents: Vec<(Name, AgentRole)>,
        /// The phases that it has.
        phases: Vec<DebatePhase>,
        /// How its agents are connected.
        topology: String,
        /// How they plan.
        planning: String,
        /// Why, and what else was decided about it where the configuration left it open.
        reasons: Vec<String>,
        /// Whom it asks.
        providers: Vec<String>,
    },
    /// Something that the configuration left open was decided otherwise than before.
    ConfigChanged {
        field: String,
        /// What it is now.
        value: String,
        reason: String,
    },
    /// Lessons of earlier debates are shown to its agents.
    LessonsShown {
        /// Which, each with the debate that it is from.
        lessons: Vec<(String, String)>,
    },
    /// A round began.
    RoundStarted {
        /// Which, from 1.
        round: u32,
    },
    /// A round is over.
    RoundCompleted {
        /// Which, from 1.
        round: u32,
        /// How much agreement there is.
        consensus: Option<Share>,
        /// Whether something was decided.
        decided: bool,
    },
    /// A phase began.
    PhaseStarted {
        phase: DebatePhase,
        /// In which round.
        round: u32,
        /// Who leads it.
        leader: Name,
        /// Who speaks, in groups one after another.
        speakers: Vec<Vec<Name>>,
        /// Who of the team does not, because others suffice.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<Name>,
    },
    /// A phase is over.
    PhaseCompleted {
        phase: DebatePhase,
        /// In which round.
        round: u32,
        /// How many answered.
        answered: u32,
        /// Of so many.
        asked: u32,
        /// How many messages that took, relayed ones counted at each hop.
        messages: u32,
        /// What came of it, in a line.
        note: String,
        /// How it went against what was expected, from 0 to 1.
        overall: Option<Share>,
    },
    /// An agent spoke.
    Turn {
        /// Which turn.
        turn: String,
        /// In which phase.
        phase: DebatePhase,
        /// In which round.
        round: u32,
        agent: Name,
        /// In which role.
        role: AgentRole,
        part: String,
        /// What became of it.
        state: TurnState,
        /// Why it has no answer.
        why: String,
        /// Whose model spoke.
        provider: String,
        model: String,
        /// How many tools it called.
        tool_calls: u32,
        /// How long it took.
        response_time_ms: u64,
        /// What it took, in tokens.
        tokens: u64,
        /// What it cost, in millionths of a dollar.
        usd_micros: u64,
    },
    /// Code was executed on tests.
    Tested {
        /// Whose code.
        author: Name,
        /// In which phase.
        phase: DebatePhase,
        /// How many tests passed.
        passed: u32,
        /// Of so many.
        of: u32,
        /// Which failed.
        failed: Vec<String>,
    },
    /// An agent thought about why its code failed.
    Reflected {
        agent: Name,
        /// In which turn.
        turn: String,
    },
    /// There is a new version of the code.
    Version {
        /// Which, from 1.
        version: u32,
        author: Name,
        /// How much of its tests it passes.
        test_pass_rate: Option<Share>,
    },
    /// A vote was cast.
    Vote {
        voter: Name,
        /// In which round.
        round: u32,
        /// Whom it ranks, the best first; nobody where it was refused.
        ranking: Vec<Name>,
        /// How sure the voter is.
        confidence: Share,
        /// Why it does not count.
        refused: Option<String>,
    },
    /// The network was made without somebody who does not answer any more.
    Rebalanced { agent: Name, reason: String },
    /// The project's own commands were run.
    Hook {
        /// At which point.
        hook: String,
        /// How many passed.
        passed: u32,
        /// Of so many.
        of: u32,
        /// Which failed.
        failed: Vec<String>,
    },
    /// Something did not go as it should, and the debate went on.
    Error { phase: Option<DebatePhase>, message: String },
    /// It is over.
    Completed {
        /// What came of it, without the texts.
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

    /// How grave it is, in a debate's log.
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

    /// What happened, in a line.
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

    /// What an event of this type says.
    pub fn read(kind: &str, payload: &str) -> Option<Self> {
        serde_json::from_str::<Self>(payload).ok().filter(|told| told.kind() == kind)
    }
}
