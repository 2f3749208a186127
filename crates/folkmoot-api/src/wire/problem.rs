//! Errors on the wire: problem details as in RFC 9457, with a stable code.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// An error.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The address of the code's explanation.
    #[serde(rename = "type")]
    pub kind: String,
    /// The HTTP status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable error code; docs/errors.md lists all codes.
    pub code: String,
    /// What happened, and what to do about it.
    pub detail: String,
    /// The existing decision, if the gate was already decided.
    pub decision: Option<super::Decision>,
    /// The current digest, if the request sent another one or none.
    pub digest: Option<String>,
    /// How the question was closed, if it was closed before.
    pub closed: Option<super::Closed>,
    /// The pending gate that already has the request's `dedupe_key`.
    pub gate: Option<String>,
    /// The id of the request, as in the server's log and in the header `X-Request-Id`.
    pub request_id: Option<String>,
}
