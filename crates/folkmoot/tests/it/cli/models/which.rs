//! Which model is asked: said before it is asked, and never one that merely listens.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::Stdio,
    sync::{Arc, Mutex},
};

use serde_json::Value;

use super::super::{Desk, Ended, run, talk::Talk};
use crate::server::{YOURS, clean, eventually, folkmoot};

const DEBATE: [&str; 4] = ["debate", "Should we write tests first?", "--preset", "quick"];

/// An Ollama that answers every chat with a word, and remembers what it was sent.
struct Ollama {
    host: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Ollama {
    fn start() -> Self {
        Self::start_with(200)
    }

    /// One that answers every chat with this status.
    fn start_with(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let host = listener.local_addr().expect("an address").to_string();
        let asked = Arc::default();
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Whoever hangs up in the middle wants nothing more.
                let _ = answer(stream, &heard, status);
            }
        });
        Self { host, asked }
    }

    /// How many chats there were.
    fn chats(&self) -> usize {
        self.asked
            .lock()
            .expect("nobody panicked with it")
            .iter()
            .filter(|line| line.starts_with("POST /api/chat"))
            .count()
    }
}

fn answer(stream: TcpStream, asked: &Mutex<Vec<String>>, status: u16) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim().to_ascii_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
            Some(_) => {}
            None => break,
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let body = match first.starts_with("GET /api/tags") {
        true => r#"{"models": [{"name": "tiny"}]}"#,
        false => {
            r#"{"model":"tiny","message":{"role":"assistant","content":"Fine."},"done":true,"done_reason":"stop"}"#
        }
    };
    asked.lock().expect("nobody panicked with it").push(first);
    let head =
        format!("HTTP/1.1 {status} Whatever\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
    write!(&stream, "{head}connection: close\r\n\r\n{body}")
}

/// A verb on a machine on which a model listens.
fn beside(ollama: &Ollama, desk: &Desk, arguments: &[&str]) -> Ended {
    run(folkmoot(desk.path()).args(arguments).env("OLLAMA_HOST", &ollama.host).stdin(Stdio::null()))
}

#[test]
fn a_model_that_merely_listens_is_proposed_and_not_asked() {
    let (ollama, desk) = (Ollama::start(), Desk::new());
    let plan = ["plan", "Open a second bakery", "--iterations", "1"];
    for arguments in [&["ask-model", "Hello?"][..], &DEBATE, &plan] {
        let ended = beside(&ollama, &desk, arguments);
        assert_eq!(ended.code, 0, "{ended:?}");
        let first = ended.stderr.lines().next().unwrap_or_default();
        assert!(first.starts_with("This is a rehearsal, no model is asked, because no provider"), "{first}");
        assert!(first.contains(&format!("ollama/tiny at http://{}", ollama.host)), "{first}");
        assert!(first.contains("--provider ollama"), "{first}");
        assert_eq!(ollama.chats(), 0, "{arguments:?}");
    }
    let ended = beside(&ollama, &desk, &["ask-model", "Hello?", "--provider", "ollama"]);
    assert_eq!((ended.code, ended.stdout.as_str(), ollama.chats()), (0, "Fine.\n", 1), "{ended:?}");
    let first = ended.stderr.lines().next().unwrap_or_default();
    assert_eq!(first, format!("Asking ollama at http://{}: you named it.", ollama.host));
}

#[test]
fn a_person_at_the_terminal_chooses_a_model_that_listens_and_is_remembered() {
    let (ollama, desk) = (Ollama::start(), Desk::new());
    std::fs::create_dir_all(desk.path()).unwrap();
    // In a terminal the variables of this process are those of the verb.
    let begin = |words: &str| {
        Talk::begin_with(&desk, words, |verb| {
            verb.env("OLLAMA_HOST", &ollama.host);
        })
    };
    let Some(mut talk) = begin("ask-model Hello?") else { return };
    talk.when("Use it, now and from now on? [y/N]", "n\n");
    talk.when("This is a rehearsal", "");
    assert_eq!((talk.end().0, ollama.chats()), (0, 0));
    let mut talk = begin("ask-model Hello?").unwrap();
    talk.when("Use it, now and from now on? [y/N]", "y\n");
    talk.when("local_model.json remembers it", "");
    talk.when("Fine.", "");
    assert_eq!((talk.end().0, ollama.chats()), (0, 1));
    // From now on nobody is asked, with a terminal or without.
    let ended = beside(&ollama, &desk, &["ask-model", "Hello?"]);
    assert!(ended.stderr.starts_with("Asking ollama at http://"), "{ended:?}");
    assert!(ended.stderr.contains("you chose it at a terminal") && ollama.chats() == 2, "{ended:?}");
    // Another one at another address was not chosen.
    let other = Ollama::start();
    let ended = beside(&other, &desk, &["ask-model", "Hello?"]);
    assert!(ended.stderr.starts_with("This is a rehearsal") && other.chats() == 0, "{ended:?}");
}

