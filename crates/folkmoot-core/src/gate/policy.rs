//! The server's policy for gates, and the rule that agents may only tighten it.

use std::{collections::BTreeSet, time::Duration};

use serde::Deserialize;

use super::{NewGate, OnTimeout, Risk, SelfReview};
use crate::{Name, Presence, Principal, Refusal, Role, Timeout, delivery, presence::Demands, run::Run};

/// The configured policy for gates. It is resolved when a gate opens and recorded with the gate. A
/// later change of the configuration affects an open gate only if its risk is raised.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatePolicy {
    /// How long a gate waits unless it says otherwise.
    #[serde(rename = "timeout_ms")]
    pub timeout: Timeout,
    /// What a timeout does unless the gate says otherwise.
    pub on_timeout: OnTimeout,
    /// Who may decide; empty means any reviewer.
    pub reviewers: Vec<Name>,
    /// The number of approvals needed.
    pub quorum: u32,
    /// The number of rejections (or adjustments) needed to close a gate.
    pub reject_quorum: u32,
    /// Whether a run's initiator may decide. If unset, they may, except at critical risk.
    pub self_review: Option<SelfReview>,
    /// The channels to notify of every gate.
    pub notification_channels: Vec<String>,
    /// A gate reminds when this much time is left. Empty means never.
    pub remind_before_ms: Vec<u64>,
    /// A gate escalates when this much time is left, and goes on waiting. `None` means never.
    pub escalate_before_ms: Option<u64>,
    /// Additional channels to notify of an escalation, before the deadline or at it.
    pub escalate_to: Vec<String>,
    /// How a person must show that they decide, by risk. A gate cannot change this.
    pub presence: Demands,
}

impl Default for GatePolicy {
    fn default() -> Self {
        Self {
            timeout: Timeout::After(Duration::from_secs(30 * 60)),
            on_timeout: OnTimeout::Fail,
            reviewers: Vec::new(),
            quorum: 1,
            reject_quorum: 1,
            self_review: None,
            notification_channels: Vec::new(),
            remind_before_ms: Vec::new(),
            escalate_before_ms: None,
            escalate_to: Vec::new(),
            presence: Demands::new(),
        }
    }
}

/// How the gates of a run that Folkmoot executes should differ from the policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatePreferences {
    pub timeout: Option<Timeout>,
    pub on_timeout: Option<OnTimeout>,
    pub reviewers: Option<Vec<Name>>,
    /// The channels to notify, in addition to those of the policy.
    pub notification_channels: Vec<String>,
}

/// The policy of one gate: the configured one, with the requester's changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResolvedPolicy {
    pub timeout: Timeout,
    pub on_timeout: OnTimeout,
    pub reviewers: Vec<Name>,
    pub quorum: u32,
    pub reject_quorum: u32,
    pub self_review: SelfReview,
}

