//! The current time, for texts such as "3 minutes left". It decides nothing: deadlines are the
//! server's.

use std::time::{SystemTime, UNIX_EPOCH};

use folkmoot_api::core::Timestamp;

#[expect(clippy::disallowed_methods, reason = "only shown to people, beside moments that the server wrote")]
pub(crate) fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
}
