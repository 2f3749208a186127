//! The statements that a batch uses.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use tokio_postgres::{Client, Statement};

use super::{CLOCK, dollars};
use crate::rows::{self, Table, Type};

/// Defines each statement by its name and its SQL.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident: $sql:expr,)+) => {
        /// The statements that each connection prepares once.
        pub(super) struct PostgresStatements {
            $($(#[$doc])* pub(super) $name: Statement,)+
            /// One for each table that commands write.
            insert: HashMap<&'static str, Statement>,
        }

        impl PostgresStatements {
            /// Prepares all statements at once, so that a node that reconnects needs two round
            /// trips instead of thirty.
            pub(super) async fn prepare(client: &Client) -> Result<Self, tokio_postgres::Error> {
                let prepare = |sql: String| {
                    let sql = dollars(&sql);
                    async move { client.prepare(&sql).await }
                };
                let inserts = try_join_all(rows::WRITTEN.iter().map(|table| prepare(insert_many(table))));
                let ($($name,)+ inserts) = tokio::try_join!($(prepare(String::from($sql)),)+ inserts)?;
                let insert = rows::WRITTEN.iter().map(|table| table.name).zip(inserts).collect();
                Ok(Self { $($name,)+ insert })
            }
        }
    };
}

statements! {
    lock_head: "SELECT position, hash FROM head WHERE log = 'main' FOR UPDATE",
    /// A separate statement, because in the statement that locks the head it would be evaluated
    /// before the lock is granted.
    clock: CLOCK,
    load_gates: by_id(&rows::GATES, "id"),
    load_pending_duplicates: format!(
                "SELECT {} FROM gates WHERE status = 'pending' AND dedupe_key IS NOT NULL
                 AND (requested_by, dedupe_key) IN (SELECT * FROM unnest(?1::text[], ?2::text[]))",
        rows::GATES.names()
    ),
    load_usage: "SELECT name,
                   (SELECT count(*) FROM (
                      SELECT 1 FROM gates WHERE asker = name AND requested_by = name AND status = 'pending' LIMIT ?2) AS own),
                   (SELECT coalesce(sum(content_bytes), 0)::bigint FROM (
                      SELECT content_bytes FROM gates
                      WHERE asker = name AND requested_by = name AND status = 'pending' LIMIT ?2) AS own),
                   (SELECT count(*) FROM (
                      SELECT 1 FROM questions WHERE asker = name AND asked_by = name AND status = 'pending' LIMIT ?3) AS own),
                   (SELECT count(*) FROM (SELECT 1 FROM runs WHERE initiator = name AND kind <> 'external'
                      AND status NOT IN ('completed', 'failed', 'cancelled') LIMIT ?4) AS own),
                   (SELECT count(*) FROM (SELECT 1 FROM halts WHERE raised_by = name AND lifted_at IS NULL LIMIT ?5) AS own)
                 FROM unnest(?1::text[]) AS name",
    load_summaries: "SELECT digest, content FROM artifacts WHERE barred = 0 AND digest IN (SELECT summary_digest FROM gates WHERE id = ANY(?1))",
    load_questions: by_id(&rows::QUESTIONS, "id"),
    load_halts: by_id(&rows::HALTS, "id"),
    load_held: LOAD_HELD,
    load_runs: format!("{} WHERE id = ANY(?1)", rows::select_runs()),
    load_nodes: by_id(&rows::NODES, "node"),
    load_gates_of_runs: format!(
                "SELECT own.* FROM unnest(?1::text[]) AS run, LATERAL ({}) AS own",
                rows::select_gates_of("run")
            ),
    load_open_questions: format!(
                "SELECT {} FROM questions WHERE run_id = ANY(?1) AND (status = 'pending' OR holds IS NOT NULL)",
                rows::QUESTIONS.names()
            ),
    load_entries: format!(
                "SELECT {} FROM journal WHERE (run_id, key) IN (SELECT * FROM unnest(?1::text[], ?2::text[]))",
                rows::JOURNAL.names()
            ),
    load_principals: by_id(&rows::PRINCIPALS, "lower(name)"),
    load_tokens: by_id(&rows::TOKENS, "id"),
    load_webhooks: format!(
                "SELECT {} FROM webhooks WHERE id = ANY(?1) OR (removed_at IS NULL AND name = ANY(?2))",
                rows::WEBHOOKS.names()
            ),
    load_deliveries: by_id(&rows::OUTBOX, "id"),
    /// The first deliveries for each of these channels, at most the given number of each.
    load_waiting: format!(
                "SELECT found.* FROM unnest(?1::text[], ?2::bigint[]) AS wanted (wanted_channel, most) CROSS JOIN LATERAL (
                   SELECT {} FROM outbox WHERE channel = wanted_channel AND due IS NOT NULL
                   ORDER BY due, id LIMIT most) AS found",
                rows::OUTBOX.names()
            ),
    load_keys: "SELECT principal, route, key, fingerprint, outcome FROM idempotency
                 WHERE (principal, route, key) IN (SELECT * FROM unnest(?1::text[], ?2::text[], ?3::text[]))",
    load_contents: format!("{} WHERE digest = ANY(?1)", rows::SELECT_CONTENT_STATUS),
    /// Keeps content that was sent again after it was erased.
    erase: "UPDATE artifacts SET content = CASE WHEN gone.sent_again THEN content END, erasures = gone.erasures, barred = gone.barred
                 FROM unnest(?1::text[], ?2::bigint[], ?3::bigint[], ?4::bool[]) AS gone (digest, erasures, barred, sent_again)
                 WHERE artifacts.digest = gone.digest",
    move_head: "UPDATE head SET position = ?1, hash = ?2 WHERE log = 'main'",
    clear_timers: "DELETE FROM timers WHERE subject = ANY(?1)",
    wake: "UPDATE runs SET wakes = wakes + woken.times
                 FROM (SELECT id, count(*) AS times FROM unnest(?1::text[]) AS id GROUP BY id) AS woken
                 WHERE runs.id = woken.id",
    wake_children: "UPDATE runs SET wakes = wakes + 1 WHERE parent = ANY(?1) AND id <> ALL(?2)",
    wake_held: WAKE_HELD,
    forget_nodes: "DELETE FROM nodes WHERE node = ANY(?1)",
    revoke: "UPDATE tokens SET revoked_at = gone.at FROM unnest(?1::text[], ?2::bigint[]) AS gone (id, at)
                 WHERE tokens.id = gone.id",
}