impl GatePolicy {
    /// Refuses a policy that cannot be followed.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.on_timeout == OnTimeout::Retry {
            return Err(Refusal::invalid("on_timeout", "`retry` is only for our own runs; use another"));
        }
        check_timeout(self.timeout)?;
        if let Some(demanded) =
            self.presence.values().find(|demanded| matches!(demanded, Presence::Page | Presence::Passkey))
        {
            let problem = format!("{demanded} cannot be shown in this version; demand token, terminal or passphrase");
            return Err(Refusal::invalid("presence", problem));
        }
        self.check_reminders()?;
        delivery::check_channels("notification_channels", &self.notification_channels)?;
        delivery::check_channels("escalate_to", &self.escalate_to)?;
        let people = (!self.reviewers.is_empty()).then_some(self.reviewers.len());
        check_reachable(people, self.quorum, self.reject_quorum)
    }

    /// Refuses preferences for which a gate would be refused later, so that the caller learns of it
    /// before anything is started.
    pub fn must_allow(&self, wanted: &GatePreferences, by: &Principal) -> Result<(), Refusal> {
        let usual = self.self_review.unwrap_or(SelfReview::Allow);
        let resolved = ResolvedPolicy {
            timeout: wanted.timeout.unwrap_or(self.timeout),
            on_timeout: wanted.on_timeout.unwrap_or(self.on_timeout),
            reviewers: wanted.reviewers.clone().unwrap_or_else(|| self.reviewers.clone()),
            quorum: self.quorum,
            reject_quorum: self.reject_quorum,
            self_review: usual,
        };
        if by.role == Role::Agent {
            self.refuse_weaker(&resolved, usual)?;
        }
        check_timeout(resolved.timeout)?;
        delivery::check_channels("notification_channels", &wanted.notification_channels)?;
        let denied = Some(&by.name).filter(|_| usual == SelfReview::Deny);
        let free: BTreeSet<_> = resolved.reviewers.iter().filter(|name| Some(*name) != denied).collect();
        let people = (!resolved.reviewers.is_empty()).then_some(free.len());
        check_reachable(people, resolved.quorum, resolved.reject_quorum)
    }

    /// Whether a run's initiator may decide at this risk.
    pub(super) fn self_review_at(&self, risk: Risk) -> SelfReview {
        self.self_review.unwrap_or(if risk == Risk::Critical { SelfReview::Deny } else { SelfReview::Allow })
    }

    /// The policy for one gate. Agents may only tighten the configured policy; reviewers and admins
    /// may also loosen it.
    pub(super) fn resolve(
        &self,
        new_gate: &NewGate,
        by: &Principal,
        run: Option<&Run>,
    ) -> Result<ResolvedPolicy, Refusal> {
        let usual = self.self_review_at(new_gate.risk);
        let mut reviewers = new_gate.reviewers.clone().unwrap_or_else(|| self.reviewers.clone());
        reviewers.sort();
        reviewers.dedup();
        let resolved = ResolvedPolicy {
            timeout: new_gate.timeout.unwrap_or(self.timeout),
            on_timeout: new_gate.on_timeout.unwrap_or(self.on_timeout),
            reviewers,
            quorum: new_gate.quorum.unwrap_or(self.quorum),
            reject_quorum: new_gate.reject_quorum.unwrap_or(self.reject_quorum),
            self_review: new_gate.self_review.unwrap_or(usual),
        };
        if by.role == Role::Agent {
            self.refuse_weaker(&resolved, usual)?;
        }
        let ours = run.is_some_and(|run| run.start.workflow.is_some() && run.speaker().name == by.name);
        if resolved.on_timeout == OnTimeout::Retry && !ours {
            let problem = "`retry` is only for Folkmoot's own runs; open another gate when this one has timed out";
            return Err(Refusal::invalid("on_timeout", problem));
        }
        check_timeout(resolved.timeout)?;
        // The requester may not decide, nor may the run's initiator if self-review is denied. So as
        // named reviewers they do not count towards a quorum.
        let denied = run.filter(|_| resolved.self_review == SelfReview::Deny).map(|run| &run.start.initiator);
        let involved = [Some(&by.name), denied];
        let free = resolved.reviewers.iter().filter(|name| !involved.contains(&Some(name))).count();
        let people = (!resolved.reviewers.is_empty()).then_some(free);
        check_reachable(people, resolved.quorum, resolved.reject_quorum)?;
        Ok(resolved)
    }

    fn refuse_weaker(&self, wanted: &ResolvedPolicy, usual: SelfReview) -> Result<(), Refusal> {
        let weaker = |field, policy: String| Err(Refusal::WeakensPolicy { field, policy });
        // If a timeout approves the gate, choosing the reviewers or the quorums means choosing who
        // can object.
        if wanted.on_timeout == OnTimeout::Approve {
            self.refuse_choosing(wanted)?;
        }
        let consents = wanted.on_timeout == OnTimeout::Approve;
        if consents && self.on_timeout != OnTimeout::Approve {
            return weaker("on_timeout", format!("{:?}", self.on_timeout.word()));
        }
        // If a timeout approves the gate, a shorter wait leaves less chance to object.
        if consents && wanted.timeout < self.timeout {
            return weaker("timeout_ms", "at least the configured time, because silence consents here".to_owned());
        }
        let outsider = wanted.reviewers.iter().find(|name| !self.reviewers.contains(name));
        if !self.reviewers.is_empty() && (wanted.reviewers.is_empty() || outsider.is_some()) {
            let names: Vec<_> = self.reviewers.iter().map(Name::as_str).collect();
            return weaker("reviewers", format!("only {}", names.join(", ")));
        }
        if wanted.quorum < self.quorum {
            return weaker("quorum", format!("at least {}", self.quorum));
        }
        if wanted.reject_quorum > self.reject_quorum {
            return weaker("reject_quorum", format!("at most {}", self.reject_quorum));
        }
        if wanted.self_review == SelfReview::Allow && usual == SelfReview::Deny {
            return weaker("self_review", "\"deny\"".to_owned());
        }
        Ok(())
    }
}

impl GatePolicy {
    fn refuse_choosing(&self, wanted: &ResolvedPolicy) -> Result<(), Refusal> {
        let named: BTreeSet<_> = self.reviewers.iter().collect();
        let field = if wanted.reviewers.iter().collect::<BTreeSet<_>>() != named {
            "reviewers"
        } else if wanted.quorum != self.quorum {
            "quorum"
        } else if wanted.reject_quorum != self.reject_quorum {
            "reject_quorum"
        } else {
            return Ok(());
        };
        let policy = "what is configured, because silence consents here".to_owned();
        Err(Refusal::WeakensPolicy { field, policy })
    }
}

/// Refuses a timeout that the log or the row could not store exactly, because the two would then
/// disagree.
pub(super) fn check_timeout(timeout: Timeout) -> Result<(), Refusal> {
    if timeout.is_exact() {
        return Ok(());
    }
    Err(Refusal::invalid(
        "timeout_ms",
        "must be a whole number of milliseconds above zero, or \"never\" where it is very long",
    ))
}

/// Refuses quorums of zero, and quorums that are so high that a split vote could reach neither of
/// them. `people` is how many named reviewers may decide; `None` if none are named.
fn check_reachable(people: Option<usize>, quorum: u32, reject_quorum: u32) -> Result<(), Refusal> {
    if quorum == 0 || reject_quorum == 0 {
        let field = if quorum == 0 { "quorum" } else { "reject_quorum" };
        return Err(Refusal::invalid(field, "must be at least 1"));
    }
    let Some(people) = people.map(|people| u32::try_from(people).unwrap_or(u32::MAX)) else { return Ok(()) };
    let needed = quorum.saturating_add(reject_quorum) - 1;
    if needed > people {
        let problem = format!(
            "{quorum} approvals and {reject_quorum} rejections cannot both be reachable with {people} reviewers who \
             may decide; name at least {needed}, or ask for fewer"
        );
        return Err(Refusal::invalid("quorum", problem));
    }
    Ok(())
}
