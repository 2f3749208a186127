use super::parse;

#[test]
fn a_response_is_found_only_when_it_is_whole() {
    let whole = "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello";
    for cut in 0..whole.len() {
        check(&whole[..cut], None);
    }
    check(whole, Some((201, "hello", "")));
}

#[test]
fn what_follows_a_response_is_left_alone() {
    check("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1", Some((200, "ok", "HTTP/1.1")));
}

#[test]
fn a_response_without_a_body_ends_with_its_head() {
    check("HTTP/1.1 204 No Content\r\n\r\n", Some((204, "", "")));
}

#[test]
fn chunks_are_put_together() {
    let whole = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
    for cut in 0..whole.len() {
        check(&whole[..cut], None);
    }
    check(whole, Some((200, "hello", "")));
}

/// Status, body, and the bytes that belong to the next response.
#[track_caller]
fn check(text: &str, expected: Option<(u16, &str, &str)>) {
    let mut bytes = text.as_bytes().to_vec();
    let parsed = parse(&mut bytes).expect("well-formed");
    let found = parsed.map(|parsed| {
        let text = |range: &[u8]| String::from_utf8_lossy(range).into_owned();
        (parsed.status, text(&bytes[parsed.body.clone()]), text(&bytes[parsed.end..]))
    });
    let expected = expected.map(|(status, body, rest)| (status, body.to_owned(), rest.to_owned()));
    assert_eq!(found, expected);
}
