//! Examines a PostgreSQL from outside.

use folkmoot_core::{Head, Timestamp};

use super::{CLOCK, READ_TIMEOUT, backup, failed, silent, taken};
use crate::{
    Clock, Error, SystemClock,
    health::{self, DatabaseHealth, Health},
    migrate,
    rows::{self, Columns},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: &'static str,
    pub value: String,
    /// Whether an acknowledged commit survives a crash with it.
    pub safe: bool,
}

/// Examines the database at `url`, without creating tables.
pub async fn look_at_postgres(url: &str) -> Result<Health, Error> {
    let (mut client, driver) = backup::connect(url).await?;
    let looked = tokio::time::timeout(READ_TIMEOUT, async {
        let transaction = client.build_transaction().read_only(true).start().await.map_err(failed)?;
        let asked = SystemClock.now();
        let database = transaction.query_one(CLOCK, &[]).await.map_err(failed)?.int(0)?;
        let now = SystemClock.now();
        // It read its clock somewhere in between.
        let ahead_micros = database - (asked.as_micros() + now.as_micros()) / 2;
        let mut settings = Vec::new();
        for name in ["synchronous_commit", "fsync", "full_page_writes"] {
            let value: String = transaction
                .query_one("SELECT current_setting($1)", &[&name])
                .await
                .map_err(failed)?
                .try_get(0)
                .map_err(failed)?;
            // Our sessions can set this one; a setting that is off for the whole server cannot be
            // overridden.
            let safe = name == "synchronous_commit" || value == "on";
            settings.push(Setting { name, value, safe });
        }
        let version = transaction.query_one("SHOW server_version", &[]).await.map_err(failed)?.text(0)?;
        let of = DatabaseHealth::Postgres { version, settings, ahead_micros };
        if !backup::has_tables(&transaction).await? {
            let (head, webhooks) = (Head::START, Vec::new());
            return Ok(Health { schema: 0, newest: migrate::newest(), head, last_event: None, webhooks, now, of });
        }
        let steps = migrate::known(&taken(&transaction).await?)?;
        let schema = steps.last().map_or(0, |step| step.version);
        let sql = "SELECT position, hash FROM head WHERE log = 'main'";
        let row = transaction.query_one(sql, &[]).await.map_err(failed)?;
        let head = Head { position: rows::position(row.int(0)?)?, hash: rows::parse(&row.text(1)?)? };
        let sql = "SELECT at FROM events ORDER BY position DESC LIMIT 1";
        let last = transaction.query_opt(sql, &[]).await.map_err(failed)?;
        let last_event = last.map(|row| row.int(0)).transpose()?.map(Timestamp::from_micros);
        let webhooks = transaction.query(health::WEBHOOKS, &[]).await.map_err(failed)?;
        let webhooks = webhooks.iter().map(|row| health::read_webhook(row)).collect::<Result<_, _>>()?;
        Ok(Health { schema, newest: migrate::newest(), head, last_event, webhooks, now, of })
    });
    let looked = looked.await.unwrap_or_else(|_| Err(silent()));
    driver.abort();
    looked
}
