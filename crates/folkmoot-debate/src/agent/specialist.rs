//! Templates for agents. Each has a name, the roles that it can take, a domain and an expertise.

use super::{Agent, AgentRole, AgentRole::*, Domain, Share, ToolKind, primary_role};
use folkmoot_core::Name;

#[cfg(test)]
mod tests;

/// A template that agents are made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Specialist {
    /// For example `code-specialist`.
    pub name: &'static str,
    /// The roles that it can take; at least one.
    pub roles: &'static [AgentRole],
    /// The domain that it knows best.
    pub domain: Domain,
    pub expertise: Share,
    pub tools: &'static [ToolKind],
}

/// All templates: first those for a domain, then those for a single role.
#[rustfmt::skip]
pub const SPECIALISTS: &[Specialist] = &[
    of_domain("code-specialist",         Domain::Code,         90, &[Generator, Reviewer, Refactorer, Implementer],
        &[ToolKind::CodeExecutor, ToolKind::Formatter, ToolKind::StaticAnalyzer, ToolKind::TestRunner, ToolKind::Lsp]),
    of_domain("security-specialist",     Domain::Security,     90, &[Security, RedTeam, BlueTeam],
        &[ToolKind::StaticAnalyzer, ToolKind::SecurityScanner, ToolKind::Fuzzer]),
    of_domain("architecture-specialist", Domain::Architecture, 90, &[Architect, Designer],
        &[ToolKind::Documentation, ToolKind::DesignAnalysis, ToolKind::Retrieval]),
    of_domain("debug-specialist",        Domain::Debug,        90, &[TestAgent, Validator, Executor],
        &[ToolKind::CodeExecutor, ToolKind::TestRunner, ToolKind::Lsp, ToolKind::Git]),
    of_domain("optimization-specialist", Domain::Optimization, 90, &[Optimizer, Refactorer, PerformanceAnalyzer],
        &[ToolKind::Profiler, ToolKind::Benchmark, ToolKind::TestRunner]),
    of_domain("reasoning-specialist",    Domain::Reasoning,    90, &[Proposer, Critic, Judge],
        &[ToolKind::CodeExecutor, ToolKind::Retrieval]),

    of_role("proposer",             Proposer,            Domain::General,      80),
    of_role("critic",               Critic,              Domain::Reasoning,    85),
    of_role("reviewer",             Reviewer,            Domain::Code,         85),
    of_role("moderator",            Moderator,           Domain::General,      85),
    of_role("validator",            Validator,           Domain::Debug,        85),
    of_role("red-team",             RedTeam,             Domain::Security,     90),

    of_role("generator",            Generator,           Domain::Code,         85),
    of_role("refactorer",           Refactorer,          Domain::Code,         85),
    of_role("performance-analyzer", PerformanceAnalyzer, Domain::Optimization, 90),
    of_role("security",             Security,            Domain::Security,     90),
    of_role("teacher",              Teacher,             Domain::General,      80),
    of_role("compiler",             Compiler,            Domain::Code,         90),
    of_role("executor",             Executor,            Domain::Debug,        90),
    of_role("judge",                Judge,               Domain::Reasoning,    85),
    of_role("implementer",          Implementer,         Domain::Code,         85),
    of_role("designer",             Designer,            Domain::Architecture, 85),
    of_role("blue-team",            BlueTeam,            Domain::Security,     85),
];

impl Specialist {
    pub fn named(name: &str) -> Option<&'static Specialist> {
        SPECIALISTS.iter().find(|specialist| specialist.name == name)
    }

    /// The role that fits its domain best.
    pub fn primary_role(&self) -> AgentRole {
        primary_role(self.domain, self.roles).expect("every template has a role")
    }

    /// An agent made from it, in its primary role.
    pub fn agent(&self, id: Name) -> Agent {
        Agent {
            expertise: self.expertise,
            tools: self.tools.to_vec(),
            ..Agent::new(id, self.primary_role(), self.domain)
        }
    }
}

const fn of_domain(
    name: &'static str,
    domain: Domain,
    hundredths: u8,
    roles: &'static [AgentRole],
    tools: &'static [ToolKind],
) -> Specialist {
    assert!(!roles.is_empty(), "a template has a role");
    Specialist { name, roles, domain, expertise: Share::of(hundredths), tools }
}

const fn of_role(name: &'static str, role: AgentRole, domain: Domain, hundredths: u8) -> Specialist {
    Specialist { name, roles: only(role), domain, expertise: Share::of(hundredths), tools: role.tools() }
}

/// A static slice that holds only `role`, cut out of [`AgentRole::ALL`].
const fn only(role: AgentRole) -> &'static [AgentRole] {
    let (_, from) = AgentRole::ALL.split_at(role as usize);
    from.split_at(1).0
}
