use proptest::prelude::*;

use super::*;

/// What comes of `pieces`, one after another: the messages, and how it ended.
fn read(framing: Framing, bytes_max: usize, pieces: &[&[u8]]) -> (Vec<String>, Option<FailureKind>) {
    let mut messages = Vec::new();
    let mut keep = |frame: StreamFrame<'_>| {
        messages.push(match frame {
            StreamFrame::Event(text) => text.to_owned(),
            StreamFrame::Whole(text) => format!("whole {text}"),
        });
        Ok(())
    };
    let mut frames = Frames::new(framing, bytes_max);
    let pushed = pieces.iter().try_for_each(|piece| frames.push(piece, &mut keep));
    let ended = pushed.and_then(|()| frames.end(&mut keep));
    (messages, ended.err().map(|fault| fault.kind))
}

fn check(framing: Framing, stream: &str, expected: &[&str]) {
    let expected = (expected.iter().map(|text| (*text).to_owned()).collect(), None);
    assert_eq!(read(framing, 1000, &[stream.as_bytes()]), expected, "{stream:?}");
    // Wherever it is cut, also within a character or between a return and its line feed, it says
    // the same.
    for at in 0..=stream.len() {
        let (left, right) = stream.as_bytes().split_at(at);
        assert_eq!(read(framing, 1000, &[left, right]), expected, "{stream:?} cut at {at}");
    }
    let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
    assert_eq!(read(framing, 1000, &bytes), expected, "{stream:?} byte by byte");
}

#[test]
fn an_event_is_its_data() {
    check(Framing::Sse, "data: a\n\ndata: b\n\n", &["a", "b"]);
    check(Framing::Sse, "data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
    check(Framing::Sse, "data: a\r\rdata: b\r\r", &["a", "b"]);
    check(Framing::Sse, "\u{feff}data: a\n\n", &["a"]);
    check(Framing::Sse, "event: x\nid: 7\nretry: 3\ndata:a\ndata: b\n\n", &["a\nb"]);
    check(Framing::Sse, ": ping\n\n: ping\n\ndata: Grüße 🌍\n\n", &["Grüße 🌍"]);
    check(Framing::Sse, "data: a\nunheard: of\n\n", &["a"]);
    // Some do not write the last blank line.
    check(Framing::Sse, "data: a\n\ndata: [DONE]", &["a", "[DONE]"]);
    check(Framing::Sse, "data: a\n\ndata: b\n", &["a", "b"]);
    check(Framing::Sse, "data\n\ndata:\n\n", &[]);
    check(Framing::Sse, "", &[]);
}

#[test]
fn a_line_is_a_message() {
    check(Framing::Lines, "{\"a\":1}\n{\"b\":\"ü\"}\n", &["{\"a\":1}", "{\"b\":\"ü\"}"]);
    check(Framing::Lines, "{\"a\":1}\r\n\r\n{\"b\":2}", &["{\"a\":1}", "{\"b\":2}"]);
}

#[test]
fn one_document_in_place_of_a_stream_is_known_by_its_first_character() {
    check(Framing::Sse, " \n {\"a\":\n1}\n", &["whole {\"a\":\n1}\n"]);
    check(Framing::Sse, "[1]", &["whole [1]"]);
}

#[test]
fn what_is_no_stream_is_malformed() {
    let kind = |framing, stream: &[u8]| read(framing, 1000, &[stream]).1;
    assert_eq!(kind(Framing::Sse, b"<html>"), Some(FailureKind::Malformed));
    assert_eq!(kind(Framing::Sse, b"Hello!"), Some(FailureKind::Malformed));
    assert_eq!(kind(Framing::Sse, b"Hello\nworld\n"), Some(FailureKind::Malformed));
    assert_eq!(kind(Framing::Sse, b"{nonsense}"), Some(FailureKind::Malformed));
    assert_eq!(kind(Framing::Sse, b"data: \xff\n\n"), Some(FailureKind::Malformed));
    assert_eq!(kind(Framing::Lines, b"Hello!"), Some(FailureKind::Malformed));
    assert_eq!(kind(Framing::Lines, b"\xff\n"), Some(FailureKind::Malformed));
}

#[test]
fn half_a_message_at_the_end_is_cut_off() {
    let kind = |framing, stream: &[u8]| read(framing, 1000, &[stream]).1;
    assert_eq!(kind(Framing::Sse, b"{\"a\":"), Some(FailureKind::Truncated));
    assert_eq!(kind(Framing::Sse, b"{\"a\":\"\xc3"), Some(FailureKind::Truncated));
    assert_eq!(kind(Framing::Sse, b"data: \xc3"), Some(FailureKind::Truncated));
    assert_eq!(kind(Framing::Lines, b"{\"a\":tr"), Some(FailureKind::Truncated));
    assert_eq!(kind(Framing::Lines, b"{\"a\":\"\xf0\x9f"), Some(FailureKind::Truncated));
    assert_eq!(kind(Framing::Sse, b"data: a\n\nda"), None);
}

#[test]
fn no_more_than_one_message_is_held() {
    let too_large = Some(FailureKind::TooLarge);
    let line = "x".repeat(200);
    for framing in [Framing::Sse, Framing::Lines] {
        assert_eq!(read(framing, 100, &[line.as_bytes()]).1, too_large);
        assert_eq!(read(framing, 100, &[&line.as_bytes()[..60], &line.as_bytes()[..60]]).1, too_large);
    }
    // Many short lines that make one event.
    assert_eq!(read(Framing::Sse, 100, &["data: 0123456789\n".repeat(20).as_bytes()]).1, too_large);
    assert_eq!(read(Framing::Sse, 100, &["data:\n".repeat(200).as_bytes()]).1, too_large);
    assert_eq!(read(Framing::Sse, 100, &[b"{", line.as_bytes()]).1, too_large);
    assert_eq!(read(Framing::Sse, 100, &["data: 0123456789\n\n".repeat(20).as_bytes()]).1, None);
}

proptest! {
    #[test]
    fn any_bytes_give_the_same_however_they_are_cut(
        bytes in proptest::collection::vec(prop_oneof![
            Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'd'), Just(b'{'), Just(b' '), any::<u8>()
        ], 0..200),
        cuts in proptest::collection::vec(0usize..200, 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= bytes.len()).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        for framing in [Framing::Sse, Framing::Lines] {
            prop_assert_eq!(read(framing, 150, &pieces), read(framing, 150, &[&bytes]));
        }
    }
}
