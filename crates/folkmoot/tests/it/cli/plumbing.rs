//! What is said of a wrong token, address or folder: what was given, and what to do.

use super::{Desk, run};
use crate::server::{Server, folkmoot};

#[test]
fn a_token_that_is_not_known_is_said_to_be_so_and_where_it_came_from() {
    let desk = Desk::new();
    let flag = desk.run(&["--token", "wrong", "status"]);
    assert_eq!(flag.code, 1, "{flag:?}");
    assert!(flag.stderr.contains("does not know the token given with --token"), "{flag:?}");
    let variable = run(folkmoot(desk.path()).arg("status").env("FOLKMOOT_TOKEN", "wrong"));
    assert!(variable.stderr.contains("does not know the token in FOLKMOOT_TOKEN"), "{variable:?}");
    let json = run(folkmoot(desk.path()).args(["--json", "status"]).env("FOLKMOOT_TOKEN", "wrong"));
    assert!(json.stderr.contains("\"unauthenticated\"") && json.stderr.contains("FOLKMOOT_TOKEN"), "{json:?}");
}

#[test]
fn an_address_of_this_machine_needs_no_http() {
    let server = Server::start();
    let bare = server.url.trim_start_matches("http://");
    let found = run(folkmoot(server.data.path()).args(["--url", bare, "status"]));
    assert_eq!(found.code, 0, "{found:?}");
    let elsewhere = run(folkmoot(server.data.path()).args(["--url", "example.org:7400", "--token", "x", "status"]));
    assert!(elsewhere.stderr.contains("write https://example.org:7400"), "{elsewhere:?}");
}

#[test]
fn https_to_a_server_that_speaks_http_is_said_to_be_so() {
    let server = Server::start();
    let url = server.url.replace("http://", "https://");
    let failed = run(folkmoot(server.data.path()).args(["--url", &url, "--token", "x", "status"]));
    assert_eq!((failed.code, failed.stderr.contains("does not speak TLS; write http://")), (1, true), "{failed:?}");
}

#[test]
fn a_data_folder_that_is_a_file_is_named_as_it_was_given() {
    let desk = Desk::new();
    let file = desk.path().join("file");
    std::fs::write(&file, "").unwrap();
    for given in [file.clone(), file.join("below")] {
        let refused = run(folkmoot(&given).arg("status"));
        let said = format!("{} cannot be the data folder, because {} is no folder", given.display(), file.display());
        assert_eq!((refused.code, refused.stderr.contains(&said)), (1, true), "{refused:?}");
    }
}
