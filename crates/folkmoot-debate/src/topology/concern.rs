//! The roles and domains that a phase concerns. Topologies use them to choose leaders and groups.

use crate::agent::{AgentRole, AgentRole::*, DebatePhase, Domain};

/// Roles that can lead a phase. They are more than the roles that must speak in it, because not
/// every team has the latter.
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

/// Domains that are useful in a phase.
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
