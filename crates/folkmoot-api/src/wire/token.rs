//! Tokens on the wire.

use folkmoot_core::{
    Capability, Name, Role, Timestamp, TokenId,
    token::{self, TokenKind},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::schema;

/// Makes a token. A name has one role.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "alice", "role": "reviewer"}))]
pub struct NewToken {
    /// Whom it names.
    #[schema(schema_with = schema::name)]
    pub name: Name,
    /// What they may do.
    #[schema(schema_with = schema::role)]
    pub role: Role,
    /// What this token allows beyond the role: `halt` lets a monitoring agent raise halts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(schema_with = schema::capabilities)]
    pub capabilities: Vec<Capability>,
    /// How its secret will be kept. Only the owner of a data folder says another than `minted`, for
    /// themselves.
    #[serde(default, skip_serializing_if = "TokenKind::is_minted")]
    #[schema(schema_with = schema::token_kind)]
    pub kind: TokenKind,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Its public name.
    #[schema(value_type = String)]
    pub id: TokenId,
    /// Whom it names.
    #[schema(value_type = String)]
    pub name: Name,
    /// What they may do.
    #[schema(schema_with = schema::role)]
    pub role: Role,
    /// What it allows beyond the role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(schema_with = schema::capabilities)]
    pub capabilities: Vec<Capability>,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Who made it.
    #[schema(value_type = String)]
    pub created_by: Name,
    /// When it stopped working.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Timestamp>,
    /// How its secret is kept, and so what using it shows.
    #[serde(default)]
    #[schema(schema_with = schema::token_kind)]
    pub kind: TokenKind,
    /// The secret, shown once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
