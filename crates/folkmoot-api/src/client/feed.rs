//! The feed as a stream of events.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt};
use reqwest::{Method, Response, header::ACCEPT};
use sse_stream::{Sse, SseStream};

use super::{Client, Error};
use crate::wire::Event;

/// The events of the feed. The stream ends when the connection does; continue with
/// `Client::events` from `Feed::position`.
pub struct Feed {
    messages: Pin<Box<dyn Stream<Item = Result<Sse, Error>> + Send>>,
    client: Client,
    position: Option<u64>,
}

impl Feed {
    /// The position of the last event, or the position at which the feed began. The server sends it
    /// at once, before any event.
    pub fn position(&self) -> Option<u64> {
        self.position
    }
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").field("position", &self.position).finish_non_exhaustive()
    }
}

impl Stream for Feed {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let message = match std::task::ready!(self.messages.poll_next_unpin(cx)) {
                Some(Ok(message)) => message,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            };
            // The last message of a stream that cannot continue.
            if let (Some("error"), Some(data)) = (message.event.as_deref(), &message.data) {
                let problem = serde_json::from_str(data).map(Error::Problem);
                return Poll::Ready(Some(Err(problem.unwrap_or_else(|error| self.client.foreign(error.to_string())))));
            }
            // A heartbeat has neither an id nor data. A message with a position alone has no data.
            let event = match &message.data {
                Some(data) if message.id.is_some() => {
                    Some(serde_json::from_str::<Event>(data).map_err(|error| self.client.foreign(error.to_string())))
                }
                _ => None,
            };
            if let Some(position) = message.id.and_then(|id| id.parse().ok()) {
                self.position = Some(position);
            }
            if let Some(event) = event {
                return Poll::Ready(Some(event));
            }
        }
    }
}

impl Client {
    /// The events after `after`, and then each event as it happens. Without `after` the feed begins
    /// now.
    pub async fn events(&self, after: Option<u64>) -> Result<Feed, Error> {
        let mut request = self.request(Method::GET, "/v1/events").header(ACCEPT, "text/event-stream");
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let messages = messages(self.send(request).await?, self.clone());
        Ok(Feed { messages: Box::pin(messages), client: self.clone(), position: after })
    }
}

/// The messages of a stream of server-sent events.
pub(super) fn messages(answer: Response, client: Client) -> impl Stream<Item = Result<Sse, Error>> + use<> {
    SseStream::from_bytes_stream(answer.bytes_stream()).map(move |message| {
        message.map_err(|error| Error::Unreachable { url: client.url.clone(), reason: error.to_string() })
    })
}
