//! The feed, as a stream.

use futures_util::{Stream, StreamExt};
use reqwest::{Method, Response, header::ACCEPT};
use sse_stream::{Sse, SseStream};

use super::{Client, Error};
use crate::wire::Event;

impl Client {
    /// The events after `after`, and then each as it happens. Ends when the connection does: go on from the last
    /// position. Without `after` it begins now.
    pub async fn events(&self, after: Option<u64>) -> Result<impl Stream<Item = Result<Event, Error>> + use<>, Error> {
        let mut request = self.request(Method::GET, "/v1/events").header(ACCEPT, "text/event-stream");
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let client = self.clone();
        let messages = messages(self.send(request).await?, self.clone());
        Ok(messages.filter_map(move |message| {
            // Heartbeats and messages of other kinds have no data of ours.
            let event = match message {
                Ok(Sse { id: Some(_), data: Some(data), .. }) => {
                    Some(serde_json::from_str(&data).map_err(|error| client.foreign(error.to_string())))
                }
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            };
            std::future::ready(event)
        }))
    }
}

/// The messages of an event stream.
pub(super) fn messages(answer: Response, client: Client) -> impl Stream<Item = Result<Sse, Error>> + use<> {
    SseStream::from_bytes_stream(answer.bytes_stream()).map(move |message| {
        message.map_err(|error| Error::Unreachable { url: client.url.clone(), reason: error.to_string() })
    })
}
