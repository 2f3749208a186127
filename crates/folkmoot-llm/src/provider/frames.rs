//! Splits a byte stream into messages, and buffers at most one of them.

use serde::de::IgnoredAny;

use super::fault::VendorFault;
use crate::FailureKind;

/// How a vendor separates its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events: the `data` of each is a message.
    Sse,
    /// One message per line.
    Lines,
}

/// A message of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamFrame<'a> {
    Event(&'a str),
    /// The only one: the server did not stream.
    Whole(&'a str),
}

/// The incomplete message.
#[derive(Debug)]
pub(super) struct Frames {
    shape: StreamShape,
    bytes_max: usize,
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    /// The last line ended with a carriage return; a line feed that follows belongs to it.
    after_return: bool,
    found: usize,
    foreign: bool,
}

#[derive(Clone, Copy, Debug)]
enum StreamShape {
    /// Only whitespace so far, although events were requested.
    Unknown,
    Sse,
    Lines,
    Whole,
}

/// The field names of server-sent events (WHATWG).
const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl Frames {
    /// `bytes_max` limits each message.
    pub(super) fn new(framing: Framing, bytes_max: usize) -> Self {
        let shape = match framing {
            Framing::Sse => StreamShape::Unknown,
            Framing::Lines => StreamShape::Lines,
        };
        Self { shape, bytes_max, line: Vec::new(), data: None, after_return: false, found: 0, foreign: false }
    }

    /// Adds bytes, and passes each completed message to `read`.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        read: &mut dyn FnMut(StreamFrame<'_>) -> Result<(), VendorFault>,
    ) -> Result<(), VendorFault> {
        if matches!(self.shape, StreamShape::Unknown) {
            bytes = bytes.trim_ascii_start();
            self.shape = self.recognise(bytes)?;
        }
        if matches!(self.shape, StreamShape::Whole) {
            return self.hold(bytes);
        }
        while let Some(at) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (ends, is_return) = (&bytes[..at], bytes[at] == b'\r');
            let is_half = at == 0 && !is_return && std::mem::take(&mut self.after_return);
            bytes = &bytes[at + 1..];
            if is_half {
                continue;
            }
            self.hold(ends)?;
            self.after_return = is_return;
            self.end_line(read)?;
        }
        if !bytes.is_empty() {
            self.after_return = false;
        }
        self.hold(bytes)
    }

    /// Ends the stream. The rest is a message too, unless it is incomplete.
    pub(super) fn end(
        mut self,
        read: &mut dyn FnMut(StreamFrame<'_>) -> Result<(), VendorFault>,
    ) -> Result<(), VendorFault> {
        match self.shape {
            StreamShape::Whole => {
                let document = self.line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.line);
                must_be_complete(document)?;
                read(StreamFrame::Whole(text(document)?))
            }
            StreamShape::Lines if self.line.trim_ascii().is_empty() => Ok(()),
            StreamShape::Lines => {
                must_be_complete(&self.line)?;
                self.end_line(read)
            }
            StreamShape::Unknown | StreamShape::Sse => self.end_events(read),
        }
    }

    fn end_events(
        &mut self,
        read: &mut dyn FnMut(StreamFrame<'_>) -> Result<(), VendorFault>,
    ) -> Result<(), VendorFault> {
        let is_half_a_field = FIELDS.iter().any(|field| field.starts_with(&self.line));
        if !(self.line.is_empty() || is_half_a_field) {
            self.end_line(read).map_err(cut)?;
        }
        self.end_event(read).map_err(cut)?;
        if self.found == 0 && self.foreign {
            return Err(VendorFault::malformed(
                "answered with something that is no stream of events: check the base URL",
            ));
        }
        Ok(())
    }

    /// Some servers send one JSON document although streaming was requested, and gateways send web
    /// pages.
    fn recognise(&self, bytes: &[u8]) -> Result<StreamShape, VendorFault> {
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        match bytes.first() {
            None => Ok(StreamShape::Unknown),
            Some(b'{' | b'[') => Ok(StreamShape::Whole),
            Some(b'<') => Err(VendorFault::malformed("answered with a web page: check the base URL")),
            Some(_) => Ok(StreamShape::Sse),
        }
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), VendorFault> {
        let held = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
        if held + bytes.len() > self.bytes_max {
            let detail = format!("one message of the answer is longer than {} bytes", self.bytes_max);
            return Err(VendorFault::new(FailureKind::TooLarge, detail));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(
        &mut self,
        read: &mut dyn FnMut(StreamFrame<'_>) -> Result<(), VendorFault>,
    ) -> Result<(), VendorFault> {
        let line = std::mem::take(&mut self.line);
        if matches!(self.shape, StreamShape::Lines) {
            return if line.trim_ascii().is_empty() { Ok(()) } else { self.tell(&line, read) };
        }
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
        if line.is_empty() {
            return self.end_event(read);
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = colon.map_or((line, &[][..]), |at| (&line[..at], &line[at + 1..]));
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if field == b"data" {
            match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            }
        }
        // A comment has no name.
        self.foreign |= !field.is_empty() && !FIELDS.contains(&field);
        Ok(())
    }

    fn end_event(
        &mut self,
        read: &mut dyn FnMut(StreamFrame<'_>) -> Result<(), VendorFault>,
    ) -> Result<(), VendorFault> {
        match self.data.take() {
            Some(data) if !data.is_empty() => self.tell(&data, read),
            _ => Ok(()),
        }
    }

    fn tell(
        &mut self,
        bytes: &[u8],
        read: &mut dyn FnMut(StreamFrame<'_>) -> Result<(), VendorFault>,
    ) -> Result<(), VendorFault> {
        self.found += 1;
        read(StreamFrame::Event(text(bytes)?))
    }
}

fn text(bytes: &[u8]) -> Result<&str, VendorFault> {
    std::str::from_utf8(bytes).map_err(|error| VendorFault::malformed(format!("the answer is not UTF-8: {error}")))
}

/// A document that breaks off was truncated; one that is invalid before its end is malformed.
fn must_be_complete(document: &[u8]) -> Result<(), VendorFault> {
    let is_half_a_character = std::str::from_utf8(document).is_err_and(|error| error.error_len().is_none());
    match serde_json::from_slice::<IgnoredAny>(document) {
        Err(error) if error.is_eof() || is_half_a_character => Err(cut_off()),
        Err(error) => Err(VendorFault::malformed(format!("answered with something that is not JSON: {error}"))),
        Ok(IgnoredAny) => Ok(()),
    }
}

/// An unreadable last event was truncated.
fn cut(fault: VendorFault) -> VendorFault {
    if fault.kind == FailureKind::Malformed { cut_off() } else { fault }
}

fn cut_off() -> VendorFault {
    VendorFault::new(FailureKind::Truncated, "the answer was cut off within a message")
}

#[cfg(test)]
mod tests;
