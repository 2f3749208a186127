use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{
    Action, Command, Delivery, GateStatus, Name, Role,
    delivery::{self, DeliveryStatus, Subscription},
    gate::Gate,
    webhook::{NewWebhook, WebhookChange},
};
use folkmoot_engine::{
    Courier, CourierFailure, CourierMessage, DeliveryQuery, Engine, EngineSettings, OpenRequest, TokioHost,
};
use folkmoot_store::{AnyStore, ManualClock, Postgres, Sqlite, Witness};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::{Notify, Semaphore, mpsc};

use crate::moot::{Moot, agent, alice, empty_schema, principal};

type Sent = BoxFuture<'static, Result<(), CourierFailure>>;

/// Keeps what it was given, and says what it is told to say.
struct Carrier {
    given: mpsc::UnboundedSender<CourierMessage>,
    say: Box<dyn Fn(&CourierMessage) -> Sent + Send + Sync>,
}

impl fmt::Debug for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Carrier")
    }
}

impl Courier for Carrier {
    fn deliver(&self, letter: CourierMessage) -> Sent {
        let sent = (self.say)(&letter);
        let _ = self.given.send(letter);
        sent
    }
}

type Given = mpsc::UnboundedReceiver<CourierMessage>;

fn carrier(say: impl Fn(&CourierMessage) -> Sent + Send + Sync + 'static) -> (Arc<Carrier>, Given) {
    let (given, letters) = mpsc::unbounded_channel();
    (Arc::new(Carrier { given, say: Box::new(say) }), letters)
}

/// A carrier that delivers everything.
fn reliable() -> (Arc<Carrier>, Given) {
    carrier(|_| async { Ok(()) }.boxed())
}

fn settings(courier: Arc<Carrier>, channels: &[(&str, &[&str])]) -> EngineSettings {
    let subscription = |(channel, events): &(&str, &[&str])| Subscription {
        channel: (*channel).to_owned(),
        events: events.iter().map(|event| event.parse().unwrap()).collect(),
    };
    let channels = channels.iter().map(subscription).collect();
    EngineSettings { courier: Some(courier), channels, ..EngineSettings::default() }
}

async fn next(letters: &mut Given) -> CourierMessage {
    tokio::time::timeout(Duration::from_secs(120), letters.recv()).await.expect("somebody is told").unwrap()
}

fn telling(moot: &Moot, channels: &[&str], timeout: Option<Duration>) -> OpenRequest {
    let mut request = moot.request("merge", timeout);
    request.new_gate.notification_channels = channels.iter().map(ToString::to_string).collect();
    request
}

async fn open(moot: &Moot, channels: &[&str]) -> Gate {
    moot.engine.open(agent().into(), telling(moot, channels, None)).await.unwrap().gate
}

fn root() -> folkmoot_core::Principal {
    principal("root", Role::Admin)
}

fn hook(engine: &Engine, name: &str) -> NewWebhook {
    let (id, name, key) = (engine.new_webhook_id(), name.parse::<Name>().unwrap(), "key-1".parse().unwrap());
    NewWebhook { id, name, url: "https://example.com/secret-path".to_owned(), events: None, key }
}

async fn deliveries(engine: &Engine) -> Vec<Delivery> {
    engine.deliveries(&root(), DeliveryQuery { limit: 1000, ..DeliveryQuery::default() }).await.unwrap().items
}

