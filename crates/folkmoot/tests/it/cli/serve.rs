//! The server's own verb.

use super::{Desk, Terminal};
use crate::server::{Server, folkmoot, folkmoot_with, signal};

#[test]
fn it_says_where_it_listens_and_how_to_go_on() {
    let desk = Desk::new();
    let mut serve = Terminal::new(folkmoot(desk.path()).args(["serve", "--listen", "127.0.0.1:0"]));
    let mut lines = serve.lines().map(Result::unwrap);
    let greeting: Vec<_> = lines.by_ref().take(8).collect();
    let said = greeting.join("\n");
    let server: serde_json::Value =
        serde_json::from_slice(&std::fs::read(desk.path().join("server.json")).unwrap()).unwrap();
    assert_eq!(greeting[0], format!("Folkmoot listens on {}", server["url"].as_str().unwrap()));
    assert!(said.contains(desk.path().to_str().unwrap()) && said.contains(" approve"), "{said}");
    signal(serve.pid(), "INT");
    let ended = serve.finish();
    assert_eq!((ended.code, ended.stderr.contains("has stopped")), (0, true), "{ended:?}");
    assert!(!desk.path().join("server.json").exists());
}

#[test]
fn gates_outlive_the_server_and_so_do_waiters_who_let_it_come_back() {
    let server = Server::start();
    let path = server.data.path().to_owned();
    let waiter = Terminal::new(folkmoot(&path).args(["gate", "open", "Deploy", "--wait"]));
    crate::server::eventually("the gate is there", || {
        super::run(folkmoot(&path).args(["gate", "list"])).stdout.contains("Deploy").then_some(())
    });
    // The waiter finds nobody now, and looks after its gate itself from time to time.
    let data = server.kill();
    std::thread::sleep(std::time::Duration::from_millis(400));
    let server = Server::start_in(data);
    let approved = super::run(&mut folkmoot_with(&path, &["approve"]));
    assert_eq!(approved.code, 0, "{approved:?}");
    assert_eq!(waiter.finish().code, 0);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn verbs_find_the_server_of_a_folder_whose_data_is_in_postgresql() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let Some(database) = runtime.block_on(crate::crash::postgres::schema()) else { return };
    let server = Server::start_with(tempfile::tempdir().unwrap(), |command| {
        command.args(["--database", &database]);
    });
    let opened = super::run(folkmoot(server.data.path()).args(["gate", "open", "Deploy"]));
    assert_eq!(opened.code, 0, "{opened:?}");
    assert!(super::run(folkmoot(server.data.path()).args(["gate", "list"])).stdout.contains("Deploy"));
    let (code, data) = server.terminate_and_keep();
    assert_eq!(code, Some(0));
    let alone = super::run(folkmoot(data.path()).args(["gate", "list"]));
    assert_eq!((alone.code, alone.stderr.contains("in a PostgreSQL, and no server runs")), (1, true), "{alone:?}");
    assert!(!data.path().join("folkmoot.db").exists(), "an empty SQLite would look as if all gates were gone");
    let told = super::run(folkmoot(data.path()).args(["gate", "list"]).env("FOLKMOOT_DATABASE", &database));
    assert_eq!((told.code, told.stdout.contains("Deploy")), (0, true), "{told:?}");
}

#[test]
fn a_configuration_that_is_not_right_is_refused() {
    let desk = Desk::new();
    let file = desk.path().join("wrong.toml");
    std::fs::write(&file, "[gates]\nnonsense = 1\n").unwrap();
    let ended = desk.run(&["serve", "--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()]);
    assert_eq!((ended.code, ended.stderr.contains("wrong.toml, line 2 is not right")), (1, true), "{ended:?}");
    let ended = desk.run(&["serve", "--listen", "127.0.0.1:0", "--config", "/nowhere.toml"]);
    assert_eq!((ended.code, ended.stderr.contains("/nowhere.toml cannot be read")), (1, true), "{ended:?}");
}

#[test]
fn a_verb_without_a_server_goes_by_the_configuration_and_the_key_that_serve_was_given() {
    let elsewhere = tempfile::tempdir().unwrap();
    let (config, key) = (elsewhere.path().join("team.toml"), elsewhere.path().join("team.key"));
    std::fs::write(&config, "[gates]\nquorum = 2\n").unwrap();
    std::fs::write(&key, "ab".repeat(32)).unwrap();
    let server = Server::start_with(tempfile::tempdir().unwrap(), |command| {
        // Relative to another folder than the verbs are called in.
        command.current_dir(elsewhere.path()).args(["--config", "team.toml"]).env("FOLKMOOT_KEY_FILE", "team.key");
    });
    let desk = Desk { data: server.terminate_and_keep().1 };
    let quorum = |desk: &Desk| {
        let gate = desk.say(&["gate", "open", "Deploy"]);
        desk.json(&["gate", "show", &gate])["quorum"].clone()
    };
    assert_eq!(quorum(&desk), 2);
    let pem = folkmoot_server::ServerKey::read(&key).unwrap().public().to_pem();
    assert_eq!(desk.say(&["audit", "key"]), pem.trim_end());
    assert!(!desk.path().join("server.key").exists(), "there is one key");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&desk.path().join("served.json").metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let findings = desk.json(&["doctor"])["findings"].to_string();
    assert!(findings.contains("team.key"), "{findings}");

    for (file, there) in [(&config, "team.toml"), (&key, "team.key")] {
        let away = elsewhere.path().join("away");
        std::fs::rename(file, &away).unwrap();
        let refused = desk.run(&["gate", "open", "Deploy"]);
        let says = refused.stderr.contains(there) && refused.stderr.contains("was last started with");
        assert_eq!((refused.code, says), (1, true), "{refused:?}");
        std::fs::rename(&away, file).unwrap();
    }
    assert_eq!(quorum(&desk), 2, "they are back");

    // Started without them it has the usual ones, and so have the verbs after it.
    let desk = Desk { data: Server::start_in(desk.data).terminate_and_keep().1 };
    assert_eq!(quorum(&desk), 1);
    assert_ne!(desk.say(&["audit", "key"]), pem.trim_end());
}

#[test]
fn what_a_killed_server_left_behind_is_gone_before_the_next_one_is_ready() {
    let server = Server::start();
    let data = server.kill();
    assert!(data.path().join("server.json").exists(), "a server that is killed cannot tidy up");
    // One that never becomes ready: there is no such database.
    let ended =
        super::run(folkmoot(data.path()).args(["serve", "--listen", "127.0.0.1:0", "--database", "host=/nowhere"]));
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(!data.path().join("server.json").exists(), "it would lead others to a server that is dead");
}
