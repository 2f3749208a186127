//! A receiver of webhooks, on a real socket.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, HeaderName, StatusCode, Uri},
    response::IntoResponse,
};
use tokio::net::TcpListener;

/// What it was sent.
#[derive(Clone, Debug)]
pub struct Received {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// It answers what it was told to, and remembers what it was sent.
#[derive(Clone)]
pub struct Receiver {
    pub address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    answer: Arc<Mutex<Answer>>,
}

#[derive(Clone)]
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Receiver {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receiver = Self {
            address: listener.local_addr().unwrap(),
            received: Arc::default(),
            answer: Arc::new(Mutex::new(Answer { status: 200, headers: Vec::new(), body: String::new() })),
        };
        let own = receiver.clone();
        let app = Router::new().fallback(move |uri: Uri, headers: HeaderMap, body: Bytes| async move {
            own.received.lock().unwrap().push(Received { path: uri.to_string(), headers, body });
            let Answer { status, headers, body } = own.answer.lock().unwrap().clone();
            let headers: HeaderMap = headers
                .into_iter()
                .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
                .collect();
            (StatusCode::from_u16(status).unwrap(), headers, body).into_response()
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        receiver
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook?token=geheim-in-the-query", self.address)
    }

    pub fn answers(&self, status: u16, headers: &[(&'static str, &str)], body: &str) {
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        *self.answer.lock().unwrap() = Answer { status, headers, body: body.to_owned() };
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}
