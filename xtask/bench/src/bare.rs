//! The HTTP ceiling: axum parses a small JSON body and returns another, without rules, store or
//! authentication. Also a model with a prepared answer, sent in pieces.

use std::{convert::Infallible, io::Read, process::ExitCode};

use anyhow::Result;
use axum::{
    Json, Router,
    body::{Body, Bytes},
    http::header,
    response::IntoResponse,
    routing::post,
    serve::ListenerExt,
};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

/// Prints its address, and ends when its standard input closes, so that it cannot outlive the
/// benchmark.
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
        let router = Router::new().route("/", post(answer)).route("/v1/chat/completions", post(tell));
        axum::serve(listener, router).await?;
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

/// How many pieces the model's answer comes in.
pub(crate) const PIECES: usize = 32;

/// In OpenAI's format, as fast as the connection allows.
async fn tell(_: Bytes) -> impl IntoResponse {
    const PIECE: &[u8] =
        b"data: {\"id\":\"c-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"bare\",\
        \"choices\":[{\"index\":0,\"delta\":{\"content\":\"and so it goes on \"},\"finish_reason\":null}]}\n\n";
    const END: &[u8] = b"data: {\"id\":\"c-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"bare\",\
        \"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
        \"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":160,\"total_tokens\":1160}}\n\ndata: [DONE]\n\n";
    let pieces = std::iter::repeat_n(PIECE, PIECES).chain([END]);
    let pieces = stream::iter(pieces.map(|piece| Ok::<_, Infallible>(Bytes::from_static(piece))));
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(pieces))
}
