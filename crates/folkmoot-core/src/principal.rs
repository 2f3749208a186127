//! Who a token names, and what that role may do.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{Name, Refusal, run};

/// A person, agent or service. A name has one role.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Principal {
    /// How the log and every page call it.
    pub name: Name,
    /// What it may do.
    pub role: Role,
    /// What the token that it shows allows beyond the role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
}

impl Principal {
    /// With nothing beyond its role.
    pub fn new(name: Name, role: Role) -> Self {
        Self { name, role, capabilities: Vec::new() }
    }

    /// Whether it may raise a halt: admins, and whoever shows a token that says so (a monitoring
    /// agent).
    pub fn may_halt(&self) -> bool {
        self.role == Role::Admin || self.capabilities.contains(&Capability::Halt)
    }
}

vocabulary! {
    /// What a token can allow beyond its holder's role.
    pub enum Capability {
        /// To raise halts. Lifting them stays an admin's.
        Halt = "halt",
    }
}

vocabulary! {
    /// What a principal may do.
    pub enum Role {
        /// Decides and answers, and also overrides, halts, lifts and manages tokens.
        Admin = "admin",
        /// Decides and answers.
        Reviewer = "reviewer",
        /// Opens gates, asks, waits, reads its own. Never decides.
        Agent = "agent",
        /// Reads.
        Viewer = "viewer",
    }
}

impl Role {
    /// Whether this role decides on gates and answers questions.
    pub fn decides(self) -> bool {
        match self {
            Role::Admin | Role::Reviewer => true,
            Role::Agent | Role::Viewer => false,
        }
    }

    /// Whether this role sees what others have opened.
    pub fn sees_everything(self) -> bool {
        match self {
            Role::Admin | Role::Reviewer | Role::Viewer => true,
            Role::Agent => false,
        }
    }
}

/// Names that the log uses for what no principal did.
const RESERVED: [&str; 4] = ["auto", "system", "timer", "timeout"];

/// Refuses a name under which the log records what no principal did.
pub fn check_name(field: &'static str, name: &Name) -> Result<(), Refusal> {
    let lower = name.as_str().to_ascii_lowercase();
    if RESERVED.contains(&lower.as_str()) || ["ai:", run::SPEAKER].iter().any(|prefix| lower.starts_with(prefix)) {
        return Err(Refusal::invalid(field, format!("{name:?} is reserved; choose another")));
    }
    Ok(())
}

/// Refuses the name of somebody who is no agent, unless it is the caller's own: nobody speaks in a
/// person's name, nor in one that differs only in case. `known` are the principals that have
/// tokens; a name that none of them has is free.
pub fn must_be_no_person(field: &'static str, name: &Name, by: &Name, known: &[Principal]) -> Result<(), Refusal> {
    let is_named = |principal: &&Principal| principal.name.as_str().eq_ignore_ascii_case(name.as_str());
    match known.iter().filter(is_named).any(|principal| principal.role != Role::Agent) {
        true if name != by => Err(Refusal::NamesPerson { field, name: name.clone() }),
        true | false => Ok(()),
    }
}

/// Refuses reviewers who could never decide: those whom nobody knows, agents and viewers.
pub fn must_decide(reviewers: &[Name], known: &[Principal]) -> Result<(), Refusal> {
    let decides = |name: &Name| known.iter().any(|principal| principal.name == *name && principal.role.decides());
    match reviewers.iter().find(|name| !decides(name)) {
        Some(name) => {
            let problem = format!(
                "names {name}, who is nobody here that decides; name people whose tokens have the role reviewer or admin"
            );
            Err(Refusal::invalid("reviewers", problem))
        }
        None => Ok(()),
    }
}
