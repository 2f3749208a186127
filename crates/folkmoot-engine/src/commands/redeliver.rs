//! Listing deliveries, and sending one again.

use folkmoot_core::{Delivery, DeliveryId, Outcome, Principal, Refusal, delivery};
use folkmoot_store::{DeliveryQuery, Error, Page, Store};

use super::webhooks::must_be_admin;
use crate::{Caller, Engine};

impl Engine {
    /// A page of the deliveries, newest first.
    pub async fn deliveries(&self, principal: &Principal, query: DeliveryQuery) -> Result<Page<Delivery>, Error> {
        must_be_admin(principal, "look at deliveries")?;
        self.0.store.deliveries(query).await
    }

    pub async fn delivery(&self, principal: &Principal, id: &DeliveryId) -> Result<Delivery, Error> {
        must_be_admin(principal, "look at deliveries")?;
        let unknown = || Refusal::UnknownDelivery { delivery: id.clone() };
        Ok(self.0.store.delivery(id).await?.ok_or_else(unknown)?)
    }

    /// Sends a delivery again, in any state.
    pub async fn redeliver(&self, caller: Caller, delivery: DeliveryId) -> Result<Delivery, Error> {
        let resent = match self.execute(caller, delivery::Action::Resend { delivery }).await? {
            Outcome::Delivery(delivery) => *delivery,
            other => return Err(Error::Unreadable(format!("a delivery was expected, and this came: {other:?}"))),
        };
        self.0.deliveries.nudge();
        Ok(resent)
    }
}
