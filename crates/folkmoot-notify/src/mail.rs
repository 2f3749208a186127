//! Mail over SMTP, to the server that the configuration names.
//!
//! Each recipient gets a separate message, so that one wrong address does not affect the others. A
//! message that is sent again keeps its Message-ID, so that mail programs show it once. It refers
//! to its thread, so that they group the messages of one gate.

use std::{
    net::IpAddr,
    time::{Duration, SystemTime},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use folkmoot_core::Timestamp;
use folkmoot_outbound::{
    AddressGuard, Keys, Secret, Trust,
    address::{self, Unresolved},
};
use lettre::{
    AsyncSmtpTransport, AsyncTransport, Tokio1Executor,
    message::{
        Mailbox, Message as Mail, MultiPart,
        header::{HeaderName, HeaderValue},
    },
    transport::smtp::{
        Error,
        authentication::Credentials,
        client::{Certificate, Tls as Encryption, TlsParameters},
    },
};
use tokio::time::{Instant, timeout_at};

use crate::{
    Notification, SendFailure,
    message::NotificationLink,
    text::{self, escaped},
};

#[cfg(test)]
mod tests;

/// The time limit for sending to all recipients.
const MAIL_TIMEOUT: Duration = Duration::from_secs(30);
const TITLE_CHARS_MAX: usize = 200;
const TEXT_CHARS_MAX: usize = 8_000;
const FACT_CHARS_MAX: usize = 400;
const SHOWN_CHARS_MAX: usize = 200;

folkmoot_core::vocabulary! {
    /// How the connection to the mail server is encrypted.
    pub enum MailTls {
        /// Begins in plain text and is encrypted before anything is sent: usually port 587. Refused
        /// if the server does not offer it.
        StartTls = "starttls",
        /// Encrypted from the first byte: usually port 465.
        Tls = "tls",
        /// Unencrypted: only to this machine, or to what `allow` in [notify] names.
        None = "none",
    }
}

/// The mail server, the sender and the recipients.
#[derive(Clone, Debug)]
pub struct MailServer {
    /// Its host name, which its certificate must match.
    pub host: String,
    pub port: u16,
    pub tls: MailTls,
    /// User name and password.
    pub login: Option<(String, Secret)>,
    /// The sender.
    pub from: Mailbox,
    pub to: Vec<Mailbox>,
}

/// Sends `message` to all recipients. Succeeds if the server accepted it for at least one of them
/// and permanently refused it for the others.
pub async fn send(
    server: &MailServer,
    guard: &AddressGuard,
    trust: &Trust,
    message: &Notification,
    now: Timestamp,
) -> Result<(), SendFailure> {
    let until = Instant::now() + MAIL_TIMEOUT;
    let late = || SendFailure::later(format!("{} did not take the mail within {MAIL_TIMEOUT:?}", server.host));
    let transport = timeout_at(until, transport(server, guard, trust)).await.map_err(|_| late())??;
    let (mut is_told, mut failed): (bool, Option<SendFailure>) = (false, None);
    for to in &server.to {
        let mail = write(server, to, message, now)?;
        let sent = timeout_at(until, transport.send(mail)).await;
        let undelivered = match sent {
            Ok(Ok(_)) => {
                is_told = true;
                continue;
            }
            Ok(Err(error)) => judged(server, to, &error),
            Err(_) => late(),
        };
        // A failure that may pass decides the result: the message is sent again to all, and mail
        // programs recognise it.
        if failed.as_ref().is_none_or(|failed| failed.again == crate::RetryAdvice::Never) {
            failed = Some(undelivered);
        }
    }
    match failed {
        None => Ok(()),
        Some(failed) if is_told && failed.again == crate::RetryAdvice::Never => {
            tracing::warn!("a mail was taken for some and refused for others: {failed}");
            Ok(())
        }
        Some(failed) => Err(failed),
    }
}

async fn transport(
    server: &MailServer,
    guard: &AddressGuard,
    trust: &Trust,
) -> Result<AsyncSmtpTransport<Tokio1Executor>, SendFailure> {
    let (host, encryption) = match server.tls {
        MailTls::StartTls => (server.host.clone(), Encryption::Required(parameters(server, trust)?)),
        MailTls::Tls => (server.host.clone(), Encryption::Wrapper(parameters(server, trust)?)),
        // Connect to exactly the address that was checked.
        MailTls::None => (plain_address(server, guard).await?.to_string(), Encryption::None),
    };
    let transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
        .port(server.port)
        .tls(encryption)
        .timeout(Some(MAIL_TIMEOUT));
    Ok(match &server.login {
        Some((name, password)) => {
            transport.credentials(Credentials::new(name.clone(), password.reveal().to_owned())).build()
        }
        None => transport.build(),
    })
}

fn parameters(server: &MailServer, trust: &Trust) -> Result<TlsParameters, SendFailure> {
    let wrong = |error: Error| SendFailure::later(format!("no TLS to {}: {error}", server.host));
    let mut parameters = TlsParameters::builder(server.host.clone());
    for certificate in &trust.certificates {
        parameters = parameters.add_root_certificate(Certificate::from_der(certificate.to_vec()).map_err(wrong)?);
    }
    parameters.build().map_err(wrong)
}

/// Without TLS anybody on the network path could read the mail, so only loopback and allowed
/// addresses are accepted.
async fn plain_address(server: &MailServer, guard: &AddressGuard) -> Result<IpAddr, SendFailure> {
    let found = guard.look_up(&server.host).await.map_err(|error| SendFailure::later(error.to_string()))?;
    if let Some(loopback) =
        found.iter().find(|address| address::kind(**address) == Some(address::AddressKind::Loopback))
    {
        return Ok(*loopback);
    }
    match guard.resolve(&server.host, true).await {
        Ok(admitted) => Ok(admitted[0]),
        Err(Unresolved::Unknown(why)) => Err(SendFailure::later(why)),
        Err(Unresolved::Refused(_)) => Err(SendFailure::never(format!(
            "{} is not this machine, and `tls = \"none\"` would show the mail to everybody on the way: use \"starttls\" or \"tls\", or \
             add it to `allow` in [notify]",
            server.host
        ))),
    }
}

/// Explains a refusal. Most problems can be fixed, so a retry may help; an address that does not
/// exist stays refused.
fn judged(server: &MailServer, to: &Mailbox, error: &Error) -> SendFailure {
    let hidden = server.login.as_ref().map_or_else(Keys::default, |(name, password)| as_sent(name, password.reveal()));
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    // Erase before cutting: a cut through a password would leave its first part visible.
    let said = text::line(&hidden.erase(&cause.to_string()), SHOWN_CHARS_MAX);
    let code = error.status().map(u16::from);
    let is_login = code.is_some_and(|code| matches!(code, 530 | 534 | 535 | 538));
    let reason = match code {
        Some(code) if is_login => format!("{} did not accept the user and password ({code}): {said}", server.host),
        Some(code) => format!("{} did not take the mail for {} ({code}): {said}", server.host, to.email),
        None => format!("{}:{} cannot be told: {said}", server.host, server.port),
    };
    if error.is_permanent() && !is_login { SendFailure::never(reason) } else { SendFailure::later(reason) }
}

/// The password in the forms in which SMTP sends it: alone, or after the user name.
fn as_sent(name: &str, password: &str) -> Keys {
    let plain = format!("\0{name}\0{password}");
    Keys::new([password.to_owned(), STANDARD.encode(password), STANDARD.encode(plain)].map(|text| ("", text)))
}

fn write(server: &MailServer, to: &Mailbox, message: &Notification, now: Timestamp) -> Result<Mail, SendFailure> {
    let domain = server.from.email.domain();
    let sent = SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(now.as_micros()).unwrap_or(0));
    let mut mail = Mail::builder()
        .from(server.from.clone())
        .to(to.clone())
        .subject(text::line(&message.title, TITLE_CHARS_MAX))
        .date(sent)
        .message_id(Some(message_id(&message.id, domain)))
        // Suppresses automatic replies.
        .raw_header(HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned()));
    if let Some(thread) = &message.thread {
        mail = mail.references(message_id(thread, domain));
    }
    mail.multipart(MultiPart::alternative_plain_html(plain(message), html(message)))
        .map_err(|error| SendFailure::never(format!("no mail can be made of it: {error}")))
}

