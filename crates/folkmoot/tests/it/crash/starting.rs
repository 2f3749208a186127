//! Killed before it is ready, again and again: half a first start is no obstacle to the next.

use std::time::Duration;

use folkmoot_api::wire::OpenGate;
use futures_util::future::join_all;

use super::{postgres, process::Home, random::Random};
use crate::server::{ALICE, ROBOT};

const KILLS: u64 = 15;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_while_it_starts_can_be_started() {
    let mut random = Random::seeded("starting");
    let mut places = vec![None];
    places.extend(postgres::schema().await.map(Some));
    for database in places {
        let home = database.map_or_else(Home::new, |database| Home::on(&database));
        for _ in 0..KILLS {
            home.start_and_kill(Duration::from_millis(random.below(120))).await;
        }
        let server = home.start().await;
        let open = OpenGate { summary: "Deploy".to_owned(), ..OpenGate::default() };
        server.client(ROBOT).open_gate(&open, None).await.expect("it works");
        // The owner's tokens were made once, and both are known.
        let tokens = std::fs::read(home.data().join("tokens.json")).expect("tokens");
        let tokens: serde_json::Value = serde_json::from_slice(&tokens).expect("JSON");
        let you = server.client(tokens["you"]["token"].as_str().expect("a token"));
        let verified = you.verify().await.expect("it can be verified");
        assert!(verified.ok, "{:?}", verified.problems);
        server.client(ALICE).gates(&Default::default()).await.expect("she is known");
        server
            .client(tokens["agent"]["token"].as_str().expect("a token"))
            .gates(&Default::default())
            .await
            .expect("known");
    }
}

/// As a service manager starts them: all with the same tokens, on a database that has no table yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_at_the_same_moment_all_start() {
    for _ in 0..2 {
        let Some(database) = postgres::schema().await else { return };
        let homes = [(); 4].map(|()| Home::on(&database));
        for server in join_all(homes.iter().map(Home::start)).await {
            server.client(ALICE).gates(&Default::default()).await.expect("she is known");
        }
    }
}
