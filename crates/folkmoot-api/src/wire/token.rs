//! Tokens on the wire.

use folkmoot_core::{
    Capability, Name, Role, Timestamp, TokenId,
    token::{self, TokenKind},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Makes a token. A name has one role.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "alice", "role": "reviewer"}))]
pub struct NewToken {
    /// Whom it names.
    pub name: Name,
    /// What they may do.
    pub role: Role,
    /// What this token allows beyond the role: `halt` lets a monitoring agent raise halts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    /// How its secret will be kept. Only the owner of a data folder says another than `minted`, for
    /// themselves.
    #[serde(default, skip_serializing_if = "TokenKind::is_minted")]
    pub kind: TokenKind,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Its public name.
    pub id: TokenId,
    /// Whom it names.
    pub name: Name,
    /// What they may do.
    pub role: Role,
    /// What it allows beyond the role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: Name,
    /// When it stopped working.
    pub revoked_at: Option<Timestamp>,
    /// How its secret is kept, and so what using it shows.
    #[serde(default)]
    pub kind: TokenKind,
    /// The secret, shown once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// All tokens, without their secrets.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    /// The oldest first.
    pub tokens: Vec<Token>,
}

impl Token {
    /// A token, and its secret if this is the time to show it.
    pub fn new(token: token::Token, secret: Option<String>) -> Self {
        Self {
            id: token.id,
            name: token.principal.name,
            role: token.principal.role,
            capabilities: token.principal.capabilities,
            created_at: token.created_at,
            created_by: token.created_by,
            revoked_at: token.revoked_at,
            kind: token.kind,
            token: secret,
        }
    }
}
