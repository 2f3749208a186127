//! A receiver of messages, on a real socket, which checks signatures with the format's own library.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, HeaderName, StatusCode},
};
use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
};

/// One message.
#[derive(Debug)]
pub struct Received {
    headers: HeaderMap,
    body: Bytes,
}

impl Received {
    pub fn verify(&self, secret: &str) {
        let verified = standardwebhooks::Webhook::new(secret).unwrap().verify(&self.body, &self.headers);
        verified.unwrap_or_else(|error| panic!("{error}: {self:?}"));
    }

    pub fn is_signed_with(&self, secret: &str) -> bool {
        standardwebhooks::Webhook::new(secret).unwrap().verify(&self.body, &self.headers).is_ok()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }
}

pub struct Receiver {
    pub address: SocketAddr,
    received: tokio::sync::Mutex<UnboundedReceiver<Received>>,
    count: Arc<AtomicUsize>,
    answer: Arc<Mutex<(u16, HeaderMap)>>,
}

impl Receiver {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, received) = unbounded_channel();
        let count = Arc::new(AtomicUsize::new(0));
        let answer = Arc::new(Mutex::new((200, HeaderMap::new())));
        let (counted, answered) = (Arc::clone(&count), Arc::clone(&answer));
        let app = Router::new().fallback(move |headers: HeaderMap, body: Bytes| async move {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = sender.send(Received { headers, body });
            let (status, headers) = answered.lock().unwrap().clone();
            (StatusCode::from_u16(status).unwrap(), headers)
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, received: received.into(), count, answer }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub fn answers(&self, status: u16, headers: &[(&'static str, String)]) {
        let headers = headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        *self.answer.lock().unwrap() = (status, headers.collect());
    }

    /// The next message, for which a retry is waited.
    pub async fn next(&self) -> Received {
        let next = tokio::time::timeout(Duration::from_secs(120), async { self.received.lock().await.recv().await });
        next.await.expect("a message comes").expect("the receiver lives")
    }

    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}