/// Waits until so many deliveries have this status.
async fn until(engine: &Engine, status: DeliveryStatus, count: usize) -> Vec<Delivery> {
    for _ in 0..500 {
        let query = DeliveryQuery { status: Some(status), limit: 1000, ..DeliveryQuery::default() };
        let found = engine.deliveries(&root(), query).await.unwrap().items;
        if found.len() == count {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never were {count} of them {status}: {:#?}", deliveries(engine).await);
}

#[tokio::test]
async fn a_channel_that_a_gate_names_is_told_of_it() {
    let (courier, mut letters) = reliable();
    let moot = Moot::with(settings(courier, &[("ops", &[])])).await;
    let gate = open(&moot, &["ops"]).await;
    let letter = next(&mut letters).await;
    assert_eq!((&*letter.delivery.channel, &*letter.event.fact.kind), ("ops", "gate.opened"));
    assert_eq!(letter.gate.map(|view| (view.gate, view.summary)), Some((gate.clone(), Some("may I?".to_owned()))));
    assert_eq!((letter.webhook, letter.question), (None, None));
    moot.approve(&gate).await.unwrap();
    assert_eq!(&*next(&mut letters).await.event.fact.kind, "gate.decided");
    let delivered = until(&moot.engine, DeliveryStatus::Delivered, 2).await;
    assert!(delivered.iter().all(|delivery| delivery.attempts == 1), "{delivered:?}");
}

#[tokio::test]
async fn a_webhook_is_told_what_it_wants_from_its_making_until_it_is_disabled() {
    let (courier, mut letters) = reliable();
    let moot = Moot::with(settings(courier, &[])).await;
    let engine = &moot.engine;
    let unheard = moot.open(None).await;
    let hook = hook(engine, "hook");
    let refused = engine.create_webhook(alice().into(), hook.clone()).await.unwrap_err();
    assert_eq!(refused.refusal().unwrap().code(), "role_may_not");
    let webhook = engine.create_webhook(root().into(), hook.clone()).await.unwrap();
    assert_eq!(engine.webhooks(&root()).await.unwrap(), std::slice::from_ref(&webhook));
    let gate = moot.open(None).await;
    let letter = next(&mut letters).await;
    assert_eq!((letter.webhook.as_ref(), &*letter.delivery.subject), (Some(&webhook), gate.id.as_str()));
    let change = WebhookChange { disabled: Some(true), ..WebhookChange::of(webhook.id.clone()) };
    engine.change_webhook(root().into(), change).await.unwrap();
    moot.approve(&gate).await.unwrap();
    // It is not told what it wants, and what names it dies; the rest goes on.
    open(&moot, &["hook"]).await;
    let died = until(engine, DeliveryStatus::Dead, 1).await;
    assert!(died[0].last_error.as_ref().unwrap().contains("disabled"), "{died:?}");
    let rotate = Some("key-1".parse().unwrap());
    let change = WebhookChange { disabled: Some(false), rotate, ..WebhookChange::of(webhook.id.clone()) };
    assert_eq!(engine.change_webhook(root().into(), change).await.unwrap().generation, 2);
    engine.redeliver(root().into(), died[0].id.clone()).await.unwrap();
    let letter = next(&mut letters).await;
    assert_eq!((letter.delivery.id, letter.webhook.map(|hook| hook.generation)), (died[0].id.clone(), Some(2)));
    engine.remove_webhook(root().into(), webhook.id.clone()).await.unwrap();
    assert_eq!(engine.webhook(&root(), &webhook.id).await.unwrap_err().refusal().unwrap().code(), "unknown_webhook");
    moot.approve(&unheard).await.unwrap();
    open(&moot, &["hook"]).await;
    let died = until(engine, DeliveryStatus::Dead, 1).await;
    assert!(died[0].last_error.as_ref().unwrap().contains("removed"), "{died:?}");
    assert_eq!(until(engine, DeliveryStatus::Delivered, 2).await.len(), deliveries(engine).await.len() - 1);
    assert!(letters.try_recv().is_err());
}

/// However it fails: it says so, it says that it always will, it never answers, or it falls over.
#[tokio::test]
async fn a_channel_that_fails_never_opens_or_closes_a_gate() {
    let (courier, mut letters) = carrier(|letter| match letter.delivery.channel.as_str() {
        "refuses" => async { Err(CourierFailure::never("410 Gone")) }.boxed(),
        "fails" => async { Err(CourierFailure::later("503 Service Unavailable")) }.boxed(),
        "hangs" => std::future::pending().boxed(),
        "panics" => async { panic!("a courier's bug") }.boxed(),
        _ => async { Ok(()) }.boxed(),
    });
    let channels = ["fails", "hangs", "panics", "refuses", "unknown", "works"];
    let configured: Vec<(&str, &[&str])> =
        channels.iter().filter(|name| **name != "unknown").map(|name| (*name, &["*"] as _)).collect();
    let moot = Moot::with(settings(courier, &configured)).await;
    let minute = Duration::from_secs(60);
    let decided = open(&moot, &channels).await;
    let waits = open(&moot, &channels).await;
    let late = moot.engine.open(agent().into(), telling(&moot, &channels, Some(minute))).await.unwrap().gate;
    let mut told = BTreeMap::new();
    for _ in 0..15 {
        *told.entry(next(&mut letters).await.delivery.channel).or_insert(0) += 1;
    }
    assert_eq!(
        told.into_iter().collect::<Vec<_>>(),
        configured.iter().map(|(c, _)| (c.to_string(), 3)).collect::<Vec<_>>()
    );
    until(&moot.engine, DeliveryStatus::Dead, 6).await;
    let status = async |gate: &Gate| moot.engine.gate(&alice(), &gate.id).await.unwrap().gate.status();
    assert_eq!([status(&decided).await, status(&waits).await, status(&late).await], [GateStatus::Pending; 3]);
    assert_eq!(moot.approve(&decided).await.unwrap().status(), GateStatus::Approved);
    moot.clock.advance(minute);
    while status(&late).await == GateStatus::Pending {
        moot.engine.fire_due().await.unwrap();
    }
    assert_eq!(
        [status(&decided).await, status(&waits).await, status(&late).await],
        [GateStatus::Approved, GateStatus::Pending, GateStatus::TimedOut]
    );
    assert_eq!(moot.engine.verify(&alice()).await.unwrap().problems, []);
}

#[tokio::test]
async fn what_failed_is_sent_again_under_the_same_id() {
    let tries = AtomicUsize::new(0);
    let (courier, mut letters) = carrier(move |_| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => async { Err(CourierFailure::later("connection refused")) }.boxed(),
        1 => async { Err(CourierFailure::after("429 Too Many Requests", Duration::from_secs(3600))) }.boxed(),
        _ => async { Ok(()) }.boxed(),
    });
    let moot = Moot::with(settings(courier, &[("ops", &[])])).await;
    let long = Some(Duration::from_secs(24 * 3600));
    moot.engine.open(agent().into(), telling(&moot, &["ops"], long)).await.unwrap();
    let first = next(&mut letters).await.delivery;
    until(&moot.engine, DeliveryStatus::Waiting, 1).await;
    moot.clock.advance(Duration::from_secs(10));
    let second = next(&mut letters).await.delivery;
    until(&moot.engine, DeliveryStatus::Waiting, 1).await;
    moot.clock.advance(Duration::from_secs(3599));
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert!(letters.try_recv().is_err(), "the receiver said when");
    moot.clock.advance(Duration::from_secs(1));
    let third = next(&mut letters).await.delivery;
    assert_eq!((&first.id, &first.id), (&second.id, &third.id));
    assert_eq!([first.attempts, second.attempts, third.attempts], [1, 2, 3]);
    let delivered = until(&moot.engine, DeliveryStatus::Delivered, 1).await;
    assert_eq!(delivered[0].last_error.as_deref(), Some("429 Too Many Requests"));
}

#[tokio::test]
async fn a_channel_that_nobody_knows_is_said_to_be_none_and_what_to_do() {
    let (courier, mut letters) = reliable();
    let moot = Moot::with(settings(courier, &[("ops", &[])])).await;
    open(&moot, &["nobody", "ops"]).await;
    let dead = until(&moot.engine, DeliveryStatus::Dead, 1).await;
    let why = dead[0].last_error.as_deref().unwrap();
    assert!(why.contains("\"nobody\"") && why.contains("make a webhook") && why.contains("configure"), "{why}");
    assert_eq!(next(&mut letters).await.delivery.channel, "ops");
    let (_, events) = moot.engine.events(&alice(), 0, 100, None).await.unwrap();
    assert!(events.iter().any(|event| event.fact.kind == "delivery.died" && event.fact.payload.contains("nobody")));
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_holds_up_nobody_else() {
    static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
    let (courier, mut letters) = carrier(|letter| match letter.delivery.channel.as_str() {
        "dead" => {
            UNDER_WAY.fetch_add(1, Ordering::SeqCst);
            std::future::pending().boxed()
        }
        _ => async { Ok(()) }.boxed(),
    });
    let moot = Moot::with(settings(courier, &[("dead", &[]), ("ops", &[])])).await;
    for _ in 0..20 {
        open(&moot, &["dead", "ops"]).await;
    }
    until(&moot.engine, DeliveryStatus::Delivered, 20).await;
    assert_eq!(UNDER_WAY.load(Ordering::SeqCst), 4, "of one channel at once");
    for _ in 0..24 {
        next(&mut letters).await;
    }
    assert!(letters.try_recv().is_err());
}

#[tokio::test]
async fn sixteen_receivers_that_do_not_answer_do_not_starve_whoever_comes_later_in_the_list() {
    let answers = Arc::new(Semaphore::new(0));
    let given_up = answers.clone();
    let (courier, mut letters) = carrier(move |letter| match letter.delivery.channel.as_str() {
        "works" => async { Ok(()) }.boxed(),
        _ => {
            let given_up = given_up.clone();
            async move {
                given_up.acquire().await.unwrap().forget();
                Err(CourierFailure::later("there was no answer"))
            }
            .boxed()
        }
    });
    let names: Vec<String> = ('a'..='p').map(|name| format!("hangs-{name}")).collect();
    let hang: Vec<&str> = names.iter().map(String::as_str).collect();
    let configured: Vec<(&str, &[&str])> = hang.iter().chain(&["works"]).map(|name| (*name, &[] as _)).collect();
    let moot = Moot::with(settings(courier, &configured)).await;
    // Each of them has more to be told whenever it gives up.
    for _ in 0..4 {
        open(&moot, &hang).await;
    }
    for _ in 0..16 {
        assert!(next(&mut letters).await.delivery.channel.starts_with("hangs"));
    }
    open(&moot, &["works"]).await;
    assert!(letters.try_recv().is_err(), "every place is taken");
    answers.add_permits(1);
    assert_eq!(next(&mut letters).await.delivery.channel, "works");
}

#[tokio::test]
async fn without_a_courier_messages_wait_and_the_next_start_sends_them() {
    let moot = Moot::start().await;
    open(&moot, &["ops"]).await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    until(&moot.engine, DeliveryStatus::Waiting, 1).await;
    let (courier, mut letters) = reliable();
    let moot = moot.restart_with(settings(courier, &[("ops", &[])])).await;
    assert_eq!(&*next(&mut letters).await.event.fact.kind, "gate.opened");
    until(&moot.engine, DeliveryStatus::Delivered, 1).await;
}

#[tokio::test]
async fn the_end_of_the_engine_waits_for_what_is_under_way() {
    let (courier, mut letters) = carrier(|_| {
        async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            Ok(())
        }
        .boxed()
    });
    let moot = Moot::with(settings(courier, &[("ops", &[])])).await;
    open(&moot, &["ops"]).await;
    next(&mut letters).await;
    let moot = moot.restart_with(EngineSettings::default()).await;
    until(&moot.engine, DeliveryStatus::Delivered, 1).await;
}

/// Ends the engine in the moment in which something is taken to be sent.
#[derive(Debug, Default)]
struct EndsAtTaking(Mutex<Option<(Engine, Arc<Notify>)>>);

impl Witness for EndsAtTaking {
    fn before(&self, command: &Command) -> bool {
        if matches!(command.action, Action::Delivery(delivery::Action::Take { .. }))
            && let Some((engine, ended)) = self.0.lock().unwrap().take()
        {
            tokio::spawn(async move {
                engine.close().await;
                ended.notify_one();
            });
        }
        true
    }
    fn after(&self, _: &Command) -> bool {
        true
    }
}

#[tokio::test]
async fn what_is_taken_while_the_engine_ends_is_still_sent() {
    let moot = Moot::start().await;
    let data = tempfile::tempdir().unwrap();
    let file = || Sqlite::open(&data.path().join("folkmoot.db"), moot.clock.clone()).unwrap();
    let (witness, ended) = (Arc::new(EndsAtTaking::default()), Arc::new(Notify::new()));
    let (courier, mut letters) = reliable();
    let settings = settings(courier, &[("ops", &[])]);
    let store = AnyStore::Sqlite(file().witnessed(witness.clone()));
    let engine = Engine::start(store, settings, Arc::new(TokioHost)).await.unwrap();
    *witness.0.lock().unwrap() = Some((engine.clone(), ended.clone()));
    engine.open(agent().into(), telling(&moot, &["ops"], None)).await.unwrap();
    tokio::time::timeout(Duration::from_secs(120), ended.notified()).await.expect("something is taken");
    assert_eq!(letters.try_recv().map(|letter| letter.delivery.attempts), Ok(1));
    let engine = Engine::start(AnyStore::Sqlite(file()), EngineSettings::default(), Arc::new(TokioHost)).await.unwrap();
    let [delivery] = <[Delivery; 1]>::try_from(deliveries(&engine).await).unwrap();
    assert_eq!((delivery.status(), delivery.attempts), (DeliveryStatus::Delivered, 1));
}

/// Counts the commands that let messages die.
#[derive(Debug, Default)]
struct CountsAbandonments(AtomicUsize);

impl Witness for CountsAbandonments {
    fn before(&self, command: &Command) -> bool {
        let abandons = matches!(command.action, Action::Delivery(delivery::Action::Abandon(_)));
        self.0.fetch_add(usize::from(abandons), Ordering::SeqCst);
        true
    }
    fn after(&self, _: &Command) -> bool {
        true
    }
}

#[tokio::test]
async fn names_that_somebody_made_up_die_many_in_one_command_and_hold_up_nobody() {
    let moot = Moot::start().await;
    let store = Sqlite::in_memory(moot.clock.clone()).unwrap();
    let witness = Arc::new(CountsAbandonments::default());
    let next_start = AnyStore::Sqlite(store.again().unwrap().witnessed(witness.clone()));
    let before = Engine::start(AnyStore::Sqlite(store), EngineSettings::default(), Arc::new(TokioHost)).await.unwrap();
    for gate in 0..20 {
        let names: Vec<String> = (0..16).map(|n| format!("made-up-{gate}-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        before.open(agent().into(), telling(&moot, &names, None)).await.unwrap();
    }
    before.open(agent().into(), telling(&moot, &["ops"], None)).await.unwrap();
    let (courier, mut letters) = reliable();
    let engine = Engine::start(next_start, settings(courier, &[("ops", &[])]), Arc::new(TokioHost)).await.unwrap();
    assert_eq!(next(&mut letters).await.delivery.channel, "ops");
    let dead = until(&engine, DeliveryStatus::Dead, 320).await;
    let its_own = |delivery: &Delivery| delivery.last_error.as_ref().unwrap().contains(&delivery.channel);
    assert!(dead.iter().all(its_own), "each is told its own name");
    let commands = witness.0.load(Ordering::SeqCst);
    assert!((2..10).contains(&commands), "{commands} commands for 320 names");
}

/// Dies in the moment in which it would say what came of an attempt.
#[derive(Debug, Default)]
struct DiesUnsettled(AtomicBool);

impl Witness for DiesUnsettled {
    fn before(&self, command: &Command) -> bool {
        self.0.fetch_or(matches!(command.action, Action::Delivery(delivery::Action::Settle(_))), Ordering::SeqCst);
        !self.0.load(Ordering::SeqCst)
    }
    fn after(&self, _: &Command) -> bool {
        true
    }
}

#[tokio::test]
async fn a_node_that_dies_between_sending_and_saying_so_leaves_it_to_another_under_the_same_id() {
    let moot = Moot::start().await;
    let clock: Arc<ManualClock> = moot.clock.clone();
    let store = Sqlite::in_memory(clock.clone()).unwrap();
    let survivor = store.again().unwrap();
    let (courier, mut letters) = reliable();
    let dying = AnyStore::Sqlite(store.witnessed(Arc::new(DiesUnsettled::default())));
    let dying =
        Engine::start(dying, settings(courier, &[("ops", &["gate.opened"])]), Arc::new(TokioHost)).await.unwrap();
    dying.open(agent().into(), moot.request("merge", None)).await.unwrap();
    let sent = next(&mut letters).await;
    let (courier, mut letters) = reliable();
    let settings = settings(courier, &[("ops", &["gate.opened"])]);
    let engine = Engine::start(AnyStore::Sqlite(survivor), settings, Arc::new(TokioHost)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert!(letters.try_recv().is_err(), "its lease stands");
    clock.advance(Duration::from_secs(60));
    let again = next(&mut letters).await;
    assert_eq!((&again.delivery.id, &again.event), (&sent.delivery.id, &sent.event));
    assert_eq!((sent.delivery.attempts, again.delivery.attempts), (1, 2));
    until(&engine, DeliveryStatus::Delivered, 1).await;
}

#[tokio::test]
async fn a_webhook_that_one_node_made_is_told_once_of_what_happens_on_another() {
    let Some(database) = empty_schema().await else { return };
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let node = async || {
        let told = told.clone();
        let (courier, _) = carrier(move |letter| {
            told.lock().unwrap().push(letter.delivery.id.to_string());
            async { Ok(()) }.boxed()
        });
        let store = AnyStore::Postgres(Postgres::open(&database, None).await.unwrap());
        Engine::start(store, settings(courier, &[]), Arc::new(TokioHost)).await.unwrap()
    };
    let (one, other) = (node().await, node().await);
    one.create_webhook(root().into(), hook(&one, "hook")).await.unwrap();
    // The other hears of it through the log.
    let reached = one.position().await.unwrap();
    while other.follow(&root(), reached - 1).await.unwrap().0 < reached {}
    tokio::time::sleep(Duration::from_millis(200)).await;
    let moot = Moot::start().await;
    for engine in [&other, &one].into_iter().cycle().take(30) {
        engine.open(agent().into(), moot.request("merge", None)).await.unwrap();
    }
    until(&one, DeliveryStatus::Delivered, 30).await;
    let mut ids = told.lock().unwrap().clone();
    ids.sort();
    let count = ids.len();
    ids.dedup();
    assert_eq!((count, ids.len()), (30, 30), "each once");
}

/// Nodes on one database, by one clock, each with settings of its own and what it was given to
/// carry.
async fn nodes(settings: Vec<(EngineSettings, Given)>) -> Option<(Vec<(Engine, Given)>, Arc<ManualClock>)> {
    let database = empty_schema().await?;
    let clock = Moot::start().await.clock;
    let mut nodes = Vec::new();
    for (settings, given) in settings {
        let store = AnyStore::Postgres(Postgres::open(&database, Some(clock.clone())).await.unwrap());
        nodes.push((Engine::start(store, settings, Arc::new(TokioHost)).await.unwrap(), given));
    }
    Some((nodes, clock))
}

/// A node that delivers everything to these channels, and signs with this key.
fn node(key: &str, channels: &[(&str, &[&str])]) -> (EngineSettings, Given) {
    let (courier, given) = reliable();
    (EngineSettings { key: Some(key.parse().unwrap()), ..settings(courier, channels) }, given)
}

/// Longer than a node waits before it looks again.
async fn every_node_has_looked() {
    tokio::time::sleep(Duration::from_millis(1300)).await;
}

#[tokio::test]
async fn each_node_tells_the_channels_that_it_knows_and_leaves_the_others_alone() {
    let settings = vec![node("key-1", &[("mail", &[])]), node("key-1", &[("slack", &[])])];
    let Some((mut nodes, clock)) = nodes(settings).await else { return };
    let moot = Moot::start().await;
    for (engine, _) in &nodes {
        engine.open(agent().into(), telling(&moot, &["mail", "slack"], None)).await.unwrap();
    }
    for (node, channel) in nodes.iter_mut().zip(["mail", "slack"]) {
        for _ in 0..2 {
            assert_eq!(next(&mut node.1).await.delivery.channel, channel);
        }
        assert!(node.1.try_recv().is_err(), "it has what is its own");
    }
    until(&nodes[0].0, DeliveryStatus::Delivered, 4).await;
    // What nobody knows waits for whoever may, and then says so.
    nodes[0].0.open(agent().into(), telling(&moot, &["nobody"], None)).await.unwrap();
    clock.advance(Duration::from_secs(59));
    every_node_has_looked().await;
    let waits = until(&nodes[0].0, DeliveryStatus::Waiting, 1).await;
    assert_eq!((waits[0].channel.as_str(), waits[0].attempts), ("nobody", 0));
    clock.advance(Duration::from_secs(1));
    let dead = until(&nodes[0].0, DeliveryStatus::Dead, 1).await;
    assert!(dead[0].last_error.as_ref().unwrap().contains("there is no channel \"nobody\""), "{dead:?}");
    assert_eq!(deliveries(&nodes[0].0).await.len(), 5);
}

#[tokio::test]
async fn a_webhook_is_told_by_the_nodes_that_have_the_key_of_its_secret() {
    let settings = vec![node("key-2", &[]), node("key-1", &[])];
    let Some((mut nodes, _)) = nodes(settings).await else { return };
    let moot = Moot::start().await;
    let webhook = nodes[1].0.create_webhook(root().into(), hook(&nodes[1].0, "hook")).await.unwrap();
    for n in [0, 1, 0, 1] {
        nodes[n].0.open(agent().into(), telling(&moot, &["hook"], None)).await.unwrap();
        assert_eq!(next(&mut nodes[1].1).await.webhook.as_ref(), Some(&webhook));
    }
    let delivered = until(&nodes[0].0, DeliveryStatus::Delivered, 4).await;
    assert!(delivered.iter().all(|delivery| delivery.attempts == 1), "{delivered:?}");
    let (_, mut given) = nodes.pop().unwrap();
    assert!(nodes[0].1.try_recv().is_err() && given.try_recv().is_err());
}

#[tokio::test]
async fn what_only_another_key_can_sign_waits_untried_until_there_is_one_or_the_secret_is_another() {
    let (courier, mut letters) = reliable();
    let settings = EngineSettings { key: Some("key-2".parse().unwrap()), ..settings(courier, &[("ops", &[])]) };
    let moot = Moot::with(settings).await;
    let engine = &moot.engine;
    let webhook = engine.create_webhook(root().into(), hook(engine, "hook")).await.unwrap();
    open(&moot, &["hook", "ops"]).await;
    assert_eq!(next(&mut letters).await.delivery.channel, "ops", "the rest goes on");
    moot.clock.advance(Duration::from_secs(20 * 60));
    every_node_has_looked().await;
    let waits = until(engine, DeliveryStatus::Waiting, 1).await;
    assert_eq!((waits[0].channel.as_str(), waits[0].attempts, waits[0].epoch), ("hook", 0, 0));
    assert!(letters.try_recv().is_err());
    let change = WebhookChange { rotate: Some("key-2".parse().unwrap()), ..WebhookChange::of(webhook.id) };
    let rotated = engine.change_webhook(root().into(), change).await.unwrap();
    let letter = next(&mut letters).await;
    assert_eq!((letter.delivery.id, letter.webhook), (waits[0].id.clone(), Some(rotated)));
}

#[tokio::test]
async fn only_admins_see_addresses_and_deliveries_and_the_feed_has_no_address() {
    let moot = Moot::start().await;
    let engine = &moot.engine;
    engine.create_webhook(root().into(), hook(engine, "hook")).await.unwrap();
    assert!(engine.webhooks(&root()).await.unwrap()[0].url.contains("secret-path"));
    let (_, events) = engine.events(&root(), 0, 100, None).await.unwrap();
    assert!(events[0].fact.payload.contains("example.com") && !events[0].fact.payload.contains("secret-path"));
    assert_eq!(engine.verify(&root()).await.unwrap().problems, []);
    for who in [alice(), agent(), principal("vera", Role::Viewer)] {
        let refused = [
            engine.webhooks(&who).await.map(drop).unwrap_err(),
            engine.deliveries(&who, DeliveryQuery::default()).await.map(drop).unwrap_err(),
            engine.delivery(&who, &"dlv-1-0-0".parse().unwrap()).await.map(drop).unwrap_err(),
            engine.redeliver(who.clone().into(), "dlv-1-0-0".parse().unwrap()).await.map(drop).unwrap_err(),
        ];
        assert!(refused.iter().all(|error| error.refusal().unwrap().code() == "role_may_not"), "{refused:?}");
    }
}
