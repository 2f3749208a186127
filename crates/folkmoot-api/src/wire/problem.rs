//! Errors on the wire: RFC 9457, with a code that does not change.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// What went wrong, and what to do about it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Where the code is explained.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// Stable; docs/errors.md lists all of them.
    pub code: String,
    /// What happened and what to do.
    pub detail: String,
    /// The decision that stands, where the gate was already decided.
    pub decision: Option<super::Decision>,
    /// The digest that is right, where another was sent or none.
    pub digest: Option<String>,
    /// How the question was closed that cannot be closed again.
    pub closed: Option<super::Closed>,
    /// The gate that stands in the way.
    pub gate: Option<String>,
    /// The request, as the server's log and the header `X-Request-Id` name it.
    pub request_id: Option<String>,
}
