//! Sends notifications: webhooks, Slack, mail, the desktop.
//!
//! A channel sends a message once, or says why it could not. It never decides when to retry, and
//! never touches a gate.
//!
//! ```text
//! Channels::send ─┬▶ webhook ─┐
//!                 ├▶ slack ───┴▶ post: one POST, to where the address guard lets it go
//!                 ├▶ mail        one conversation with the configured mail server
//!                 └▶ desktop     notify-send or osascript, started by the embedder's `Programs`
//! ```

pub mod channels;
pub mod desktop;
pub mod mail;
pub mod message;
pub mod post;
pub mod settings;
pub mod slack;
mod text;
pub mod webhook;

pub use channels::Channels;
pub use desktop::Programs;
pub use folkmoot_outbound::{AddressGuard, Trust};
pub use message::{Notification, RetryAdvice, SendFailure};
pub use post::Post;
