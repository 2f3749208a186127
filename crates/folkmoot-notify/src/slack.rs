//! Slack, by an incoming webhook. Its address is the secret, so it is shown nowhere.

use folkmoot_outbound::{Keys, Secret};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use crate::{
    Notification, Post, SendFailure,
    message::NotificationLink,
    text::{self, escaped},
};

#[cfg(test)]
mod tests;

/// The most that Slack takes, less what escaping adds.
const TITLE_CHARS_MAX: usize = 140;
const TEXT_CHARS_MAX: usize = 600;
const FACT_CHARS_MAX: usize = 200;
/// The most fields that a section of Slack's has.
const FACTS_MAX: usize = 10;

/// Tells the channel behind `url` once.
pub async fn send(post: &Post, url: &Secret, message: &Notification) -> Result<(), SendFailure> {
    let body = blocks(message).to_string().into_bytes();
    let path = path(url.reveal());
    let segments = path.into_iter().flat_map(|path| path.split('/'));
    let hidden = Keys::new(std::iter::once(url.reveal()).chain(path).chain(segments).map(|text| ("", text)));
    post.json(url.reveal(), HeaderMap::new(), body, &hidden).await
}

/// Whatever follows the host.
fn path(url: &str) -> Option<&str> {
    url.split_once("://")?.1.split_once('/').map(|(_, path)| path)
}

/// What agents wrote is plain text, or escaped where Slack has nothing else, so that it can neither
/// mention a channel nor show a link that leads elsewhere.
fn blocks(message: &Notification) -> Value {
    let title = text::line(&message.title, TITLE_CHARS_MAX);
    let plain = |text: &str| json!({ "type": "plain_text", "text": text, "emoji": false });
    let mut blocks = vec![json!({ "type": "header", "text": plain(&title) })];
    let body = text::shortened(&message.text, TEXT_CHARS_MAX);
    if !body.is_empty() {
        blocks.push(json!({ "type": "section", "text": plain(&body) }));
    }
    let fact = |(name, value): &(String, String)| plain(&format!("{name}\n{}", text::line(value, FACT_CHARS_MAX)));
    let facts: Vec<Value> = message.facts.iter().take(FACTS_MAX).map(fact).collect();
    if !facts.is_empty() {
        blocks.push(json!({ "type": "section", "fields": facts }));
    }
    match &message.link {
        // Made of the configuration and an id. Within a link, the bar means something too.
        Some(NotificationLink::Page(url)) => {
            let link = format!("<{}|Open in Folkmoot>", escaped(url).replace('|', "%7C"));
            blocks.push(json!({ "type": "section", "text": { "type": "mrkdwn", "text": link, "verbatim": true } }));
        }
        Some(NotificationLink::Command(command)) => {
            blocks.push(json!({ "type": "section", "text": plain(&format!("In a terminal: {command}")) }));
        }
        None => {}
    }
    // For notifications, which show no blocks.
    json!({ "text": escaped(&title), "blocks": blocks })
}
