//! A schema of our own in the database that `cargo xtask test` starts.

use std::sync::atomic::{AtomicU64, Ordering};

/// Where that database is; `None` where FOLKMOOT_SKIP_POSTGRES allows to skip the test.
pub(super) fn url() -> Option<String> {
    let url = std::env::var("FOLKMOOT_TEST_POSTGRES").ok().filter(|url| !url.is_empty());
    assert!(
        url.is_some() || std::env::var_os("FOLKMOOT_SKIP_POSTGRES").is_some(),
        "this test needs PostgreSQL: run `cargo xtask test`, or set FOLKMOOT_SKIP_POSTGRES to skip it"
    );
    url
}

/// The address of the schema; `None` where there is no database.
pub(crate) async fn schema() -> Option<String> {
    let url = url()?;
    static SCHEMAS: AtomicU64 = AtomicU64::new(0);
    let schema = format!("crash_{}_{}", std::process::id(), SCHEMAS.fetch_add(1, Ordering::Relaxed));
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("PostgreSQL answers");
    let connection = tokio::spawn(connection);
    client.batch_execute(&format!("CREATE SCHEMA {schema}")).await.expect("a schema");
    connection.abort();
    Some(format!("{url} options='-c search_path={schema}'"))
}

/// The statement that copies all rows, without generated columns, which cannot be written.
pub(crate) fn copy_rows(from: &str, to: &str) -> String {
    format!(
        "DO $$ BEGIN EXECUTE (
           SELECT format('INSERT INTO {to} (%1$s) SELECT %1$s FROM {from}', string_agg(column_name, ', '))
           FROM information_schema.columns
           WHERE table_schema = current_schema() AND table_name = '{to}' AND is_generated = 'NEVER'); END $$"
    )
}