impl PostgresStatements {
    pub(super) fn insert(&self, name: &str) -> &Statement {
        self.insert.get(name).expect("every table that is written has its statement")
    }
}

fn by_id(table: &Table, key: &str) -> String {
    format!("SELECT {} FROM {} WHERE {key} = ANY(?1)", table.names(), table.name)
}

/// Selects the holds of the agents and sessions of the questions `?1`, of the halts `?2` and of the
/// open questions of the runs `?4`; of the agents `?5`; of the sessions `?6` and those of the runs
/// `?7`; and of everyone. At most `?3` questions and `?3` halts for each.
const LOAD_HELD: &str = "WITH touched AS (
    SELECT agent_id, session_id FROM questions WHERE id = ANY(?1::text[])
    UNION SELECT agent_id, session_id FROM questions
      WHERE run_id = ANY(?4::text[]) AND (status = 'pending' OR holds IS NOT NULL)
    UNION SELECT agent_id, NULL FROM unnest(?5::text[]) AS agent_id
    UNION SELECT NULL, session_id FROM unnest(?6::text[]) AS session_id
    UNION SELECT NULL, session_id FROM runs WHERE id = ANY(?7::text[])
    UNION SELECT agent_id, session_id FROM halts WHERE id = ANY(?2::text[]))
  SELECT touched_agent.agent_id, NULL::text, held.id
  FROM (SELECT DISTINCT agent_id FROM touched WHERE agent_id IS NOT NULL) AS touched_agent CROSS JOIN LATERAL (
    (SELECT id FROM questions WHERE agent_id = touched_agent.agent_id AND holds IS NOT NULL LIMIT ?3)
    UNION ALL (SELECT id FROM halts
      WHERE scope = 'agent' AND agent_id = touched_agent.agent_id AND lifted_at IS NULL LIMIT ?3)) AS held
  UNION ALL
  SELECT NULL::text, touched_session.session_id, held.id
  FROM (SELECT DISTINCT session_id FROM touched WHERE session_id IS NOT NULL) AS touched_session CROSS JOIN LATERAL (
    (SELECT id FROM questions WHERE session_id = touched_session.session_id AND holds IN ('session', 'all') LIMIT ?3)
    UNION ALL (SELECT id FROM halts
      WHERE scope = 'session' AND session_id = touched_session.session_id AND lifted_at IS NULL LIMIT ?3)) AS held
  UNION ALL
  SELECT NULL::text, NULL::text, held.id FROM (
    (SELECT id FROM questions WHERE holds = 'all' LIMIT ?3)
    UNION ALL (SELECT id FROM halts WHERE scope = 'all' AND lifted_at IS NULL LIMIT ?3)) AS held";

/// Wakes the runs that wait for clearance: of the agents `?1` (`?5` in the JSON of a state), in the
/// sessions `?2`, and all of them `?3` times. The runs `?4` are left out, because the batch knows
/// their present state.
const WAKE_HELD: &str = "UPDATE runs SET wakes = wakes + ?3::bigint
    + (SELECT count(*) FROM unnest(?2::text[]) AS session WHERE session = runs.session_id)
    + (SELECT count(*) FROM unnest(?1::text[], ?5::text[]) AS released (agent, written)
       WHERE runs.held = agent OR (runs.held = '*' AND strpos(runs.state, written) > 0))
  WHERE held IS NOT NULL AND id <> ALL(?4::text[])
  AND (?3::bigint > 0 OR session_id = ANY(?2) OR held = ANY(?1) OR (held = '*' AND cardinality(?1) > 0))";

fn insert_many(table: &Table) -> String {
    let array = |(n, (_, kind)): (usize, &(&str, Type))| match kind {
        Type::Text => format!("${}::text[]", n + 1),
        Type::Int => format!("${}::bigint[]", n + 1),
        Type::Bytes => format!("${}::bytea[]", n + 1),
    };
    let arrays: Vec<_> = table.columns.iter().enumerate().map(array).collect();
    let (name, columns) = (table.name, table.names());
    format!("INSERT INTO {name} ({columns}) SELECT * FROM unnest({}){}", arrays.join(", "), table.on_conflict())
}