#[test]
fn a_key_in_the_shell_of_a_verb_does_not_reach_the_server_and_that_is_said() {
    let desk = Desk::new();
    let _serve = desk.spawn(&["serve", "--listen", "127.0.0.1:0"]);
    eventually("it serves", || desk.path().join("server.json").exists().then_some(()));
    let with_key = |arguments: &[&str]| {
        run(folkmoot(desk.path()).args(arguments).env("OPENAI_API_KEY", "sk-0123456789abcdefghij").stdin(Stdio::null()))
    };
    let ended = with_key(&[&DEBATE[..], &["--provider", "openai"]].concat());
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stderr.contains("the server was started without OPENAI_API_KEY"), "{}", ended.stderr);
    assert!(ended.stderr.contains("start `folkmoot serve` again"), "{}", ended.stderr);
    let told: Value = serde_json::from_str(&with_key(&["--json", "doctor"]).stdout).unwrap();
    assert_eq!(told["models_of_server"], true, "{told}");
    assert_eq!(told["asked"]["provider"], "rehearsal", "{told}");
    let openai = told["findings"].as_array().unwrap().iter().find(|finding| finding["name"] == "openai").unwrap();
    assert_eq!(openai["ok"], false);
    let detail = openai["detail"].as_str().unwrap();
    assert!(detail.contains("was started without OPENAI_API_KEY") && detail.contains("this shell has it"), "{detail}");
    // Without a server the verb is the server, and its shell has the key.
    let alone = Desk::new();
    let ended = run(folkmoot(alone.path())
        .args(["debate", "Should we write tests first?", "--no-wait"])
        .env("OPENAI_API_KEY", "sk-0123456789abcdefghij")
        .env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"));
    assert!(
        ended.stderr.starts_with("Asking openai at http://127.0.0.1:1/v1: its key is in the environment."),
        "{ended:?}"
    );
}

#[test]
fn tests_of_verbs_see_no_key_of_the_developer() {
    let mut command = std::process::Command::new("env");
    let listed = clean(&mut command, std::path::Path::new("/nowhere")).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let wrong = |line: &&str| {
        let name = line.split('=').next().unwrap_or_default();
        name.ends_with("_API_KEY")
            || name.ends_with("_BASE_URL")
            || (name.starts_with("FOLKMOOT_") && name != "FOLKMOOT_DATA")
    };
    assert_eq!(listed.lines().find(wrong), None);
}

#[test]
fn a_provider_that_fails_is_not_replaced_by_the_servers_default() {
    let (cloud, local, desk) = (Ollama::start(), Ollama::start_with(401), Desk::new());
    let config = format!(
        "provider = 'cloud'\n[providers.cloud]\nkind = 'ollama'\nmodel = 'big'\nbase_url = 'http://{}'\n\
         [providers.local]\nkind = 'ollama'\nmodel = 'small'\nbase_url = 'http://{}'\nattempts = 1\nfallback = []\n",
        cloud.host, local.host
    );
    std::fs::write(desk.path().join("folkmoot.toml"), config).unwrap();
    let _serve = desk.spawn(&["serve", "--listen", "127.0.0.1:0"]);
    let url = eventually("it serves", || {
        let server = std::fs::read(desk.path().join("server.json")).ok()?;
        serde_json::from_slice::<Value>(&server).ok()?["url"].as_str().map(str::to_owned)
    });
    let agent = |id: &str, role: &str| serde_json::json!({ "id": id, "role": role, "provider": "local" });
    let body = serde_json::json!({
        "topic": "What we must tell nobody?", "preset": "quick", "id": "d1",
        "agents": [agent("a", "proposer"), agent("b", "critic"), agent("c", "moderator")],
    });
    let bearer = format!("Bearer {YOURS}");
    let started = crate::http::send(&url, "POST", "/v1/debates", &[("authorization", &bearer)], &body.to_string());
    assert!(started.starts_with("HTTP/1.1 202"), "{started}");
    eventually("it is over, or stands still", || {
        let status = desk.json(&["debate", "show", "d1"])["status"].as_str().unwrap().to_owned();
        (local.chats() > 0 && status != "pending" && status != "running").then_some(())
    });
    assert_eq!(*cloud.asked.lock().unwrap(), Vec::<String>::new(), "a vendor was told what nobody meant for it");
}
