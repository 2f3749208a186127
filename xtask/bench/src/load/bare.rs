//! Consecutive requests on each connection: the limit of HTTP alone.

use std::{net::SocketAddr, time::Instant};

use anyhow::Result;

use super::{Found, Tally, Window, tally::together};
use crate::http::Connection;

pub(super) async fn run(address: SocketAddr, clients: usize, window: Window) -> Result<Found> {
    together(clients, window, |_, tally| client(address, tally)).await
}

async fn client(address: SocketAddr, mut tally: Tally) -> Result<Tally> {
    let mut connection = Connection::open(address).await?;
    while !tally.is_over() {
        let began = Instant::now();
        connection.ask("POST", "/", "", br#"{"title":"bench","timeout_ms":600000}"#).await?.expect(200)?;
        tally.finished(began);
    }
    Ok(tally)
}
