//! Presence: how it was shown that a person acted, rather than a program that has the person's
//! token.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::{Action, Refusal, gate::Risk, token::TokenKind};

vocabulary! {
    /// How it was shown that a person acted, the weakest first. Each counts for those before it.
    pub enum Presence {
        /// By a token alone. Anybody who has the token, including a script, could have sent the
        /// request.
        Token = "token",
        /// The command line says that it showed the content at a terminal and that an answer was
        /// typed there.
        Terminal = "terminal",
        /// Not possible yet. It comes with the web pages.
        Page = "page",
        /// The token's secret is kept encrypted, so a passphrase was typed to use it.
        Passphrase = "passphrase",
        /// Not possible yet. It comes with the web pages.
        Passkey = "passkey",
    }
}

/// The presence that the configuration demands for a decision, by the risk of its gate. If it
/// demands nothing, only the rules for the kind of token apply.
pub type Demands = BTreeMap<Risk, Presence>;

/// What is known about how a request was made: the kind of its token, and the presence that follows
/// from this kind and from what the sending program claims.
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

    /// The presence that decisions record.
    pub(crate) fn presence(self) -> Presence {
        self.presence
    }

    pub(crate) fn kind(self) -> TokenKind {
        self.kind
    }

    /// Refuses an action if the token shows too little presence for it. For a decision on a gate,
    /// the demands of the gate are checked later.
    pub(crate) fn must_allow(self, action: &Action) -> Result<(), Refusal> {
        match self.kind {
            TokenKind::Personal if !action.is_personal() => Ok(()),
            TokenKind::Minted | TokenKind::Personal | TokenKind::Protected | TokenKind::Reading => {
                self.must_be_person()
            }
        }
    }

    /// Refuses to do something in a person's name if the token does not show that the person is
    /// present.
    pub(crate) fn must_be_person(self) -> Result<(), Refusal> {
        match self.kind {
            TokenKind::Reading => self.must_be(Presence::Passphrase),
            TokenKind::Personal => self.must_be(Presence::Terminal),
            TokenKind::Minted | TokenKind::Protected => Ok(()),
        }
    }

    /// Refuses a decision on a gate that demands more presence than was shown.
    pub(crate) fn must_decide(self, demanded: Option<Presence>) -> Result<(), Refusal> {
        let usual = match self.kind {
            TokenKind::Minted | TokenKind::Protected => Presence::Token,
            TokenKind::Personal => Presence::Terminal,
            TokenKind::Reading => Presence::Passphrase,
        };
        self.must_be(demanded.map_or(usual, |demanded| demanded.max(usual)))
    }

    /// Refuses if less presence than this was shown.
    pub(crate) fn must_be(self, demanded: Presence) -> Result<(), Refusal> {
        if self.presence >= demanded {
            return Ok(());
        }
        Err(Refusal::PresenceRequired { demanded, shown: self.presence })
    }
}

/// Refuses a request that does something in a person's name without sending a command, unless its
/// token shows that the person is present. `claimed` is what the request says.
pub fn must_show_person(kind: TokenKind, claimed: Option<Presence>) -> Result<(), Refusal> {
    PresenceClaim::new(kind, claimed).must_be_person()
}

/// What to do about a refusal that demands this presence.
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
