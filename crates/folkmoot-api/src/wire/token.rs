//! Tokens on the wire.

use folkmoot_core::{
    Capability, Name, Role, Timestamp, TokenId,
    token::{self, TokenKind},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Creates a token. All tokens of one name have the same role.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "alice", "role": "reviewer"}))]
pub struct NewToken {
    /// The principal that the token names.
    pub name: Name,
    /// What the principal may do.
    pub role: Role,
    /// What the token allows beyond the role: `halt` lets a monitoring agent raise halts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    /// How the secret is kept. Any kind but `minted` is only for the owner of a data folder, for
    /// their own token.
    #[serde(default, skip_serializing_if = "TokenKind::is_minted")]
    pub kind: TokenKind,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Identifies the token. It is not secret.
    pub id: TokenId,
    /// The principal that the token names.
    pub name: Name,
    /// What the principal may do.
    pub role: Role,
    /// What the token allows beyond the role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    pub created_at: Timestamp,
    pub created_by: Name,
    /// When the token was revoked.
    pub revoked_at: Option<Timestamp>,
    /// How the secret is kept, and so what its use proves about the person who uses it.
    #[serde(default)]
    pub kind: TokenKind,
    /// The secret. It is shown only when the token is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// All tokens, without their secrets.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    /// Oldest first.
    pub tokens: Vec<Token>,
}

impl Token {
    /// A token, with its secret if it was just created.
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
