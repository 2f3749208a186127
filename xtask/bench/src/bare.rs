//! The HTTP ceiling: axum parses a small JSON body and answers another. No rule, no store, no sign-in.

use std::{io::Read, process::ExitCode};

use anyhow::Result;
use axum::{Json, Router, routing::post, serve::ListenerExt};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

/// Prints its address, and ends when its standard input closes: it cannot outlive who measures it.
pub(crate) fn serve() -> Result<ExitCode> {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    tokio::runtime::Runtime::new()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, Router::new().route("/", post(answer))).await?;
        Ok(ExitCode::SUCCESS)
    })
}

#[derive(Deserialize)]
struct Asked {
    title: String,
    timeout_ms: u64,
}

#[derive(Serialize)]
struct Answered {
    title: String,
    status: &'static str,
    timeout_ms: u64,
}

async fn answer(Json(asked): Json<Asked>) -> Json<Answered> {
    Json(Answered { title: asked.title, status: "pending", timeout_ms: asked.timeout_ms })
}
