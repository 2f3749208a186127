//! Tokens: what a principal shows at the door. Only the hash of the secret is ever stored.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{Name, Principal, Refusal, Timestamp, TokenId, command::Actor, principal};

/// A token as its row holds it. It carries no secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its public name.
    pub id: TokenId,
    /// Whom it names, and what they may do.
    #[serde(flatten)]
    pub principal: Principal,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: Name,
    /// When it stopped working.
    pub revoked_at: Option<Timestamp>,
}

/// A token to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minting {
    /// Its public name.
    pub id: TokenId,
    /// Whom it is to name.
    pub principal: Principal,
    /// Of the secret.
    pub hash: [u8; 32],
}

/// Judges a minting. `holder` is the principal of that name, if there is one.
pub(crate) fn mint(
    minting: &Minting,
    holder: Option<&Principal>,
    by: &Actor,
    now: Timestamp,
) -> Result<Token, Refusal> {
    must_manage(by)?;
    principal::check_name("name", &minting.principal.name)?;
    if let Some(holder) = holder.filter(|holder| holder.role != minting.principal.role) {
        return Err(Refusal::RoleTaken { name: holder.name.clone(), role: holder.role });
    }
    Ok(Token {
        id: minting.id.clone(),
        principal: minting.principal.clone(),
        created_at: now,
        created_by: by.name(),
        revoked_at: None,
    })
}

/// Judges a revocation; `None` where the token was revoked before.
pub(crate) fn revoke(token: &Token, now: Timestamp) -> Option<Token> {
    if token.revoked_at.is_some() {
        return None;
    }
    Some(Token { revoked_at: Some(now), ..token.clone() })
}

/// Refuses whoever may not manage tokens, before they learn which there are.
pub(crate) fn must_manage(by: &Actor) -> Result<(), Refusal> {
    by.must_be_admin("manage tokens")
}
