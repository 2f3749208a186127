//! Whom and which knowledge a phase concerns, where the topology has a say in it.

use crate::agent::{AgentRole, AgentRole::*, DebatePhase, Domain};

/// Those who can lead a phase. They are more than those who must speak in it: not every team has
/// the latter.
pub(super) const fn roles(phase: DebatePhase) -> &'static [AgentRole] {
    match phase {
        DebatePhase::Dehallucination => &[Moderator, Teacher, Critic],
        DebatePhase::SelfEvolvement => &[Proposer, Generator, Implementer, TestAgent, Executor],
        DebatePhase::Proposal => &[Proposer, Generator, Architect, Designer, Implementer],
        DebatePhase::Critique => &[Critic, RedTeam, Security, TestAgent],
        DebatePhase::Review => &[Reviewer, Architect, Judge, Compiler],
        DebatePhase::Optimization => &[Optimizer, BlueTeam, PerformanceAnalyzer, Refactorer],
        DebatePhase::Adversarial => &[RedTeam, BlueTeam, Security],
        DebatePhase::Convergence => &[Moderator, Validator, Judge],
    }
}

/// What it helps to know.
pub(super) const fn domains(phase: DebatePhase) -> &'static [Domain] {
    match phase {
        DebatePhase::Dehallucination | DebatePhase::Convergence => &[Domain::Reasoning],
        DebatePhase::SelfEvolvement => &[Domain::Code, Domain::Debug],
        DebatePhase::Proposal => &[Domain::Code, Domain::Architecture],
        DebatePhase::Critique => &[Domain::Reasoning, Domain::Security],
        DebatePhase::Review => &[Domain::Code, Domain::Architecture],
        DebatePhase::Optimization => &[Domain::Optimization],
        DebatePhase::Adversarial => &[Domain::Security],
    }
}
