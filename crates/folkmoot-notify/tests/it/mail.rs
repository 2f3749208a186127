//! Mail, in conversation with a server on a socket.

use folkmoot_notify::{
    Notification, RetryAdvice, SendFailure, Trust,
    mail::{self, MailServer, MailTls},
    message::NotificationLink,
};
use folkmoot_outbound::Secret;

use crate::{
    certificate::Certificate,
    guard, message, now,
    smtp::{Secrecy, Smtp},
};

fn server(smtp: &Smtp, tls: MailTls, to: &[&str]) -> MailServer {
    MailServer {
        host: "127.0.0.1".to_owned(),
        port: smtp.address.port(),
        tls,
        login: None,
        from: "Folkmoot <folkmoot@example.org>".parse().unwrap(),
        to: to.iter().map(|to| to.parse().unwrap()).collect(),
    }
}

async fn sent(server: &MailServer, message: &Notification) -> Result<(), SendFailure> {
    mail::send(server, &guard(&[]), &Trust::default(), message, now()).await
}

#[tokio::test]
async fn a_mail_says_what_it_is_about_and_is_recognised_when_it_comes_again() {
    let smtp = Smtp::start(Secrecy::None).await;
    let mut message = message("dlv-1");
    message.text = "Übergabe <b>now</b>".to_owned();
    message.link = Some(NotificationLink::Page("https://folkmoot.example.org/gates/g-1".to_owned()));
    for _ in 0..2 {
        sent(&server(&smtp, MailTls::None, &["ops@example.org", "Boss <boss@example.org>"]), &message)
            .await
            .expect("it is taken");
    }
    let taken = smtp.taken();
    assert_eq!(
        taken.iter().map(|mail| mail.to.as_str()).collect::<Vec<_>>(),
        ["ops@example.org", "boss@example.org"].repeat(2)
    );
    for mail in &taken {
        assert_eq!(mail.from, "folkmoot@example.org");
        for line in [
            "Subject: Deploy 1.4.2 waits for a decision (high risk)",
            "Message-ID: <dlv-1@example.org>",
            "References: <g-1@example.org>",
            "Auto-Submitted: auto-generated",
            "Asked by: agent-a",
            "In Folkmoot: https://folkmoot.example.org/gates/g-1",
            "=C3=9Cbergabe <b>now</b>",
        ] {
            assert!(mail.text.lines().any(|found| found == line), "{line:?} is not in {}", mail.text);
        }
        assert!(mail.text.contains("&lt;b&gt;now&lt;/b&gt;"), "the HTML shows it as text: {}", mail.text);
    }
}

#[tokio::test]
async fn a_title_cannot_add_a_header() {
    let smtp = Smtp::start(Secrecy::None).await;
    let mut message = message("dlv-1\r\nBcc: eve@example.org");
    message.title = "Deploy\r\nBcc: eve@example.org\r\n\r\nHello".to_owned();
    message.thread = Some("g-1>\r\nX-Evil: 1".to_owned());
    message.text = "one\r\n.\r\nMAIL FROM:<eve@example.org>\r\n".to_owned();
    sent(&server(&smtp, MailTls::None, &["ops@example.org"]), &message).await.expect("it is taken");
    let taken = smtp.taken();
    assert_eq!(taken.len(), 1, "a dot alone on a line ends no mail");
    let (head, body) = taken[0].text.split_once("\n\n").unwrap();
    assert!(head.contains("Subject: Deploy Bcc: eve@example.org Hello"), "{head}");
    let is_evil = |line: &str| line.starts_with("Bcc") || line.starts_with("X-Evil");
    assert!(!head.lines().any(is_evil), "{head}");
    assert!(body.contains("MAIL FROM"), "{body}");
    assert_eq!(smtp.heard().iter().filter(|line| line.starts_with("RCPT")).count(), 1);
}

#[tokio::test]
async fn what_the_server_says_decides_whether_it_is_tried_again() {
    let smtp = Smtp::start(Secrecy::None).await;
    let (ops, boss) = (
        server(&smtp, MailTls::None, &["ops@example.org"]),
        server(&smtp, MailTls::None, &["ops@example.org", "boss@example.org"]),
    );
    smtp.says("RCPT TO:<ops", "450 4.2.0 greylisted, come back");
    let undelivered = sent(&ops, &message("dlv-1")).await.expect_err("not now");
    assert_eq!(undelivered.again, RetryAdvice::Later);
    assert!(
        undelivered.reason.contains("ops@example.org (450)") && undelivered.reason.contains("greylisted"),
        "{undelivered}"
    );
    assert_eq!(sent(&boss, &message("dlv-1")).await.expect_err("one of them not now").again, RetryAdvice::Later);
    assert_eq!(smtp.taken().len(), 1, "the other one has it");
    smtp.says("RCPT TO:<ops", "550 5.1.1 no such user");
    let undelivered = sent(&ops, &message("dlv-1")).await.expect_err("never");
    assert_eq!(undelivered.again, RetryAdvice::Never);
    assert!(undelivered.reason.contains("no such user"), "{undelivered}");
    sent(&boss, &message("dlv-2")).await.expect("a wrong address keeps it from nobody else");
    smtp.says("MAIL FROM", "421 4.3.2 going down");
    assert_eq!(sent(&boss, &message("dlv-1")).await.expect_err("not now").again, RetryAdvice::Later);
    let nobody = MailServer { port: 9, ..ops };
    let undelivered = sent(&nobody, &message("dlv-1")).await.expect_err("nobody is there");
    assert_eq!(undelivered.again, RetryAdvice::Later, "{undelivered}");
}

