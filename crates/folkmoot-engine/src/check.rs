//! `CheckGate`: what a program calls at the end of each phase.

use std::time::Duration;

use folkmoot_core::gate::{AutoApproved, GateConfig, PhaseCheck};
use folkmoot_store::{Error, GateView};

use crate::{Caller, Engine, commands::OpenRequest};

/// How long one wait lasts before the next begins.
const ROUND: Duration = Duration::from_secs(24 * 3600);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhasePassage {
    /// There is no gate.
    Auto(AutoApproved),
    /// The gate was decided; its outcome says what follows.
    Decided(Box<GateView>),
}

impl Engine {
    /// Returns at once if the phase has no gate; otherwise opens one and waits for its decision.
    pub async fn check_gate(
        &self,
        config: &GateConfig,
        caller: Caller,
        mut request: OpenRequest,
    ) -> Result<PhasePassage, Error> {
        let new_gate = &mut request.new_gate;
        if let PhaseCheck::Approved(auto) = config.check(new_gate.phase.as_str()) {
            return Ok(PhasePassage::Auto(auto));
        }
        new_gate.timeout = new_gate.timeout.or(Some(config.timeout));
        new_gate.notification_channels.extend(config.notification_channels.iter().cloned());
        let principal = caller.principal.clone();
        let opened = self.open(caller, request).await?;
        loop {
            let view = self.wait(&principal, &opened.gate.id, ROUND).await?;
            if view.gate.decision().is_some() {
                return Ok(PhasePassage::Decided(Box::new(view)));
            }
        }
    }
}