/// Keeps only characters that are valid in an id; others could end the id or the header.
fn message_id(id: &str, domain: &str) -> String {
    let id: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' }).collect();
    format!("<{id}@{domain}>")
}

fn plain(message: &Notification) -> String {
    let mut parts = vec![text::line(&message.title, TITLE_CHARS_MAX)];
    let body = text::shortened(&message.text, TEXT_CHARS_MAX);
    parts.extend(Some(body).filter(|body| !body.is_empty()));
    let fact = |(name, value): &(String, String)| format!("{name}: {}", text::line(value, FACT_CHARS_MAX));
    parts.extend(Some(message.facts.iter().map(fact).collect::<Vec<_>>().join("\n")).filter(|facts| !facts.is_empty()));
    parts.extend(message.link.as_ref().map(|link| match link {
        NotificationLink::Page(url) => format!("In Folkmoot: {url}"),
        NotificationLink::Command(command) => format!("In a terminal: {command}"),
    }));
    parts.join("\n\n") + "\n"
}

fn html(message: &Notification) -> String {
    let quoted = |text: &str| escaped(text).replace('"', "&quot;");
    let mut page = format!("<html><body><h3>{}</h3>", quoted(&text::line(&message.title, TITLE_CHARS_MAX)));
    let body = text::shortened(&message.text, TEXT_CHARS_MAX);
    if !body.is_empty() {
        page += &format!("<p>{}</p>", quoted(&body).replace('\n', "<br>\n"));
    }
    page += if message.facts.is_empty() { "" } else { "<table>" };
    for (name, value) in &message.facts {
        page +=
            &format!("<tr><td>{}&nbsp;</td><td>{}</td></tr>", quoted(name), quoted(&text::line(value, FACT_CHARS_MAX)));
    }
    page += if message.facts.is_empty() { "" } else { "</table>" };
    match &message.link {
        Some(NotificationLink::Page(url)) => {
            page += &format!("<p><a href=\"{}\">Open in Folkmoot</a></p>", quoted(url))
        }
        Some(NotificationLink::Command(command)) => {
            page += &format!("<p>In a terminal: <code>{}</code></p>", quoted(command))
        }
        None => {}
    }
    page + "</body></html>\n"
}

/// Splits `smtp.example.org:587`. Without a port, uses the default for `tls`.
pub(crate) fn host_and_port(server: &str, tls: MailTls) -> Result<(String, u16), String> {
    let wrong = || format!("{server:?} is no mail server: write its name and port, such as \"smtp.example.org:587\"");
    let usual = match tls {
        MailTls::StartTls => 587,
        MailTls::Tls => 465,
        MailTls::None => 25,
    };
    let (host, port) = match server.rsplit_once(':') {
        // An IPv6 address is in brackets, so that its last part is not taken for a port.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse().map_err(|_| wrong())?),
        _ => (server, usual),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if host.parse::<IpAddr>().is_err() && (host.is_empty() || !host.chars().all(is_name)) {
        return Err(wrong());
    }
    Ok((host.to_owned(), port))
}

/// Parses `ops@example.org` or `Operations <ops@example.org>`.
pub(crate) fn mailbox(text: &str) -> Result<Mailbox, String> {
    text.parse().map_err(|_| format!("{text:?} is no mail address: write ops@example.org"))
}
