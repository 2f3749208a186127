//! The server's own verb.

use super::{Desk, Terminal};
use crate::server::{Server, folkmoot, signal};

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
    let approved = super::run(folkmoot(&path).args(["approve"]));
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
