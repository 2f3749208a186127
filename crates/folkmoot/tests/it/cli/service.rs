//! What a service manager is told: a real socket, as systemd has one.

use std::{
    os::unix::net::UnixDatagram,
    process::Command,
    time::{Duration, Instant},
};

use super::{Desk, Terminal, run};
use crate::server::{folkmoot, signal};

struct Manager {
    socket: UnixDatagram,
    desk: Desk,
}

impl Manager {
    fn new() -> Self {
        let desk = Desk::new();
        let socket = UnixDatagram::bind(desk.path().join("notify")).expect("a socket");
        socket.set_read_timeout(Some(crate::server::TEST_TIMEOUT)).expect("a timeout");
        Self { socket, desk }
    }

    fn start(&self, watchdog: Option<Duration>) -> Terminal {
        self.spawn(&mut Command::new("env"), watchdog)
    }

    /// The server, started by another program that becomes it.
    fn spawn(&self, by: &mut Command, watchdog: Option<Duration>) -> Terminal {
        let serve = folkmoot(self.desk.path());
        by.arg(serve.get_program()).args(["serve", "--listen", "127.0.0.1:0"]);
        by.env("NOTIFY_SOCKET", self.desk.path().join("notify"));
        for (name, value) in serve.get_envs() {
            match value {
                Some(value) => by.env(name, value),
                None => by.env_remove(name),
            };
        }
        if let Some(every) = watchdog {
            by.env("WATCHDOG_USEC", every.as_micros().to_string());
        }
        Terminal::new(by)
    }

    /// The next that it is told.
    fn hears(&self) -> String {
        let mut buffer = [0; 1000];
        let read = self.socket.recv(&mut buffer).expect("it is told something");
        String::from_utf8(buffer[..read].to_vec()).expect("text")
    }
}

#[test]
fn it_is_told_when_the_server_is_ready_and_when_it_ends() {
    let manager = Manager::new();
    let serve = manager.start(None);
    let told = manager.hears();
    assert!(told.starts_with("READY=1\nSTATUS=listens on http://127.0.0.1:"), "{told}");
    // Whoever waited for it can use it at once.
    let listed =
        run(folkmoot(manager.desk.path()).args(["--url", told.rsplit("on ").next().unwrap().trim(), "status"]));
    assert_eq!(listed.code, 0, "{listed:?}");
    signal(serve.pid(), "TERM");
    assert_eq!(manager.hears(), "STOPPING=1\n");
    assert_eq!(serve.finish().code, 0);
}

#[test]
fn the_watchdog_hears_that_it_lives_as_long_as_it_does() {
    let manager = Manager::new();
    let every = Duration::from_millis(400);
    let _serve = manager.start(Some(every));
    assert!(manager.hears().starts_with("READY=1"));
    let begun = Instant::now();
    for _ in 0..4 {
        assert_eq!(manager.hears(), "WATCHDOG=1\n");
    }
    assert!(begun.elapsed() > every && begun.elapsed() < every * 10, "{:?}", begun.elapsed());
}

/// A disk that does not come back from a sync: the process lives and answers, but whoever writes
/// does not.
#[test]
fn the_watchdog_hears_nothing_while_the_writer_hangs() {
    let manager = Manager::new();
    manager.desk.say(&["status"]);
    let strace = Command::new("strace").args(["-f", "-qq", "-o", "/dev/null", "true"]).output();
    if !strace.is_ok_and(|output| output.status.success()) {
        let _ =
            std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: no strace, so no sync can be made to hang\n");
        return;
    }
    let every = Duration::from_millis(300);
    let mut serve = Command::new("strace");
    serve.args(["-D", "-f", "-qq", "-o", "/dev/null", "-P"]).arg(manager.desk.path().join("folkmoot.db-wal"));
    serve.args(["-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_enter=4s"]);
    let _serve = manager.spawn(&mut serve, Some(every));
    let url = manager.hears();
    let url = url.strip_prefix("READY=1\nSTATUS=listens on ").expect("it is ready").trim();
    assert_eq!(manager.hears(), "WATCHDOG=1\n");
    let _opening = manager.desk.spawn(&["--url", url, "gate", "open", "Deploy"]);
    // It goes on until the gate has reached the writer, and no longer.
    manager.socket.set_read_timeout(Some(every * 4)).expect("a timeout");
    let begun = Instant::now();
    while manager.socket.recv(&mut [0; 100]).is_ok() {
        assert!(
            begun.elapsed() < crate::server::TEST_TIMEOUT,
            "the writer hangs, and the watchdog is told that all is well"
        );
    }
    let ready = manager.desk.run(&["--url", url, "ready"]);
    assert_eq!(ready.code, 0, "the process itself answers: {ready:?}");
}
