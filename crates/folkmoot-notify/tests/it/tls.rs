//! Who shows a certificate that nobody vouches for is told nothing.

use folkmoot_notify::{
    Post, Trust,
    webhook::{self, WebhookSecret},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{certificate::Certificate, guard, message, now};

#[tokio::test]
async fn a_certificate_is_always_checked() {
    let Some(certificate) = Certificate::new() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = certificate.acceptor();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = vec![0; 8192];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(b"HTTP/1.1 204 Taken\r\nconnection: close\r\n\r\n").await;
            let _ = stream.shutdown().await;
        }
    });
    let send = async |trust: Trust, host: &str| {
        let post = Post::new(guard(&["127.0.0.0/8", "localhost"]), trust);
        webhook::send(
            &post,
            &format!("https://{host}:{port}/"),
            &[WebhookSecret::new([7; 32])],
            &message("dlv-1"),
            now(),
        )
        .await
    };
    let refused = send(Trust::default(), "127.0.0.1").await.expect_err("nobody vouches for it");
    assert!(refused.reason.contains("certificate"), "{refused}");
    let trusted = Trust::read(&certificate.path()).unwrap();
    send(trusted.clone(), "127.0.0.1").await.expect("ca_file vouches for it");
    let refused = send(trusted, "localhost").await.expect_err("it is for another name");
    assert!(refused.reason.contains("not valid for name"), "{refused}");
}
