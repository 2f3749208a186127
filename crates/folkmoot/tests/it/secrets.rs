//! Secrets are where they belong and nowhere else: each is planted as a word that can be
//! recognised, everything that the server says or keeps is collected, and none of the words may be
//! in it.

use std::{fs::File, path::Path, process::Stdio};

use serde_json::Value;

use crate::{
    http,
    server::{Server, eventually, folkmoot},
};

/// Words that must not be found, by what they are. A new kind of secret is a line here, and a line
/// where it is used.
const CANARIES: [(&str, &str); 17] = [
    ("a bootstrap token of an admin", "canary-admin-7f3a9c1e"),
    ("a bootstrap token of an agent", "canary-agent-2d8b4f60"),
    ("a token that the command line sends", "canary-cli-91c7e5d3"),
    ("a token in a query", "canary-query-5e0b8a24"),
    ("a token in a query of a stream", "canary-stream-3f6d1c97"),
    ("a password for the wrong scheme", "canary-basic-b48e2075"),
    ("a bearer that is no token", "canary-bearer-0a9d6e31"),
    ("a header that is no scheme", "canary-garbage-c5f2781b"),
    ("a token in a subprotocol", "canary-protocol-6be4d902"),
    ("the key of a provider in the environment", "canary-provider-e17a3c58"),
    ("the password of a database", "canary-database-48d05fb2"),
    ("a header for a collector", "canary-collector-d2b6907e"),
    ("the address of a Slack channel", "canary-slack-1c85e7f9"),
    ("the password of a mail server", "canary-smtp-5a1f08c4"),
    ("the login at a mail server as it is sent", "AHZpc2libGUtc2VuZGVyAGNhbmFyeS1zbXRwLTVhMWYwOGM0"),
    ("the secret of a webhook in the environment", "Y2FuYXJ5LWhvb2stOTNlNmIxN2QtY2FuYXJ5LWhvb2s="),
    ("the key of a webhook in the environment", "canary-hook-93e6b17d-canary-hook"),
];

/// Files that hold secrets, and are for nobody but their owner.
const SECRET_FILES: [&str; 2] = ["tokens.json", "server.key"];

type Headers<'a> = Vec<(&'a str, &'a str)>;

fn canary(what: &str) -> &'static str {
    let found = CANARIES.iter().find(|(known, _)| *known == what);
    found.unwrap_or_else(|| panic!("there is no canary for {what}")).1
}

/// Everything that was said or kept, by where.
#[derive(Default)]
struct Collected(Vec<(String, Vec<u8>)>);

impl Collected {
    fn add(&mut self, place: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.push((place.into(), bytes.into()));
    }

    /// Every file of a folder, but for those that hold secrets.
    fn add_folder(&mut self, place: &str, folder: &Path) {
        for entry in std::fs::read_dir(folder).expect("the folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() {
                self.add_folder(&format!("{place}/{name}"), &path);
            } else if !SECRET_FILES.contains(&name.as_str()) {
                self.add(format!("{place}/{name}"), std::fs::read(&path).expect("it can be read"));
            }
        }
    }

    /// Runs a verb, and collects what it prints.
    fn run(&mut self, command: &mut std::process::Command) {
        let place = format!("{:?}", command.get_args().collect::<Vec<_>>());
        let ended = command.stdin(Stdio::null()).output().expect("it runs");
        self.add(format!("stdout of {place}"), ended.stdout);
        self.add(format!("stderr of {place}"), ended.stderr);
    }

    /// Where a word is.
    fn places_of(&self, word: &str) -> Vec<&str> {
        let holds = |bytes: &[u8]| bytes.windows(word.len()).any(|window| window == word.as_bytes());
        self.0.iter().filter(|(_, bytes)| holds(bytes)).map(|(place, _)| place.as_str()).collect()
    }
}

