//! A conversation at a terminal.

use std::{
    io::{Read, Write},
    process::{Child, ChildStdin, Command},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::Duration,
};

use super::{Desk, prompt::in_a_terminal_with};
use crate::server::TEST_TIMEOUT;

/// Somebody at a terminal, who reads before they type.
pub(super) struct Talk {
    child: Child,
    keys: ChildStdin,
    heard: Receiver<u8>,
    said: String,
}

impl Talk {
    pub(super) fn begin(desk: &Desk, arguments: &str) -> Option<Self> {
        Self::begin_with(desk, arguments, |_| {})
    }

    /// As [`Talk::begin`], with what `prepare` adds to the command.
    pub(super) fn begin_with(desk: &Desk, arguments: &str, prepare: impl FnOnce(&mut Command)) -> Option<Self> {
        let mut child = in_a_terminal_with(desk, arguments, prepare)?;
        let (keys, mut output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let (tell, heard) = channel();
        std::thread::spawn(move || {
            let mut byte = [0];
            while output.read(&mut byte).is_ok_and(|read| read == 1) && tell.send(byte[0]).is_ok() {}
        });
        Some(Self { child, keys, heard, said: String::new() })
    }

    /// Waits until it says this, and then types that.
    pub(super) fn when(&mut self, expected: &str, typed: &str) {
        let mut bytes = Vec::new();
        while !String::from_utf8_lossy(&bytes).contains(expected) {
            let heard = self.heard.recv_timeout(TEST_TIMEOUT);
            bytes.push(heard.unwrap_or_else(|_| panic!("no {expected:?} in {}", String::from_utf8_lossy(&bytes))));
        }
        self.said.push_str(&String::from_utf8_lossy(&bytes));
        // A person takes longer; what is typed before it is read is forgotten.
        std::thread::sleep(Duration::from_millis(100));
        self.keys.write_all(typed.as_bytes()).expect("it reads");
    }

    /// Types at once, whatever it says.
    pub(super) fn type_ahead(&mut self, typed: &str) {
        self.keys.write_all(typed.as_bytes()).expect("it reads");
    }

    /// Types one line after another, each when it asks for one.
    pub(super) fn answer(&mut self, lines: &str) {
        for line in lines.split_inclusive('\n') {
            if !self.asks() {
                return;
            }
            self.keys.write_all(line.as_bytes()).expect("it reads");
        }
    }

    /// Waits until it asks something; `false` if it ends instead. A question is a line that stops
    /// after a space.
    fn asks(&mut self) -> bool {
        let mut wait = TEST_TIMEOUT;
        loop {
            match self.heard.recv_timeout(wait) {
                Ok(byte) => self.said.push(char::from(byte)),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) if wait < TEST_TIMEOUT => return true,
                Err(RecvTimeoutError::Timeout) => panic!("it asks nothing: {}", self.said),
            }
            let is_question = ["] ", ": ", "? "].iter().any(|end| self.said.ends_with(end));
            wait = if is_question { Duration::from_millis(200) } else { TEST_TIMEOUT };
        }
    }

    /// Its exit code, and all that it said.
    pub(super) fn end(mut self) -> (i32, String) {
        while let Ok(byte) = self.heard.recv_timeout(TEST_TIMEOUT) {
            self.said.push(char::from(byte));
        }
        (self.child.wait().expect("it is ours").code().unwrap_or(-1), self.said)
    }
}
