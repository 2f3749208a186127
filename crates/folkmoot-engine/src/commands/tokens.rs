//! Creating, listing and revoking tokens.

use std::time::Duration;

use folkmoot_core::{
    Name, Outcome, Principal, Refusal, Role, TokenId,
    token::{self, NewToken, Token, TokenKind},
};
use folkmoot_store::{Error, Store};

use crate::{Caller, Engine, clearance::SILENCE_MAX, credentials};

/// After this time every node of a shared database has heard of a revocation, or has lost touch.
/// The nodes' clocks need not agree, only run at about the same speed.
const HEARD_AFTER: Duration = SILENCE_MAX.saturating_add(Duration::from_millis(50));
/// The minimum length of a chosen secret.
const SECRET_CHARS_MIN: usize = 16;

/// A new token and its secret, which is shown once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minted {
    pub token: Token,
    /// `None` for a repeated request.
    pub secret: Option<String>,
}

impl Engine {
    /// Creates a token with a random secret.
    pub async fn mint(&self, caller: Caller, principal: Principal, kind: TokenKind) -> Result<Minted, Error> {
        let secret = self.new_secret();
        let new_token = NewToken { id: self.new_token_id(), principal, hash: credentials::hash(&secret), kind };
        let id = new_token.id.clone();
        let token = token(self.execute(caller, token::Action::Mint(new_token)).await?)?;
        if token.id != id {
            return Ok(Minted { token, secret: None });
        }
        self.0.credentials.learn([(token.clone(), credentials::hash(&secret))]);
        Ok(Minted { token, secret: Some(secret) })
    }

    /// Revokes a token. From the commit on it cannot write. On return, no node accepts it for
    /// anything: if there may be other nodes, this waits until they have heard of it or noticed
    /// that they hear nothing.
    pub async fn revoke(&self, caller: Caller, id: TokenId) -> Result<Token, Error> {
        let token = token(self.execute(caller, token::Action::Revoke { token: id }).await?)?;
        self.0.credentials.end(token.id.clone());
        if self.0.store.is_shared() {
            self.0.host.sleep(HEARD_AFTER).await;
        }
        Ok(token)
    }

    /// All tokens, without their secrets.
    pub async fn tokens(&self, principal: &Principal) -> Result<Vec<Token>, Error> {
        match principal.role {
            Role::Admin => Ok(self.0.store.tokens().await?.into_iter().map(|(token, _)| token).collect()),
            role @ (Role::Reviewer | Role::Agent | Role::Viewer) => {
                Err(Refusal::RoleMayNot { role, verb: "manage tokens" }.into())
            }
        }
    }

    /// All principals that have or had a token.
    pub async fn principals(&self) -> Result<Vec<Principal>, Error> {
        Ok(self.0.store.tokens().await?.into_iter().map(|(token, _)| token.principal).collect())
    }

    /// Ensures that `secret` is a token of `principal`, of this kind. For the first start and for
    /// automation.
    pub async fn ensure_token(&self, principal: Principal, kind: TokenKind, secret: &str) -> Result<(), Error> {
        if let Some(token) = self.token_of(secret).await? {
            // Another node may have created it since.
            if token.revoked_at.is_none() && token.principal == principal && token.kind == kind {
                return self.reload_credentials().await;
            }
            let problem = format!(
                "of {} was revoked, names somebody else, or is of another kind; choose another secret",
                principal.name
            );
            return Err(Refusal::invalid("token", problem).into());
        }
        if secret.chars().count() < SECRET_CHARS_MIN {
            let problem = format!("of {} is shorter than {SECRET_CHARS_MIN} characters", principal.name);
            return Err(Refusal::invalid("token", problem).into());
        }
        let action =
            token::Action::Mint(NewToken { id: self.new_token_id(), principal, hash: credentials::hash(secret), kind });
        let made = self.execute_command(self.system_command(action)).await;
        self.reload_credentials().await?;
        match made {
            // Another node that starts at the same time was faster.
            Err(Error::Database(_)) if self.token_of(secret).await?.is_some_and(|token| token.revoked_at.is_none()) => {
                Ok(())
            }
            made => made.map(drop),
        }
    }

    /// Ensures that a configured token exists. If a person has protected their token, this creates
    /// no new deciding principal: otherwise starting a server would be a way to decide without the
    /// passphrase.
    pub async fn ensure_configured_token(&self, principal: Principal, secret: &str) -> Result<(), Error> {
        let known = self.token_of(secret).await?;
        if known.as_ref().is_some_and(|token| token.revoked_at.is_some()) {
            tracing::warn!(token.name = %principal.name, "a token that the configuration names was revoked, and stays so");
            return Ok(());
        }
        let has_a_say = principal.role.decides() || !principal.capabilities.is_empty();
        if let (None, true, Some(owner)) = (known, has_a_say, self.protected_person().await?) {
            let problem = format!(
                "of {} is new, and {owner} has protected this folder; make it with `folkmoot token create` instead",
                principal.name
            );
            return Err(Refusal::invalid("token", problem).into());
        }
        self.ensure_token(principal, TokenKind::Minted, secret).await
    }

    /// A person whose deciding token is protected by a passphrase, if any.
    pub async fn protected_person(&self) -> Result<Option<Name>, Error> {
        let tokens: Vec<_> = self.0.store.tokens().await?.into_iter().map(|(token, _)| token).collect();
        Ok(token::protected_person(&tokens).cloned())
    }

    /// The token with this secret, valid or not.
    pub async fn token_of(&self, secret: &str) -> Result<Option<Token>, Error> {
        let hash = credentials::hash(secret);
        Ok(self.0.store.tokens().await?.into_iter().find(|(_, known)| *known == hash).map(|(token, _)| token))
    }

    /// Revokes the token with this secret, if it is valid.
    pub async fn end_token(&self, secret: &str) -> Result<(), Error> {
        let known = self.token_of(secret).await?;
        let Some(token) = known.filter(|token| token.revoked_at.is_none()) else { return Ok(()) };
        self.execute_command(self.system_command(token::Action::Revoke { token: token.id })).await?;
        self.reload_credentials().await
    }

    /// A secret of 256 bits.
    pub fn new_secret(&self) -> String {
        format!("fm_{:032x}{:032x}", self.0.host.random(), self.0.host.random())
    }

    fn new_token_id(&self) -> TokenId {
        format!("tok-{:016x}", self.0.host.random() as u64).parse().expect("letters, digits and a dash are an id")
    }
}

fn token(outcome: Outcome) -> Result<Token, Error> {
    match outcome {
        Outcome::Token(token) => Ok(token),
        other => Err(Error::Unreadable(format!("a token was expected, and this came: {other:?}"))),
    }
}
