//! A database of its own for each measurement, in the cluster that xtask brought.

use anyhow::{Context, Result};
use tokio_postgres::NoTls;

#[derive(Debug)]
pub(super) struct Database {
    name: String,
    pub(super) connection: String,
}

/// Created empty; dropped with its contents when this is dropped.
pub(super) fn create(name: &str) -> Result<Database> {
    execute(&format!("create database {name}"))?;
    Ok(Database { name: name.to_owned(), connection: cluster()?.replace("dbname=postgres", &format!("dbname={name}")) })
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Err(error) = execute(&format!("drop database {} with (force)", self.name)) {
            eprintln!("folkmoot-bench: cannot drop {}: {error:#}", self.name);
        }
    }
}

fn execute(statement: &str) -> Result<()> {
    let cluster = cluster()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let (client, driver) = tokio_postgres::connect(&cluster, NoTls).await?;
        tokio::spawn(driver);
        client.batch_execute(statement).await?;
        Ok(())
    })
}

fn cluster() -> Result<String> {
    std::env::var("FOLKMOOT_BENCH_POSTGRES")
        .context("FOLKMOOT_BENCH_POSTGRES says how to connect; `cargo xtask bench` sets it")
}
