//! A node that is cut off from the database, and comes back when its runs are another's.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use folkmoot_core::run::RunEvent;
use folkmoot_engine::{Ctx, Engine, EngineSettings, TokioHost, WorkerSettings, Workflows};
use folkmoot_store::{AnyStore, Postgres};
use tokio::{
    net::{UnixListener, UnixStream},
    sync::watch,
};

use crate::moot::{agent, alice, empty_schema};

/// A way to the database that can be cut and mended.
struct Way {
    folder: tempfile::TempDir,
    open: watch::Sender<bool>,
}

impl Way {
    fn to(socket: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let open = watch::Sender::new(true);
        let is_open = open.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (mut is_open, socket) = (is_open.clone(), socket.clone());
                tokio::spawn(async move {
                    if !*is_open.borrow_and_update() {
                        return;
                    }
                    let (mut client, mut server) = (client, UnixStream::connect(&socket).await.unwrap());
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                        _ = is_open.wait_for(|open| !open) => {}
                    }
                });
            }
        });
        Self { folder, open }
    }
}

/// Whose step ends when it is told to; and notes who did it.
fn slow(name: &'static str, gate: &watch::Sender<bool>, done: &Arc<Mutex<Vec<&'static str>>>) -> Workflows {
    let (gate, done) = (gate.subscribe(), done.clone());
    let workflow = move |ctx: Ctx, (): ()| {
        let (gate, done) = (gate.clone(), done.clone());
        async move {
            ctx.step("work", move || {
                let (mut gate, done) = (gate.clone(), done.clone());
                async move {
                    gate.wait_for(|open| *open).await.unwrap();
                    done.lock().unwrap().push(name);
                    Ok(name.to_owned())
                }
            })
            .await
        }
    };
    Workflows::new().with("slow@1", workflow)
}

async fn node(database: &str, workflows: Workflows) -> Engine {
    let store = AnyStore::Postgres(Postgres::open(database, None).await.unwrap());
    let work = WorkerSettings { lease: Duration::from_millis(900), ..WorkerSettings::default() };
    Engine::start(store, EngineSettings { workflows, work, ..EngineSettings::default() }, Arc::new(TokioHost))
        .await
        .unwrap()
}

async fn until(what: &str, is: impl AsyncFn() -> bool) {
    for _ in 0..3000 {
        if is().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited in vain for {what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_was_cut_off_cannot_write_for_a_run_that_was_taken_over() {
    let Some(database) = empty_schema().await else { return };
    let host = database.split(' ').find_map(|part| part.strip_prefix("host=")).unwrap().to_owned();
    let way = Way::to(PathBuf::from(&host).join(".s.PGSQL.5432"));
    let through = database.replace(&format!("host={host}"), &format!("host={}", way.folder.path().display()));
    let done = Arc::new(Mutex::new(Vec::new()));
    let (finish_a, finish_b) = (watch::Sender::new(false), watch::Sender::new(false));
    let a = node(&through, slow("a", &finish_a, &done)).await;
    let run = a.start_workflow(agent(), "slow@1", &()).await.unwrap().start.id;
    until("a to work", async || !a.steps_in_flight().is_empty()).await;
    way.open.send_replace(false);
    let b = node(&database, slow("b", &finish_b, &done)).await;
    until("b to take over", async || b.steps_in_flight() == [(run.clone(), "work".to_owned())]).await;
    // The step of a ends while a is cut off; then a can reach the database again, and b has not
    // finished yet.
    finish_a.send_replace(true);
    until("a to be done", async || *done.lock().unwrap() == ["a"]).await;
    way.open.send_replace(true);
    until("a to have let go", async || a.active_runs() == 0).await;
    let events = b.events_of_run(&alice(), &run, 0, 100).await.unwrap();
    let kinds: Vec<_> = events.iter().map(|event| event.fact.kind.as_ref()).collect();
    assert_eq!(kinds, ["run.started", "run.claimed", "run.resumed"], "a has written nothing more");
    assert!(
        matches!(RunEvent::read(&events[2].fact).unwrap(), RunEvent::Claimed { node, epoch: 2, .. } if node == *b.node())
    );
    finish_b.send_replace(true);
    let ended = b.wait_for_end(&alice(), &run, Duration::from_secs(20)).await.unwrap();
    assert_eq!(b.output(&ended).await.unwrap().as_deref(), Some("\"b\""));
    assert_eq!(*done.lock().unwrap(), ["a", "b"], "what was in flight was done once more");
}
