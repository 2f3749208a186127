//! What a service manager is told: a real socket, as systemd has one.

use std::{
    os::unix::net::UnixDatagram,
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
        socket.set_read_timeout(Some(crate::server::PATIENCE)).expect("a timeout");
        Self { socket, desk }
    }

    fn start(&self, watchdog: Option<Duration>) -> Terminal {
        let mut serve = folkmoot(self.desk.path());
        serve.args(["serve", "--listen", "127.0.0.1:0"]).env("NOTIFY_SOCKET", self.desk.path().join("notify"));
        if let Some(every) = watchdog {
            serve.env("WATCHDOG_USEC", every.as_micros().to_string());
        }
        Terminal::new(&mut serve)
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
    let serve = manager.start(Some(every));
    assert!(manager.hears().starts_with("READY=1"));
    let begun = Instant::now();
    for _ in 0..4 {
        assert_eq!(manager.hears(), "WATCHDOG=1\n");
    }
    assert!(begun.elapsed() > every && begun.elapsed() < every * 10, "{:?}", begun.elapsed());
    // One that does nothing any more says nothing either.
    signal(serve.pid(), "STOP");
    while manager.socket.set_nonblocking(true).is_ok() && manager.socket.recv(&mut [0; 100]).is_ok() {}
    std::thread::sleep(every * 2);
    assert!(manager.socket.recv(&mut [0; 100]).is_err(), "it is stopped, and still says that it lives");
    signal(serve.pid(), "CONT");
    manager.socket.set_nonblocking(false).expect("a socket");
    assert_eq!(manager.hears(), "WATCHDOG=1\n");
}
