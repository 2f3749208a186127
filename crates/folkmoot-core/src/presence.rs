//! Presence: how it was shown that a person acted, and not only somebody who has a person's token.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::{Action, Refusal, gate::Risk, token::TokenKind};

vocabulary! {
    /// How it was shown that a person acted, the weakest first. Each counts for those before it.
    pub enum Presence {
        /// By a token alone. Whoever has it, a script too, could have sent the request.
        Token = "token",
        /// The command line says that it showed the content at a terminal and that an answer was
        /// typed there.
        Terminal = "terminal",
        /// Comes with the web pages.
        Page = "page",
        /// The token's secret is kept encrypted, so a passphrase was typed to use it.
        Passphrase = "passphrase",
        /// Comes with the web pages.
        Passkey = "passkey",
    }
}

/// What the configuration demands of a decision, by the risk of its gate. Where it demands nothing,
/// the rules for the kind of token hold alone.
pub type Demands = BTreeMap<Risk, Presence>;

/// What is known of how a request was made: the kind of the token that it shows, and what the
/// program that sent it claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PresenceClaim {
    kind: TokenKind,
    presence: Presence,
}

impl PresenceClaim {
    /// `claimed` is what the request says. Only a terminal can be claimed: a passphrase is shown by
    /// the token itself.
    pub(crate) fn new(kind: TokenKind, claimed: Option<Presence>) -> Self {
        let presence = match (kind, claimed) {
            (TokenKind::Protected, _) => Presence::Passphrase,
            (TokenKind::Minted | TokenKind::Personal, Some(Presence::Terminal)) => Presence::Terminal,
            (TokenKind::Minted | TokenKind::Personal | TokenKind::Reading, _) => Presence::Token,
        };
        Self { kind, presence }
    }

    /// As decisions record it.
    pub(crate) fn presence(self) -> Presence {
        self.presence
    }

    /// The kind of the token.
    pub(crate) fn kind(self) -> TokenKind {
        self.kind
    }

    /// Refuses an action that the token does not allow as it was shown. A decision on a gate is
    /// judged with the gate.
    pub(crate) fn must_allow(self, action: &Action) -> Result<(), Refusal> {
        match self.kind {
            TokenKind::Reading => self.must_be(Presence::Passphrase),
            TokenKind::Personal if is_personal(action) => self.must_be(Presence::Terminal),
            TokenKind::Minted | TokenKind::Personal | TokenKind::Protected => Ok(()),
        }
    }

    /// Refuses a decision on a gate for which more is demanded.
    pub(crate) fn must_decide(self, demanded: Option<Presence>) -> Result<(), Refusal> {
        let usual = match self.kind {
            TokenKind::Minted | TokenKind::Protected => Presence::Token,
            TokenKind::Personal => Presence::Terminal,
            TokenKind::Reading => Presence::Passphrase,
        };
        self.must_be(demanded.map_or(usual, |demanded| demanded.max(usual)))
    }

    /// Refuses what is shown by less than this.
    pub(crate) fn must_be(self, demanded: Presence) -> Result<(), Refusal> {
        if self.presence >= demanded {
            return Ok(());
        }
        Err(Refusal::PresenceRequired { demanded, shown: self.presence })
    }
}

/// Whether an action says something in a person's name that their agent could not do with its own
/// token.
fn is_personal(action: &Action) -> bool {
    match action {
        Action::Amend { .. }
        | Action::Extend(_)
        | Action::Cancel { .. }
        | Action::Close(_)
        // Whoever did not ask releases a denial by it.
        | Action::Fetch { .. }
        | Action::Raise(_)
        | Action::Lift { .. }
        | Action::StartRun(_)
        | Action::EndRun { .. }
        | Action::CancelRun { .. }
        | Action::ResumeRun { .. }
        | Action::CorrectLesson(_)
        | Action::Erase(_)
        | Action::Mint(_)
        | Action::Revoke { .. }
        | Action::CreateWebhook(_)
        | Action::ChangeWebhook(_)
        | Action::RemoveWebhook { .. }
        | Action::Redeliver { .. } => true,
        // A decision is judged with its gate, so that whoever comes too late is told who won. An
        // opening is judged as an agent's: a looser policy than the configured one takes a person.
        Action::Decide(_) | Action::Open { .. } => false,
        // An agent asks, and records what it does, with its own token.
        Action::Ask { .. } | Action::Record(_) => false,
        // Only Folkmoot itself does these.
        Action::Expire { .. }
        | Action::Lapse { .. }
        | Action::Claim(_)
        | Action::Park(_)
        | Action::Wake { .. }
        | Action::Stop(_)
        | Action::Heartbeat { .. }
        | Action::Leave { .. }
        | Action::Retire { .. }
        | Action::TakeDeliveries { .. }
        | Action::SettleDelivery(_)
        | Action::AbandonDeliveries(_) => false,
    }
}

/// What somebody can do who is refused because more was demanded.
pub(crate) fn advice(demanded: Presence) -> &'static str {
    match demanded {
        Presence::Token | Presence::Terminal => {
            "decide with `folkmoot` at a terminal and answer what it asks; a script uses a token that was made for it \
             (`folkmoot token create NAME --role reviewer`)"
        }
        Presence::Passphrase => {
            "use the command line at a terminal, which asks for your passphrase; `folkmoot protect` sets one"
        }
        Presence::Page | Presence::Passkey => {
            "this version cannot show that yet; demand `terminal` or `passphrase` in [gates.presence]"
        }
    }
}
