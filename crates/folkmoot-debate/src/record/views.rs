//! SQL views over the records of debates, which people query like tables.

use folkmoot_core::record::View;

/// What the run, its gates and its questions say is not stored again, and long texts are artifacts.
/// So the tables that the design asks for are views: none of their columns can disagree with its
/// source. Shares are stored as hundredths.
pub const VIEWS: &[View] = &[
    View { name: "debate_sessions", sql: include_str!("views/debate_sessions.sql") },
    View { name: "debate_turns", sql: include_str!("views/debate_turns.sql") },
    View { name: "code_versions", sql: include_str!("views/code_versions.sql") },
    View { name: "debate_logs", sql: include_str!("views/debate_logs.sql") },
];
