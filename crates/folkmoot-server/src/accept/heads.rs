//! Finds lines of a request's head that end in LF alone. hyper accepts them and a proxy may not, so
//! one could read a single header where the other reads two.

/// Follows the bytes of one connection. Only heads are examined.
#[derive(Debug, Default)]
pub(super) struct Heads(HeadReadState);

#[derive(Debug)]
enum HeadReadState {
    Head {
        line: Vec<u8>,
        body: Body,
    },
    /// This many bytes of a body are left.
    Body(u64),
    /// The rest has no known length. The connection ends with this request, or is no longer HTTP.
    Rest,
}

impl Default for HeadReadState {
    fn default() -> Self {
        HeadReadState::Head { line: Vec::new(), body: Body::Bytes(0) }
    }
}

/// What follows a head, as far as it was read.
#[derive(Clone, Copy, Debug)]
enum Body {
    Bytes(u64),
    Rest,
}

/// hyper refuses longer heads. Of a longer line only the beginning and the last byte are kept.
const LINE_BYTES_MAX: usize = super::HEADER_BYTES_MAX;
/// hyper answers 400 to a head with this byte.
const REFUSED: u8 = 0;

impl Heads {
    /// Examines bytes as they come. Replaces an LF that ends a line of a head alone by a byte that
    /// hyper refuses.
    pub(super) fn look(&mut self, bytes: &mut [u8]) {
        let mut at = 0;
        while at < bytes.len() {
            match &mut self.0 {
                HeadReadState::Rest => return,
                HeadReadState::Body(left) => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len() - at);
                    at += here;
                    *left -= here as u64;
                    if *left == 0 {
                        self.0 = HeadReadState::default();
                    }
                }
                HeadReadState::Head { line, body } => {
                    let byte = bytes[at];
                    if byte != b'\n' {
                        // The last byte is always kept: it may be the CR.
                        if line.len() == LINE_BYTES_MAX {
                            line.pop();
                        }
                        line.push(byte);
                    } else if line.last() != Some(&b'\r') {
                        bytes[at] = REFUSED;
                        self.0 = HeadReadState::Rest;
                        return;
                    } else if line.len() == 1 {
                        self.0 = match *body {
                            Body::Bytes(0) => HeadReadState::default(),
                            Body::Bytes(left) => HeadReadState::Body(left),
                            Body::Rest => HeadReadState::Rest,
                        };
                    } else {
                        *body = body.after(line);
                        line.clear();
                    }
                    at += 1;
                }
            }
        }
    }
}

impl Body {
    /// The state after one more line.
    fn after(self, line: &[u8]) -> Self {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return self };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        match (self, name.to_ascii_lowercase().as_slice()) {
            (Body::Bytes(_), b"content-length") => {
                // hyper refuses what is not a number, and closes.
                let length = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
                length.map_or(Body::Rest, Body::Bytes)
            }
            (_, b"transfer-encoding" | b"upgrade") => Body::Rest,
            (body, _) => body,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result for bytes that come in pieces of each size.
    fn looked_at(text: &str) -> String {
        let whole = |size: usize| {
            let (mut bytes, mut heads) = (text.as_bytes().to_vec(), Heads::default());
            bytes.chunks_mut(size).for_each(|piece| heads.look(piece));
            String::from_utf8(bytes).unwrap()
        };
        let at_once = whole(text.len());
        (1..text.len()).for_each(|size| assert_eq!(whole(size), at_once, "in pieces of {size}"));
        at_once
    }

    #[test]
    fn a_line_of_a_head_that_ends_in_lf_alone_is_refused_and_bodies_are_not_looked_at() {
        let fine = "POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\na\nb\nGET / HTTP/1.1\r\na: b\r\n\r\n";
        assert_eq!(looked_at(fine), fine);
        let long = format!("GET / HTTP/1.1\r\na: {}\r\n\r\nGET /\r\n\r\n", "x".repeat(200));
        assert_eq!(looked_at(&long), long);
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\n\n";
        assert_eq!(looked_at(chunked), chunked);
        assert_eq!(looked_at("GET / HTTP/1.1\na: b\r\n\r\n"), "GET / HTTP/1.1\0a: b\r\n\r\n");
        assert_eq!(looked_at("GET / HTTP/1.1\r\na: b\nc: d\r\n\r\n"), "GET / HTTP/1.1\r\na: b\0c: d\r\n\r\n");
        assert_eq!(looked_at("GET / HTTP/1.1\r\na: b\r\n\n"), "GET / HTTP/1.1\r\na: b\r\n\0");
        let second = "POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}GET / HTTP/1.1\r\na: b\nc: d\r\n\r\n";
        assert_eq!(looked_at(second), second.replace("b\nc", "b\0c"));
    }
}
