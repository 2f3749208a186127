//! A PostgreSQL that acknowledges before it has written, unless it is told otherwise.

use folkmoot_store::{Postgres, Store};

use crate::support::*;

/// A pooler gives each transaction another session. Here the session itself is changed, behind the
/// writer's back, at the end of each of its transactions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_transaction_says_for_itself_that_its_commit_is_waited_for() {
    let Some(place) = InPostgres::new().await else { return };
    let store = Postgres::open(&place.url, None).await.unwrap();
    place.sql("CREATE TABLE seen (setting text)").await;
    place
        .sql(
            "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
               INSERT INTO seen VALUES (current_setting('synchronous_commit'));
               PERFORM set_config('synchronous_commit', 'off', false);
               RETURN NULL;
             END $$",
        )
        .await;
    place
        .sql(
            "CREATE CONSTRAINT TRIGGER note AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION note()",
        )
        .await;
    for _ in 0..5 {
        store.execute(open(agent("agent-a"), new_gate())).await.unwrap();
    }
    let seen = place.sql("SELECT setting FROM seen").await;
    assert_eq!(seen, vec![vec!["on".to_owned()]; 5]);
}
