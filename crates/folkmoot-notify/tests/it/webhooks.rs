//! What comes of an answer.

use std::time::Duration;

use folkmoot_notify::{
    Post, RetryAdvice, SendFailure, Trust,
    webhook::{self, WebhookSecret},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{guard, message, now, post, receiver::Receiver};

async fn told(post: &Post, url: &str) -> Result<(), SendFailure> {
    webhook::send(post, url, &[WebhookSecret::new([7; 32])], &message("dlv-1"), now()).await
}

#[tokio::test]
async fn an_answer_says_whether_to_try_again() {
    let receiver = Receiver::start().await;
    let after = |seconds| Some(RetryAdvice::After(Duration::from_secs(seconds)));
    for (status, headers, again) in [
        (200, &[][..], None),
        (204, &[], None),
        (299, &[], None),
        (400, &[], Some(RetryAdvice::Later)),
        (401, &[], Some(RetryAdvice::Later)),
        (404, &[], Some(RetryAdvice::Later)),
        (410, &[], Some(RetryAdvice::Never)),
        (429, &[("retry-after", "17")], after(17)),
        (429, &[], Some(RetryAdvice::Later)),
        (503, &[("retry-after", "120")], after(120)),
        (503, &[("retry-after", "99999999")], after(24 * 60 * 60)),
        (503, &[("retry-after", "-1")], Some(RetryAdvice::Later)),
        (503, &[("retry-after", "soon")], Some(RetryAdvice::Later)),
        (500, &[("retry-after", "17")], Some(RetryAdvice::Later)),
    ] {
        receiver.answers(status, headers, "");
        let found = told(&post(), &receiver.url()).await.err().map(|undelivered| undelivered.again);
        assert_eq!(found, again, "{status} {headers:?}");
    }
}

#[tokio::test]
async fn a_reason_repeats_no_secret() {
    let receiver = Receiver::start().await;
    let secret = WebhookSecret::new([7; 32]).reveal();
    let said = format!("bad signature for {secret}, {} and {}\r\n\u{1b}[31m", receiver.url(), "geheim-in-the-query");
    receiver.answers(401, &[], &said);
    let reason = told(&post(), &receiver.url()).await.expect_err("401").reason;
    assert!(reason.contains("401 Unauthorized: bad signature for whsec_…"), "{reason}");
    assert!(
        !reason.contains("geheim") && !reason.contains(&secret["whsec_".len()..]) && !reason.contains('\u{1b}'),
        "{reason}"
    );
    // In the path, whole or a part of it; and where the reason is cut off in the midst of it.
    let url = receiver.url().replace("/hook?", "/hooks/T0PATHPART/geheim-in-the-path?");
    for said in [
        "no route /hooks/T0PATHPART/geheim-in-the-path".to_owned(),
        "unknown geheim-in-the-path".to_owned(),
        "unknown T0PATHPART".to_owned(),
        format!("{} geheim-in-the-path", "x".repeat(190)),
    ] {
        receiver.answers(404, &[], &said);
        let reason = told(&post(), &url).await.expect_err("404").reason;
        assert!(
            reason.contains("404 Not Found: ") && !reason.contains("geheim") && !reason.contains("T0PATH"),
            "{reason}"
        );
    }
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let reason = told(&post(), &format!("http://{nobody}/x?token=geheim")).await.expect_err("nobody is there").reason;
    assert!(reason.contains("cannot be reached") && !reason.contains("geheim"), "{reason}");
}

#[tokio::test]
async fn a_receiver_that_does_not_end_its_answer_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(b"HTTP/1.1 500 No\r\ncontent-length: 1000000000\r\n\r\n").await;
                // Far more than is read, and never all of it.
                while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
            });
        }
    });
    let begun = std::time::Instant::now();
    let undelivered = told(&post(), &url).await.expect_err("500");
    assert!(begun.elapsed() < Duration::from_secs(60) && undelivered.reason.len() < 700, "{undelivered}");
}

#[tokio::test]
async fn a_receiver_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            kept.push(stream);
        }
    });
    let post = Post::new(guard(&["127.0.0.0/8"]), Trust::default()).patient_for(Duration::from_millis(200));
    let undelivered = told(&post, &url).await.expect_err("nothing comes");
    assert!(undelivered.reason.contains("did not answer within 200ms"), "{undelivered}");
    assert_eq!(undelivered.again, RetryAdvice::Later);
}
