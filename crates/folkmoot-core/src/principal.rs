//! Principals: the people, agents and services that tokens name, and what their roles allow.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{Name, Refusal, run};

/// A person, agent or service. A name has one role.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Principal {
    /// Its name in the log and on every page.
    pub name: Name,
    pub role: Role,
    /// What its token allows in addition to the role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
}

impl Principal {
    /// A principal without capabilities.
    pub fn new(name: Name, role: Role) -> Self {
        Self { name, role, capabilities: Vec::new() }
    }

    /// Whether it may raise a halt. Admins may, and so may a principal whose token has the
    /// capability, such as a monitoring agent.
    pub fn may_halt(&self) -> bool {
        self.role == Role::Admin || self.capabilities.contains(&Capability::Halt)
    }
}

vocabulary! {
    /// What a token can allow beyond its holder's role.
    pub enum Capability {
        /// May raise halts. Only admins may lift them.
        Halt = "halt",
    }
}

vocabulary! {
    /// What a principal may do.
    pub enum Role {
        /// Decides and answers. Also overrides gates, raises and lifts halts, and manages tokens.
        Admin = "admin",
        /// Decides and answers.
        Reviewer = "reviewer",
        /// Opens gates, asks questions, waits, and reads only its own. Never decides.
        Agent = "agent",
        /// Only reads.
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

/// Names under which the log records what no principal did.
const RESERVED: [&str; 4] = ["auto", "system", "timer", "timeout"];

/// Refuses a reserved name: one under which the log records what no principal did.
pub fn check_name(field: &'static str, name: &Name) -> Result<(), Refusal> {
    let lower = name.as_str().to_ascii_lowercase();
    if RESERVED.contains(&lower.as_str()) || ["ai:", run::SPEAKER].iter().any(|prefix| lower.starts_with(prefix)) {
        return Err(Refusal::invalid(field, format!("{name:?} is reserved; choose another")));
    }
    Ok(())
}

/// Whether a workflow speaks under this name, which no principal can have.
pub fn is_workflow(name: &Name) -> bool {
    name.as_str().starts_with(run::SPEAKER)
}

/// Who really asks. What a workflow asks is asked by whoever started its run; anything else by
/// `by`. The column `asker` in the database says the same.
pub fn asker<'a>(by: &'a Name, initiator: Option<&'a Name>) -> &'a Name {
    initiator.filter(|_| is_workflow(by)).unwrap_or(by)
}

/// Who really asks, for people to read: `bot (workflow:plan@1)` for what a plan of `bot` asks.
pub fn shown_asker(by: &Name, initiator: Option<&Name>) -> String {
    let asker = asker(by, initiator);
    if asker == by { by.to_string() } else { format!("{asker} ({by})") }
}

/// Refuses the name of a principal that is not an agent, unless it is the caller's own. Nobody may
/// speak in a person's name, nor in a name that differs from it only in case. `known` are the
/// principals that have tokens; a name that none of them has is free.
pub fn must_not_be_a_person(field: &'static str, name: &Name, by: &Name, known: &[Principal]) -> Result<(), Refusal> {
    let is_named = |principal: &&Principal| principal.name.as_str().eq_ignore_ascii_case(name.as_str());
    match known.iter().filter(is_named).any(|principal| principal.role != Role::Agent) {
        true if name != by => Err(Refusal::NamesPerson { field, name: name.clone() }),
        true | false => Ok(()),
    }
}

/// Refuses reviewers who could never decide: unknown names, agents and viewers.
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
