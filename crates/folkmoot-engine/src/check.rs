//! `CheckGate`: what a program calls at the end of each phase.

use std::time::Duration;

use folkmoot_core::gate::{AutoApproved, GateConfig, PhaseCheck};
use folkmoot_store::{Error, GateView};

use crate::{Caller, Engine, commands::OpenRequest};

/// How long one wait lasts before the next begins; a gate that never times out is waited for in
/// many of them.
const ROUND: Duration = Duration::from_secs(24 * 3600);

/// How a phase got past its end, or did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhasePassage {
    /// No gate stands there.
    Auto(AutoApproved),
    /// The gate was decided; its outcome says what follows.
    Decided(Box<GateView>),
}

impl Engine {
    /// Goes on at once where the phase has no gate; else opens one and waits until it is decided.
    pub async fn check_gate(
        &self,
        config: &GateConfig,
        caller: Caller,
        mut request: OpenRequest,
    ) -> Result<PhasePassage, Error> {
        let opening = &mut request.opening;
        if let PhaseCheck::Approved(auto) = config.check(opening.phase.as_str()) {
            return Ok(PhasePassage::Auto(auto));
        }
        opening.timeout = opening.timeout.or(Some(config.timeout));
        opening.notification_channels.extend(config.notification_channels.iter().cloned());
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
