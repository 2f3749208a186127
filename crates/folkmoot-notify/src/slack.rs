//! Slack, through an incoming webhook. Its address is a secret and is never shown.

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

/// Slack's limit, less what escaping adds.
const TITLE_CHARS_MAX: usize = 140;
const TEXT_CHARS_MAX: usize = 600;
const FACT_CHARS_MAX: usize = 200;
/// Slack's limit of fields in a section.
const FACTS_MAX: usize = 10;

/// Posts to `url` once.
pub async fn send(post: &Post, url: &Secret, message: &Notification) -> Result<(), SendFailure> {
    let body = blocks(message).to_string().into_bytes();
    let path = path(url.reveal());
    let segments = path.into_iter().flat_map(|path| path.split('/'));
    let hidden = Keys::new(std::iter::once(url.reveal()).chain(path).chain(segments).map(|text| ("", text)));
    post.json(url.reveal(), HeaderMap::new(), body, &hidden).await
}

/// Everything after the host.
fn path(url: &str) -> Option<&str> {
    url.split_once("://")?.1.split_once('/').map(|(_, path)| path)
}

/// Agents' texts are sent as plain text, or escaped where Slack supports only markup, so that they
/// can neither mention a channel nor disguise a link.
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
        // The URL comes from the configuration and an id. Inside a link, a bar has a meaning too.
        Some(NotificationLink::Page(url)) => {
            let link = format!("<{}|Open in Folkmoot>", escaped(url).replace('|', "%7C"));
            blocks.push(json!({ "type": "section", "text": { "type": "mrkdwn", "text": link, "verbatim": true } }));
        }
        Some(NotificationLink::Command(command)) => {
            blocks.push(json!({ "type": "section", "text": plain(&format!("In a terminal: {command}")) }));
        }
        None => {}
    }
    // For push notifications, which do not show blocks.
    json!({ "text": escaped(&title), "blocks": blocks })
}
