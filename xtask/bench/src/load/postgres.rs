//! The rate at which this PostgreSQL commits one row at a time.

use std::time::Instant;

use anyhow::{Result, ensure};
use tokio_postgres::{Client, NoTls};

use super::{Found, Tally, Window, sqlite::ROW, tally::together};

pub(super) async fn run(connection: String, clients: usize, window: Window) -> Result<Found> {
    let database = connect(&connection).await?;
    let fsync: String = database.query_one("show fsync", &[]).await?.get(0);
    ensure!(fsync == "on", "this cluster does not sync; its figure would mean nothing");
    database.batch_execute("create table if not exists raw (id bigserial primary key, body text not null)").await?;
    together(clients, window, |_, tally| client(connection.clone(), tally)).await
}

async fn client(connection: String, mut tally: Tally) -> Result<Tally> {
    let database = connect(&connection).await?;
    let insert = database.prepare("insert into raw (body) values ($1)").await?;
    while !tally.is_over() {
        let began = Instant::now();
        database.execute(&insert, &[&ROW]).await?;
        tally.finished(began);
    }
    Ok(tally)
}

async fn connect(connection: &str) -> Result<Client> {
    let (client, driver) = tokio_postgres::connect(connection, NoTls).await?;
    tokio::spawn(driver);
    Ok(client)
}
