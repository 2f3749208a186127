//! How well a role fits a domain, and which role fits an agent best.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::{AgentRole, Domain, Share};

#[cfg(test)]
mod tests;

/// How well a role fits an agent, from 0 to 1, in ten-thousandths. It is the product of a weight
/// and an expertise, both in hundredths, so it is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Affinity(u16);

impl Affinity {
    pub const fn as_ten_thousandths(self) -> u16 {
        self.0
    }
}

/// How well `role` fits an agent with this expertise in `domain`.
pub fn affinity(domain: Domain, role: AgentRole, expertise: Share) -> Affinity {
    Affinity(u16::from(weight(domain, role).as_hundredths()) * u16::from(expertise.as_hundredths()))
}

/// The role of `roles` that fits `domain` best. Ties go to the role that [`AgentRole`] lists first.
/// The order of `roles` does not matter.
pub fn primary_role(domain: Domain, roles: &[AgentRole]) -> Option<AgentRole> {
    roles.iter().copied().min_by_key(|role| (Reverse(weight(domain, *role)), *role))
}

/// How much `role` has to say about `domain`.
pub const fn weight(domain: Domain, role: AgentRole) -> Share {
    let row = weights(role);
    let hundredths = match domain {
        Domain::Code => row[0],
        Domain::Security => row[1],
        Domain::Architecture => row[2],
        Domain::Debug => row[3],
        Domain::Optimization => row[4],
        Domain::Reasoning => row[5],
        Domain::General => row[6],
    };
    Share::of(hundredths)
}

/// One weight per domain, in hundredths, in the order in which [`Domain`] lists them.
#[rustfmt::skip]
const fn weights(role: AgentRole) -> [u8; 7] {
    match role {
        // code security architecture debug optimization reasoning general
        AgentRole::Proposer =>            [80, 60, 80, 60, 65, 85, 90],
        AgentRole::Generator =>           [90, 45, 50, 65, 60, 50, 70],
        AgentRole::Critic =>              [75, 75, 75, 75, 70, 90, 80],
        AgentRole::Reviewer =>            [85, 75, 75, 75, 70, 70, 75],
        AgentRole::Optimizer =>           [70, 40, 55, 50, 95, 50, 55],
        AgentRole::Refactorer =>          [80, 35, 65, 55, 75, 25, 45],
        AgentRole::PerformanceAnalyzer => [60, 30, 55, 60, 92, 25, 40],
        AgentRole::Moderator =>           [50, 50, 60, 45, 50, 80, 85],
        AgentRole::Architect =>           [60, 60, 95, 45, 60, 60, 60],
        AgentRole::Security =>            [60, 98, 70, 55, 30, 35, 50],
        AgentRole::TestAgent =>           [82, 65, 45, 95, 65, 40, 55],
        AgentRole::Validator =>           [75, 80, 65, 80, 65, 80, 70],
        AgentRole::RedTeam =>             [55, 95, 50, 70, 35, 60, 50],
        AgentRole::BlueTeam =>            [55, 92, 55, 65, 40, 45, 45],
        AgentRole::Teacher =>             [50, 40, 55, 40, 35, 65, 65],
        AgentRole::Compiler =>            [78, 30, 25, 72, 45, 20, 30],
        AgentRole::Executor =>            [80, 50, 25, 92, 70, 25, 40],
        AgentRole::Judge =>               [60, 55, 60, 50, 60, 82, 68],
        AgentRole::Implementer =>         [88, 45, 55, 75, 65, 25, 50],
        AgentRole::Designer =>            [55, 45, 92, 25, 45, 60, 58],
    }
}
