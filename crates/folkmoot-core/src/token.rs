//! Tokens: the credentials that principals send with their requests. Only the hash of a token's
//! secret is ever stored.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{
    Commit, Name, Needs, Outcome, Principal, Refusal, Row, Timestamp, TokenId,
    command::Actor,
    judge::{Case, RefusedWith, json},
    presence::PresenceClaim,
    principal,
};

/// A token as stored in its row, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// The token's public name, which is not secret.
    pub id: TokenId,
    /// Whom it names, and with which rights.
    #[serde(flatten)]
    pub principal: Principal,
    pub created_at: Timestamp,
    pub created_by: Name,
    /// `None` while the token is valid.
    pub revoked_at: Option<Timestamp>,
    /// How its secret is kept.
    #[serde(default, skip_serializing_if = "TokenKind::is_minted")]
    pub kind: TokenKind,
}

vocabulary! {
    /// How a token's secret is kept, and so what using it shows.
    #[derive(Default)]
    pub enum TokenKind {
        /// Made for a person or a program. It is unknown how the holder keeps it.
        #[default]
        Minted = "minted",
        /// Kept unencrypted in the data folder, for the person who owns the folder.
        Personal = "personal",
        /// Kept in the data folder, encrypted with its owner's passphrase.
        Protected = "protected",
        /// Kept in the data folder for an owner whose other token is protected. It can read, but
        /// change nothing.
        Reading = "reading",
    }
}

impl TokenKind {
    /// Whether it is the most common kind, which JSON leaves out.
    pub fn is_minted(&self) -> bool {
        *self == TokenKind::Minted
    }
}

/// A request to make a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// The token's public name, which is not secret.
    pub id: TokenId,
    pub principal: Principal,
    /// The hash of the secret.
    pub hash: [u8; 32],
    pub kind: TokenKind,
}

/// An action on a token.
#[derive(Clone, Debug)]
pub enum Action {
    Mint(NewToken),
    /// Ends a token.
    Revoke {
        token: TokenId,
    },
}

impl Action {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Action::Mint(_) => "token.mint",
            Action::Revoke { .. } => "token.revoke",
        }
    }

    pub(crate) fn needs(&self) -> Needs<'_> {
        match self {
            Action::Mint(new_token) => Needs { principals: vec![new_token.principal.name.clone()], ..Needs::default() },
            Action::Revoke { token } => Needs { token: Some(token), ..Needs::default() },
        }
    }

    pub(crate) fn judge(&self, case: &Case<'_>, token: Option<Token>) -> Result<Commit, RefusedWith> {
        match self {
            Action::Mint(new_token) => {
                let token = mint(new_token, &case.principals, &case.command.by, case.presence, case.now)?;
                Ok(commit(case, token.clone(), 1, "token.created", Row::Token(token, new_token.hash)))
            }
            Action::Revoke { token: id } => {
                must_manage(&case.command.by)?;
                let token = token.ok_or_else(|| Refusal::UnknownToken { token: id.clone() })?;
                match revoke(&token, case.now) {
                    Some(revoked) => Ok(commit(case, revoked.clone(), 2, "token.revoked", Row::Revoked(revoked))),
                    None => Ok(Commit { outcome: Outcome::Token(token), ..Commit::default() }),
                }
            }
        }
    }
}

fn commit(case: &Case<'_>, token: Token, seq: u64, kind: &'static str, row: Row) -> Commit {
    let fact = case.fact(&format!("token:{}", token.id), seq, kind, json(&token), None);
    Commit { rows: vec![row], events: vec![fact], outcome: Outcome::Token(token), ..Commit::default() }
}

/// Judges a new token. `known` are the principals with that name, compared without case.
fn mint(
    new_token: &NewToken,
    known: &[Principal],
    by: &Actor,
    presence: Option<PresenceClaim>,
    now: Timestamp,
) -> Result<Token, Refusal> {
    must_manage(by)?;
    must_be_for_owner(new_token, by, presence)?;
    principal::check_name("name", &new_token.principal.name)?;
    if let Some(holder) = known.iter().find(|holder| holder.role != new_token.principal.role) {
        return Err(Refusal::RoleTaken { name: holder.name.clone(), role: holder.role });
    }
    Ok(Token {
        id: new_token.id.clone(),
        principal: new_token.principal.clone(),
        created_at: now,
        created_by: by.name(),
        revoked_at: None,
        kind: new_token.kind,
    })
}

/// Refuses every kind but `Minted`, unless Folkmoot itself makes the token, or a person makes it
/// for themselves with their own personal or protected token. The other kinds say how the secret is
/// kept, so others must not claim them. (Using a personal token for this already takes a terminal.)
fn must_be_for_owner(new_token: &NewToken, by: &Actor, presence: Option<PresenceClaim>) -> Result<(), Refusal> {
    match (new_token.kind, by, presence.map(PresenceClaim::kind)) {
        (TokenKind::Minted, ..) | (_, Actor::System, _) => Ok(()),
        (_, Actor::Principal(by), Some(TokenKind::Personal | TokenKind::Protected)) if *by == new_token.principal => {
            Ok(())
        }
        (kind, ..) => {
            let problem = format!(
                "{kind} is for the owner of a data folder, who makes one with `folkmoot protect`; leave it out"
            );
            Err(Refusal::invalid("kind", problem))
        }
    }
}

/// Whether this person's deciding token is encrypted: they have a valid protected token, and no
/// valid personal one, which would be unencrypted.
pub fn is_protected<'a>(tokens: impl IntoIterator<Item = &'a Token>, name: &Name) -> bool {
    let kinds: Vec<TokenKind> = tokens
        .into_iter()
        .filter(|token| token.revoked_at.is_none() && token.principal.name == *name)
        .map(|token| token.kind)
        .collect();
    kinds.contains(&TokenKind::Protected) && !kinds.contains(&TokenKind::Personal)
}

/// The first person whose deciding token is encrypted.
pub fn protected_person(tokens: &[Token]) -> Option<&Name> {
    tokens.iter().map(|token| &token.principal.name).find(|name| is_protected(tokens, name))
}

/// Judges a revocation; `None` if the token was already revoked.
fn revoke(token: &Token, now: Timestamp) -> Option<Token> {
    if token.revoked_at.is_some() {
        return None;
    }
    Some(Token { revoked_at: Some(now), ..token.clone() })
}

/// Refuses a caller who may not manage tokens, before they learn which tokens exist.
fn must_manage(by: &Actor) -> Result<(), Refusal> {
    by.must_be_admin("manage tokens")
}