#[tokio::test]
async fn a_password_is_said_to_the_server_and_to_nobody_else() {
    let smtp = Smtp::start(Secrecy::None).await;
    let login = Some(("folkmoot".to_owned(), Secret::new("geheim-0123456789", "a test").unwrap()));
    let server = MailServer { login, ..server(&smtp, MailTls::None, &["ops@example.org"]) };
    sent(&server, &message("dlv-1")).await.expect("it is taken");
    // \0folkmoot\0geheim-0123456789
    assert!(smtp.heard().contains(&"AUTH PLAIN AGZvbGttb290AGdlaGVpbS0wMTIzNDU2Nzg5".to_owned()), "{:?}", smtp.heard());
    smtp.says("AUTH", "535 5.7.8 geheim-0123456789 is wrong");
    let undelivered = sent(&server, &message("dlv-1")).await.expect_err("the password is wrong");
    assert_eq!(undelivered.again, RetryAdvice::Later, "it can be mended");
    assert!(undelivered.reason.contains("did not accept the user and password"), "{undelivered}");
    assert!(!undelivered.reason.contains("geheim") && !format!("{server:?}").contains("geheim"), "{undelivered}");
    // As it was sent: alone, behind the user's name, and where the reason is cut off in the midst
    // of it.
    for said in [
        "Z2VoZWltLTAxMjM0NTY3ODk= is wrong".to_owned(),
        "AGZvbGttb290AGdlaGVpbS0wMTIzNDU2Nzg5 is wrong".to_owned(),
        format!("{} geheim-0123456789", "x".repeat(190)),
    ] {
        smtp.says("AUTH", &format!("535 5.7.8 {said}"));
        let reason = sent(&server, &message("dlv-1")).await.expect_err("the password is wrong").reason;
        let leaks = ["geheim", "Z2VoZW", "AGZvbG"].iter().any(|part| reason.contains(part));
        assert!(reason.contains("…") && !leaks, "{reason}");
    }
}

#[tokio::test]
async fn without_tls_it_goes_no_further_than_this_machine() {
    let smtp = Smtp::start(Secrecy::None).await;
    for host in ["192.0.2.1", "8.8.8.8"] {
        let server = MailServer { host: host.to_owned(), ..server(&smtp, MailTls::None, &["ops@example.org"]) };
        let undelivered = sent(&server, &message("dlv-1")).await.expect_err(host);
        assert_eq!(undelivered.again, RetryAdvice::Never);
        assert!(undelivered.reason.contains("starttls"), "{undelivered}");
    }
    let local = MailServer { host: "localhost".to_owned(), ..server(&smtp, MailTls::None, &["ops@example.org"]) };
    sent(&local, &message("dlv-1")).await.expect("this machine may");
}

#[tokio::test]
async fn with_tls_the_certificate_is_checked_and_nothing_is_said_before() {
    let Some(certificate) = Certificate::new() else { return };
    let trusted = Trust::read(&certificate.path()).unwrap();
    let login = Some(("folkmoot".to_owned(), Secret::new("geheim-0123456789", "a test").unwrap()));
    for (tls, secrecy) in [
        (MailTls::StartTls, Secrecy::StartTls(certificate.acceptor())),
        (MailTls::Tls, Secrecy::Tls(certificate.acceptor())),
    ] {
        let smtp = Smtp::start(secrecy).await;
        let server = MailServer { login: login.clone(), ..server(&smtp, tls, &["ops@example.org"]) };
        let undelivered = sent(&server, &message("dlv-1")).await.expect_err("nobody vouches for it");
        assert!(undelivered.reason.contains("certificate"), "{undelivered}");
        assert!(
            !smtp.heard().iter().any(|line| line.starts_with("AUTH") || line.starts_with("MAIL")),
            "{:?}",
            smtp.heard()
        );
        mail::send(&server, &guard(&[]), &trusted, &message("dlv-1"), now()).await.expect("ca_file vouches for it");
        assert!(smtp.taken()[0].is_encrypted);
    }
    let plain = Smtp::start(Secrecy::None).await;
    let server = MailServer { login, ..server(&plain, MailTls::StartTls, &["ops@example.org"]) };
    let undelivered = sent(&server, &message("dlv-1")).await.expect_err("it offers no STARTTLS");
    assert_eq!(undelivered.again, RetryAdvice::Later, "{undelivered}");
    assert!(
        !plain.heard().iter().any(|line| line.starts_with("AUTH") || line.starts_with("MAIL")),
        "{:?}",
        plain.heard()
    );
}
