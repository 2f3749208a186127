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
            TokenKind::Personal if !action.is_personal() => Ok(()),
            TokenKind::Minted | TokenKind::Personal | TokenKind::Protected | TokenKind::Reading => {
                self.must_be_person()
            }
        }
    }

    /// Refuses what is done in a person's name if the token does not show the person.
    pub(crate) fn must_be_person(self) -> Result<(), Refusal> {
        match self.kind {
            TokenKind::Reading => self.must_be(Presence::Passphrase),
            TokenKind::Personal => self.must_be(Presence::Terminal),
            TokenKind::Minted | TokenKind::Protected => Ok(()),
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

/// Refuses a request that does something in a person's name without a command, unless its token
/// shows the person. `claimed` is what the request says.
pub fn must_show_person(kind: TokenKind, claimed: Option<Presence>) -> Result<(), Refusal> {
    PresenceClaim::new(kind, claimed).must_be_person()
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
