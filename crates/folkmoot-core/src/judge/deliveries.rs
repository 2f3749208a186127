//! What is written when a delivery is taken, settled, given up or sent again.

use std::{collections::HashMap, time::Duration};

use super::{Case, RefusedWith, json};
use crate::{
    Commit, DeliveryId, Fact, Loaded, Outcome, Refusal, Row,
    delivery::{self, Abandonment, Delivery, DeliveryEvent, DeliveryStatus, Settling},
};

impl Case<'_> {
    pub(super) fn take_deliveries(&self, lease: Duration, limit: u32, loaded: Loaded) -> Result<Commit, RefusedWith> {
        self.must_be_system("deliver")?;
        let due = loaded.deliveries.iter().filter_map(|delivery| delivery::take(delivery, lease, self.now));
        let mut commit = Commit::default();
        let mut taken = Vec::new();
        for delivery in due.take(limit as usize) {
            if delivery.status() == DeliveryStatus::Sending {
                taken.push(delivery.clone());
            }
            commit.merge(self.becomes(delivery));
        }
        Ok(Commit { outcome: Outcome::Deliveries(taken), ..commit })
    }

    pub(super) fn settle_delivery(&self, settling: &Settling, loaded: Loaded) -> Result<Commit, RefusedWith> {
        self.must_be_system("deliver")?;
        // The lease was lost, and somebody else has sent it since: they say what came of it.
        let settled = loaded.delivery.and_then(|delivery| delivery::settle(&delivery, settling, self.now));
        let Some(delivery) = settled else { return Ok(Commit::default()) };
        Ok(Commit { outcome: Outcome::Delivery(Box::new(delivery.clone())), ..self.becomes(delivery) })
    }

    pub(super) fn abandon_deliveries(
        &self,
        abandonments: &[Abandonment],
        loaded: &Loaded,
    ) -> Result<Commit, RefusedWith> {
        self.must_be_system("deliver")?;
        let lost: HashMap<&str, &Abandonment> = abandonments.iter().map(|lost| (lost.channel.as_str(), lost)).collect();
        let abandoned =
            |delivery: &Delivery| delivery::abandon(delivery, lost.get(delivery.channel.as_str())?, self.now);
        let abandoned: Vec<Delivery> = loaded.deliveries.iter().filter_map(abandoned).collect();
        let mut commit = Commit::default();
        abandoned.iter().for_each(|delivery| commit.merge(self.becomes(delivery.clone())));
        Ok(Commit { outcome: Outcome::Deliveries(abandoned), ..commit })
    }

    pub(super) fn redeliver(&self, id: &DeliveryId, loaded: Loaded) -> Result<Commit, RefusedWith> {
        self.command.by.must_be_admin("send again")?;
        let delivery = loaded.delivery.ok_or_else(|| Refusal::UnknownDelivery { delivery: id.clone() })?;
        let delivery = delivery::resend(&delivery, self.now)?;
        let events = vec![self.about_delivery(&delivery, "delivery.resent")];
        let outcome = Outcome::Delivery(Box::new(delivery.clone()));
        Ok(Commit { rows: vec![Row::Delivery(Box::new(delivery))], events, outcome, ..Commit::default() })
    }

    /// The row, and that it died if it did: people should see that. What was delivered is no news.
    fn becomes(&self, delivery: Delivery) -> Commit {
        let died = delivery.status() == DeliveryStatus::Dead;
        let events = died.then(|| self.about_delivery(&delivery, "delivery.died")).into_iter().collect();
        Commit { rows: vec![Row::Delivery(Box::new(delivery))], events, ..Commit::default() }
    }

    fn about_delivery(&self, delivery: &Delivery, kind: &'static str) -> Fact {
        self.fact(&delivery.stream(), delivery.seq, kind, json(&DeliveryEvent::from(delivery)), None)
    }
}
