//! The actions on deliveries, the rows that each needs, and what it writes.

use std::{collections::HashMap, time::Duration};

use super::{Abandonment, Delivery, DeliveryEvent, DeliveryStatus, Settlement, abandon, resend, settle, take};
use crate::{
    Commit, DeliveryId, Fact, Outcome, Refusal, Row,
    judge::{Case, RefusedWith, json},
};

/// An action on deliveries.
#[derive(Clone, Debug)]
pub enum Action {
    /// A node takes the deliveries of a channel that are due, to send them.
    Take {
        channel: String,
        /// The maximum number of deliveries to take.
        limit: u32,
        /// For this long, no other node takes them.
        lease: Duration,
    },
    /// An attempt to deliver has ended.
    Settle(Box<Settlement>),
    /// Channels cannot receive anything. Their waiting deliveries die, a limited number at a time.
    Abandon(Vec<Abandonment>),
    /// Sends a delivery again.
    Resend { delivery: DeliveryId },
}

/// The deliveries that a command needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs<'a> {
    /// This delivery.
    pub id: Option<&'a DeliveryId>,
    /// For each of these channels, at most this many deliveries that wait or are being sent, in the
    /// order in which they are due.
    pub waiting: Vec<(&'a str, u32)>,
}

/// The deliveries that were found.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub delivery: Option<Delivery>,
    /// Those that wait for the channels, or are being sent.
    pub waiting: Vec<Delivery>,
}

impl Action {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Action::Take { .. } => "delivery.take",
            Action::Settle(_) => "delivery.settle",
            Action::Abandon(_) => "delivery.abandon",
            Action::Resend { .. } => "delivery.resend",
        }
    }

    pub(crate) fn is_personal(&self) -> bool {
        match self {
            Action::Resend { .. } => true,
            // Only Folkmoot itself does these.
            Action::Take { .. } | Action::Settle(_) | Action::Abandon(_) => false,
        }
    }

    pub(crate) fn needs(&self) -> crate::Needs<'_> {
        let (id, waiting) = match self {
            Action::Take { channel, limit, .. } => (None, vec![(channel.as_str(), *limit)]),
            Action::Abandon(abandonments) => {
                let most = super::abandoned_of_each(abandonments.len());
                (None, abandonments.iter().map(|lost| (lost.channel.as_str(), most)).collect())
            }
            Action::Settle(settlement) => (Some(&settlement.delivery), Vec::new()),
            Action::Resend { delivery } => (Some(delivery), Vec::new()),
        };
        crate::Needs { delivery: Needs { id, waiting }, ..crate::Needs::default() }
    }

    pub(crate) fn judge(&self, case: &Case<'_>, loaded: Loaded) -> Result<Commit, RefusedWith> {
        match self {
            Action::Take { limit, lease, .. } => {
                case.must_be_system("deliver")?;
                let due = loaded.waiting.iter().filter_map(|delivery| take(delivery, *lease, case.now));
                let mut commit = Commit::default();
                let mut taken = Vec::new();
                for delivery in due.take(*limit as usize) {
                    if delivery.status() == DeliveryStatus::Sending {
                        taken.push(delivery.clone());
                    }
                    commit.merge(delivery.commit(case));
                }
                Ok(Commit { outcome: Outcome::Deliveries(taken), ..commit })
            }
            Action::Settle(settlement) => {
                case.must_be_system("deliver")?;
                // If the lease was lost, another node has taken it since, and that node settles it.
                let settled = loaded.delivery.and_then(|delivery| settle(&delivery, settlement, case.now));
                let Some(delivery) = settled else { return Ok(Commit::default()) };
                Ok(Commit { outcome: Outcome::Delivery(Box::new(delivery.clone())), ..delivery.commit(case) })
            }
            Action::Abandon(abandonments) => {
                case.must_be_system("deliver")?;
                let lost: HashMap<&str, &Abandonment> =
                    abandonments.iter().map(|lost| (lost.channel.as_str(), lost)).collect();
                let abandoned = |delivery: &Delivery| abandon(delivery, lost.get(delivery.channel.as_str())?, case.now);
                let abandoned: Vec<Delivery> = loaded.waiting.iter().filter_map(abandoned).collect();
                let mut commit = Commit::default();
                abandoned.iter().for_each(|delivery| commit.merge(delivery.clone().commit(case)));
                Ok(Commit { outcome: Outcome::Deliveries(abandoned), ..commit })
            }
            Action::Resend { delivery: id } => {
                case.command.by.must_be_admin("send again")?;
                let unknown = || Refusal::UnknownDelivery { delivery: id.clone() };
                let delivery = resend(&loaded.delivery.ok_or_else(unknown)?, case.now)?;
                let events = vec![delivery.fact(case, "delivery.resent")];
                let outcome = Outcome::Delivery(Box::new(delivery.clone()));
                Ok(Commit { rows: vec![Row::Delivery(Box::new(delivery))], events, outcome, ..Commit::default() })
            }
        }
    }
}

impl Delivery {
    /// Writes the row. If the delivery died, also writes an event, because people should see that.
    /// A success has no event.
    fn commit(self, case: &Case<'_>) -> Commit {
        let died = self.status() == DeliveryStatus::Dead;
        let events = died.then(|| self.fact(case, "delivery.died")).into_iter().collect();
        Commit { rows: vec![Row::Delivery(Box::new(self))], events, ..Commit::default() }
    }

    fn fact(&self, case: &Case<'_>, kind: &'static str) -> Fact {
        case.fact(&self.stream(), self.seq, kind, json(&DeliveryEvent::from(self)), None)
    }
}