#[test]
fn secrets_are_nowhere_but_where_they_belong() {
    let mut collected = Collected::default();
    let logs = tempfile::tempdir().expect("a folder");
    let open = |name: &str| File::options().create(true).append(true).open(logs.path().join(name)).expect("a log");
    let (admin, agent) = (canary("a bootstrap token of an admin"), canary("a bootstrap token of an agent"));
    let data = tempfile::tempdir().expect("a folder");
    let config = format!(
        "[notify]\nallow = [\"127.0.0.0/8\"]\n\
         [channels.slack]\nkind = \"slack\"\nurl_env = \"CANARY_SLACK\"\nevents = [\"gate.opened\"]\n\
         [channels.mail]\nkind = \"mail\"\nserver = \"{}\"\ntls = \"none\"\nusername = \"visible-sender\"\n\
         password_env = \"CANARY_SMTP\"\nfrom = \"a@example.org\"\nto = [\"b@example.org\"]\nevents = [\"gate.opened\"]\n\
         [channels.hook]\nkind = \"webhook\"\nurl = \"{}\"\nsecret_env = \"CANARY_HOOK\"\nevents = [\"gate.opened\"]\n",
        mail_parrot(),
        parrot()
    );
    std::fs::write(data.path().join("folkmoot.toml"), config).expect("a configuration");
    let server = Server::start_with(data, |command| {
        command.env("CANARY_SLACK", format!("{}/{}", parrot(), canary("the address of a Slack channel")));
        command.env("CANARY_SMTP", canary("the password of a mail server"));
        command.env("CANARY_HOOK", format!("whsec_{}", canary("the secret of a webhook in the environment")));
        // All that anything in the process has to say.
        command.args(["--log-json", "--otlp", "http://127.0.0.1:1"]).env("FOLKMOOT_LOG", "trace");
        command.env("FOLKMOOT_BOOTSTRAP_TOKENS", format!("admin:visible-admin={admin},agent:visible-agent={agent}"));
        command.env("OPENAI_API_KEY", canary("the key of a provider in the environment"));
        command.env("OTEL_EXPORTER_OTLP_HEADERS", format!("x-key={}", canary("a header for a collector")));
        command.stdout(open("stdout")).stderr(open("stderr"));
    });
    let made = use_it(&server, admin, agent, &mut collected);
    let backup = logs.path().join("backup.db");
    collected.run(folkmoot(server.data.path()).arg("backup").arg(&backup).env("FOLKMOOT_LOG", "trace"));
    collected.add("the backup", std::fs::read(&backup).expect("a backup"));
    let key = canary("the key of a provider in the environment");
    collected.run(folkmoot(server.data.path()).args(["--json", "doctor"]).env("OPENAI_API_KEY", key));
    let unreachable = ["--json", "ask-model", "visible-question", "--provider", "openai"];
    let mut asking = folkmoot(server.data.path());
    asking.args(unreachable).env("OPENAI_API_KEY", key).env("OPENAI_BASE_URL", parrot()).env("FOLKMOOT_LOG", "trace");
    collected.run(&mut asking);
    for flag in [true, false] {
        let mut command = folkmoot(server.data.path());
        let token = canary("a token that the command line sends");
        if flag {
            command.args(["--token", token]);
        } else {
            command.env("FOLKMOOT_TOKEN", token);
        }
        collected.run(command.args(["--url", &server.url, "gate", "list"]).env("FOLKMOOT_LOG", "trace"));
    }
    // One that cannot be reached, one that is no address.
    let password = canary("the password of a database");
    for database in [
        format!("postgres://visible-user:{password}@127.0.0.1:1/visible-database?connect_timeout=1"),
        format!("host=127.0.0.1 port=1 connect_timeout=1 user=visible-user password={password} nonsense=1"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = folkmoot(folder.path());
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("FOLKMOOT_DATABASE", database);
        collected.run(command.env("FOLKMOOT_LOG", "trace"));
        collected.add_folder("the folder beside a database", folder.path());
    }
    // While it runs: `server.json`, and the log of the database with what is not in the database
    // yet.
    collected.add_folder("the data folder", server.data.path());
    let (code, data) = server.terminate_and_keep();
    assert_eq!(code, Some(0));
    collected.add_folder("the data folder afterwards", data.path());
    collected.add_folder("logs", logs.path());

    let leaked = |what: &str, word: &str| {
        let places = collected.places_of(word);
        (!places.is_empty()).then(|| format!("{what} is in {places:?}"))
    };
    let made =
        [("a token that was made", made[0].as_str()), ("the secret of a webhook that was made", made[1].as_str())];
    let canaries = CANARIES.iter().map(|(what, word)| (*what, *word)).chain(made);
    let leaks: Vec<_> = canaries.filter_map(|(what, word)| leaked(what, word)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");

    // The search finds what is there, in each of the places.
    for (word, place) in [
        ("visible-title", "the data folder/folkmoot.db-wal"),
        ("visible-title", "the data folder afterwards/folkmoot.db"),
        ("visible-title", "GET /v1/events?after=0"),
        ("visible-request", "logs/stderr"),
        ("visible-agent", "logs/stderr"),
        ("folkmoot::command", "logs/stderr"),
        ("Folkmoot listens on", "logs/stdout"),
        ("folkmoot_http_requests_total", "GET /metrics"),
        ("unauthenticated", "GET /v1/gates"),
        ("\"pid\"", "the data folder/server.json"),
        ("\"findings\"", "stdout of [\"--json\", \"doctor\"]"),
        ("visible-title", "GET /v1/audit?limit=500"),
        ("visible-title", "the backup"),
        ("visible-hook", "the backup"),
        ("folkmoot_deliveries_total", "GET /metrics afterwards"),
        // They were asked to, and did repeat what is secret.
        ("wrong key: ", "GET /v1/deliveries"),
        ("wrong login: ", "GET /v1/deliveries"),
        ("wrong login: ", "logs/stderr"),
        // The provider was asked, and did repeat the key.
        ("wrong key: ", "stderr of [\"--json\", \"ask-model\", \"visible-question\", \"--provider\", \"openai\"]"),
    ] {
        let places = collected.places_of(word);
        assert!(places.contains(&place), "{word:?} is not in {place}, but in {places:?}");
    }
    let kept = std::fs::read_to_string(data.path().join("tokens.json")).expect("the owner's tokens");
    let owners: Value = serde_json::from_str(&kept).expect("JSON");
    for who in ["you", "agent"] {
        let token = owners[who]["token"].as_str().expect("a token");
        assert_eq!(collected.places_of(token), Vec::<&str>::new(), "the owner's token of {who}");
    }
}

/// Asks for all kinds of things, with secrets in right and in wrong places. Returns a token and the
/// secret of a webhook that were made on the way.
fn use_it(server: &Server, admin: &str, agent: &str, collected: &mut Collected) -> [String; 2] {
    let url = server.url.as_str();
    let (as_admin, as_agent) = (format!("Bearer {admin}"), format!("Bearer {agent}"));
    let admin = [("authorization", as_admin.as_str()), ("x-request-id", "visible-request")];
    let agent = [("authorization", as_agent.as_str())];
    let keyed = [admin[0], ("idempotency-key", "once")];
    // The one answer in which a token belongs.
    let made = http::send(url, "POST", "/v1/tokens", &keyed, r#"{"name":"visible-eve","role":"viewer"}"#);
    let body: Value = serde_json::from_str(made.split("\r\n\r\n").nth(1).expect("a body")).expect("JSON");
    let made = body["token"].as_str().expect("a token").to_owned();
    let as_eve = format!("Bearer {made}");
    // And the one in which the secret of a webhook does.
    let hook = format!(r#"{{"name":"visible-hook","url":"{}","events":["gate.opened"]}}"#, parrot());
    let hook = http::send(url, "POST", "/v1/webhooks", &admin, &hook);
    let hook: Value = serde_json::from_str(hook.split("\r\n\r\n").nth(1).expect("a body")).expect("JSON");
    let secret = hook["secret"].as_str().and_then(|secret| secret.strip_prefix("whsec_")).expect("a secret").to_owned();

    let gate = r#"{"summary":"visible-summary","title":"visible-title"}"#;
    let opened = http::send(url, "POST", "/v1/gates", &agent, gate);
    let id = opened.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an id").to_owned();
    collected.add("POST /v1/gates", opened);
    let question = r#"{"agent_id":"visible-agent","type":"CLARIFYING","text":"visible-question"}"#;
    let basic = format!("Basic {}", canary("a password for the wrong scheme"));
    let bearer = format!("Bearer {}", canary("a bearer that is no token"));
    let (in_query, in_stream) = (canary("a token in a query"), canary("a token in a query of a stream"));
    let protocols = format!("folkmoot.v1, folkmoot.bearer.{}", canary("a token in a subprotocol"));
    let upgrade = |authorization: &'static str, protocols: String| {
        let upgrade = [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13")];
        let mut headers: Vec<(&str, String)> = upgrade.map(|(name, value)| (name, value.to_owned())).to_vec();
        headers.push(("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==".to_owned()));
        headers.push((authorization, protocols));
        headers
    };
    #[rustfmt::skip]
    let requests: Vec<(&str, String, Headers<'_>, &str)> = vec![
        ("POST", "/v1/questions".into(), agent.to_vec(), question),
        ("POST", "/v1/runs".into(), agent.to_vec(), r#"{"kind":"external","title":"visible-run"}"#),
        ("POST", format!("/v1/gates/{id}/approve"), agent.to_vec(), "{}"),
        ("POST", format!("/v1/gates/{id}/reject"), admin.to_vec(), r#"{"reason":"visible-reason"}"#),
        ("POST", format!("/v1/gates/{id}/approve"), admin.to_vec(), "{}"),
        ("POST", "/v1/gates".into(), admin.to_vec(), r#"{"summary":"#),
        ("POST", "/v1/tokens".into(), admin.to_vec(), r#"{"name":"visible-admin","role":"viewer"}"#),
        ("GET", "/v1/tokens".into(), admin.to_vec(), ""),
        ("GET", format!("/v1/gates/{id}"), admin.to_vec(), ""),
        ("GET", format!("/v1/gates/{id}"), vec![("authorization", as_eve.as_str())], ""),
        ("GET", "/v1/gates".into(), vec![], ""),
        ("GET", format!("/v1/gates?token={in_query}"), vec![], ""),
        ("GET", format!("/v1/gates?token={in_query}"), admin.to_vec(), ""),
        ("GET", format!("/v1/gates?access_token={in_query}&limit=1"), admin.to_vec(), ""),
        ("GET", format!("/v1/events?token={in_stream}"), admin.to_vec(), ""),
        ("GET", format!("/v1/ws?token={in_stream}"), admin.to_vec(), ""),
        ("GET", format!("/nowhere?token={in_query}"), admin.to_vec(), ""),
        ("GET", "/v1/gates".into(), vec![("authorization", basic.as_str())], ""),
        ("GET", "/v1/gates".into(), vec![("authorization", bearer.as_str())], ""),
        ("GET", "/v1/gates".into(), vec![("authorization", canary("a header that is no scheme"))], ""),
        ("GET", "/v1/audit?limit=500".into(), admin.to_vec(), ""),
        ("GET", "/v1/audit/verify".into(), admin.to_vec(), ""),
        ("GET", "/v1/halts".into(), admin.to_vec(), ""),
        ("GET", "/v1/clearance?agent_id=visible-agent".into(), agent.to_vec(), ""),
        ("GET", "/metrics".into(), vec![], ""),
        ("GET", "/readyz".into(), vec![], ""),
        ("GET", "/openapi.json".into(), vec![], ""),
        ("GET", "/docs/".into(), vec![], ""),
    ];
    for (method, path, headers, body) in requests {
        let answer = http::send(url, method, &path, &headers, body);
        assert!(answer.starts_with("HTTP/1.1 ") && !answer.starts_with("HTTP/1.1 5"), "{method} {path}: {answer}");
        // Not what was asked, but what was answered.
        let place = if path.contains("canary") { path.split('?').next().unwrap_or_default() } else { path.as_str() };
        collected.add(format!("{method} {place}"), answer);
    }
    for (name, value) in [("sec-websocket-protocol", protocols), ("authorization", as_agent.clone())] {
        let headers = upgrade(name, value);
        let headers: Headers<'_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let word = if name == "authorization" { "visible-title" } else { "unauthenticated" };
        collected.add(format!("a socket with {name}"), http::stream(url, "/v1/ws?after=0", &headers, word));
    }
    collected.add("GET /v1/events?after=0", http::stream(url, "/v1/events?after=0", &admin, "visible-title"));
    // Whoever is to be told of the gate was tried, and has answered.
    eventually("all channels were tried", || {
        let answer = http::send(url, "GET", "/v1/deliveries", &admin, "");
        (answer.matches("\"last_error\"").count() == 4).then(|| collected.add("GET /v1/deliveries", answer))
    });
    for path in ["/v1/webhooks", "/v1/notify/channels"] {
        collected.add(format!("GET {path}"), http::send(url, "GET", path, &admin, ""));
    }
    for channel in ["slack", "mail", "hook", "visible-hook"] {
        let body = format!(r#"{{"channel":"{channel}"}}"#);
        collected.add(format!("a test of {channel}"), http::send(url, "POST", "/v1/notify/test", &admin, &body));
    }
    collected.add("GET /metrics afterwards", http::send(url, "GET", "/metrics", &[], ""));
    [made, secret]
}

/// A mail server that repeats the login which it does not like.
fn mail_parrot() -> String {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let Ok(reader) = stream.try_clone() else { continue };
            let _ = stream.write_all(b"220 parrot\r\n");
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                let password = canary("the password of a mail server");
                let answer = match line.split(' ').next() {
                    Some("EHLO") => "250-parrot\r\n250 AUTH PLAIN\r\n".to_owned(),
                    Some("AUTH") => format!("535 wrong login: {line} with {password}\r\n"),
                    _ => "221 bye\r\n".to_owned(),
                };
                if stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    address
}

/// A provider that repeats the key which it does not like, as some do.
fn parrot() -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 16 * 1024];
            let read = stream.read(&mut request).unwrap_or(0);
            let head = String::from_utf8_lossy(&request[..read]).into_owned();
            let key = head.lines().find(|line| line.to_lowercase().starts_with("authorization"));
            // Of Slack, the address is what is secret.
            let key = key.or(head.lines().next()).unwrap_or_default();
            let body = format!(r#"{{"error":{{"message":"wrong key: {key}","code":"invalid_api_key"}}}}"#);
            let head = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close\r\n";
            let _ = stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes());
        }
    });
    url
}
