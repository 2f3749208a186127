use std::{collections::BTreeSet, time::Duration};

use folkmoot_core::{
    Delivery, Outcome, Timestamp,
    delivery::{DeliveryResult, DeliveryState, DeliveryStatus, RetryAdvice},
    gate::NewGate,
};
use folkmoot_store::{DeliveryQuery, Store, WaitingFor};
use futures_util::future::join_all;

use crate::support::*;

fn told(channels: &[&str]) -> NewGate {
    NewGate { notification_channels: channels.iter().map(ToString::to_string).collect(), ..new_gate() }
}

/// What is told, of which event, and whether that is the event at its position.
async fn story(store: &impl Store) -> Vec<(u64, String, String, String)> {
    let events = all_events(store).await;
    let tell = |delivery: Delivery| {
        let event = &events[delivery.position as usize - 1];
        assert_eq!((&*delivery.subject, &*delivery.kind), (&*event.fact.stream, &*event.fact.kind), "{delivery:?}");
        (delivery.position, delivery.channel, delivery.subject, delivery.kind)
    };
    deliveries(store).await.into_iter().map(tell).collect()
}

pub(crate) async fn each_delivery_tells_of_its_own_event(store: &impl Store) {
    let (wants_all, wants_gates) = (("all", "*"), ("gates", "gate.*"));
    let of_run = NewGate { run_id: Some("run-1".parse().unwrap()), ..told(&["gates", "mail"]) };
    let id = of_run.id.clone();
    // One commit with two events, among others in the same batch.
    let commands = [
        open(agent("agent-a"), new_gate()),
        heard_by(open(agent("agent-a"), of_run), &[wants_all, wants_gates]),
        heard_by(approve(&id, "alice"), &[wants_all]),
    ];
    join_all(commands.map(|command| store.execute(command))).await.into_iter().for_each(|done| drop(done.unwrap()));
    let (run, gate) = ("run:run-1".to_owned(), id.to_string());
    let expected = [
        (2, "all", &run, "run.started"),
        (3, "all", &gate, "gate.opened"),
        (3, "gates", &gate, "gate.opened"),
        (3, "mail", &gate, "gate.opened"),
        (4, "all", &gate, "gate.decided"),
        (4, "gates", &gate, "gate.decided"),
        (4, "mail", &gate, "gate.decided"),
    ];
    let expected =
        expected.map(|(n, channel, subject, kind)| (n, channel.to_owned(), subject.clone(), kind.to_owned()));
    assert_eq!(story(store).await, expected);
    let ids: BTreeSet<_> = deliveries(store).await.into_iter().map(|delivery| delivery.id).collect();
    assert_eq!(ids.len(), expected.len(), "each has an id of its own");
    assert_sound(store).await;
}

pub(crate) async fn a_delivery_reads_back_through_its_whole_life(world: &World<impl Place>) {
    let store = &*world.store;
    opened(store, told(&["Ärger mit '\";--"])).await;
    let channel = "Ärger mit '\";--";
    let read = async |id| store.delivery(id).await.unwrap().unwrap();
    let [waiting] = <[Delivery; 1]>::try_from(deliveries(store).await).unwrap();
    assert_eq!((waiting.state, waiting.attempts), (DeliveryState::Waiting { due: noon() }, 0));
    let [sending] = <[Delivery; 1]>::try_from(deliveries_of(store.execute(take(channel, 9)).await)).unwrap();
    assert_eq!(sending, Delivery { attempts: 1, epoch: 1, state: sending.state, ..waiting.clone() });
    assert_eq!(
        (sending.state, read(&waiting.id).await),
        (DeliveryState::Sending { until: noon().plus(LEASE) }, sending.clone())
    );
    let failed = fails("503\u{0} of \"x\"", RetryAdvice::After(Duration::from_secs(600)));
    let failed = delivery_of(store.execute(settle(&sending, failed)).await);
    assert_eq!(failed.last_error.as_deref(), Some("503\u{fffd} of \"x\""));
    assert_eq!(
        (failed.state, read(&waiting.id).await),
        (DeliveryState::Waiting { due: noon().plus(minutes(10)) }, failed)
    );
    assert_eq!(deliveries_of(store.execute(take(channel, 9)).await), [], "not yet due");
    world.clock.advance(minutes(10));
    let [again] = <[Delivery; 1]>::try_from(deliveries_of(store.execute(take(channel, 9)).await)).unwrap();
    let dead = delivery_of(store.execute(settle(&again, fails("410", RetryAdvice::Never))).await);
    assert_eq!((dead.status(), dead.attempts, read(&waiting.id).await), (DeliveryStatus::Dead, 2, dead.clone()));
    let resent = delivery_of(store.execute(redeliver(&dead.id)).await);
    assert_eq!((resent.status(), resent.attempts, resent.epoch), (DeliveryStatus::Waiting, 0, 2));
    let [last] = <[Delivery; 1]>::try_from(deliveries_of(store.execute(take(channel, 9)).await)).unwrap();
    let delivered = delivery_of(store.execute(settle(&last, DeliveryResult::Delivered)).await);
    assert_eq!((delivered.status(), read(&waiting.id).await), (DeliveryStatus::Delivered, delivered.clone()));
    let log = assert_sound(store).await;
    let of_it = log.iter().filter(|event| *event.fact.stream == *delivered.stream());
    let said: Vec<_> = of_it.map(|event| (event.fact.stream_seq, event.fact.kind.to_string())).collect();
    assert_eq!(said, [(1, "delivery.died".to_owned()), (2, "delivery.resent".to_owned())]);
    let unknown = "dlv-9-0-0".parse().unwrap();
    assert_eq!(refusal_of(store.execute(redeliver(&unknown)).await).code(), "unknown_delivery");
    assert_eq!(store.delivery(&unknown).await, Ok(None));
}

pub(crate) async fn of_many_takers_at_once_one_gets_each_delivery(world: &World<impl Place>) {
    let store = &*world.store;
    join_all((0..20).map(|_| opened(store, told(&["ops", "mail"])))).await;
    let takers = join_all((0..16).map(|_| store.execute(take("ops", 3)))).await;
    let taken: Vec<Delivery> = takers.into_iter().flat_map(deliveries_of).collect();
    let ids: BTreeSet<_> = taken.iter().map(|delivery| &delivery.id).collect();
    assert_eq!((taken.len(), ids.len()), (20, 20), "all of them, each once");
    assert!(taken.iter().all(|delivery| delivery.channel == "ops" && delivery.attempts == 1));
    // After the lease they are anybody's again, under the same ids.
    world.clock.advance(LEASE);
    let again = deliveries_of(store.execute(take("ops", 100)).await);
    assert_eq!(again.iter().map(|delivery| &delivery.id).collect::<BTreeSet<_>>(), ids);
    assert!(again.iter().all(|delivery| delivery.attempts == 2));
    // Whoever lost the lease has nothing to say; whoever has it does.
    for (lost, has) in taken.iter().map(|lost| (lost, again.iter().find(|has| has.id == lost.id).unwrap())) {
        let lost = settle(lost, fails("too late", RetryAdvice::Never));
        let (lost, told) =
            tokio::join!(biased; store.execute(lost), store.execute(settle(has, DeliveryResult::Delivered)));
        assert_eq!(lost, Ok(Outcome::Nothing));
        assert_eq!(delivery_of(told).status(), DeliveryStatus::Delivered);
    }
    assert_eq!(store.count_deliveries(DeliveryStatus::Delivered).await, Ok(20));
    assert_eq!(store.count_deliveries(DeliveryStatus::Waiting).await, Ok(20));
    assert_sound(store).await;
}

pub(crate) async fn what_waits_is_known_by_channel_with_when_the_first_is_due(world: &World<impl Place>) {
    let store = &*world.store;
    assert_eq!(store.waiting("", 10).await, Ok(vec![]));
    for _ in 0..3 {
        opened(store, told(&["b", "a", "c", "ä"])).await;
        world.clock.advance(minutes(1));
    }
    let waits = |channel: &str, due: Timestamp| WaitingFor { channel: channel.to_owned(), due };
    let all = ["a", "b", "c", "ä"].map(|channel| waits(channel, noon()));
    assert_eq!(store.waiting("", 10).await, Ok(all.to_vec()));
    assert_eq!(store.waiting("", 2).await, Ok(all[..2].to_vec()));
    assert_eq!(store.waiting("b", 2).await, Ok(all[2..].to_vec()));
    assert_eq!(store.waiting("ä", 2).await, Ok(vec![]));
    let taken = deliveries_of(store.execute(take("b", 2)).await);
    store.execute(settle(&taken[0], DeliveryResult::Delivered)).await.unwrap();
    let until = noon().plus(minutes(3)).plus(LEASE);
    assert_eq!(store.waiting("", 10).await.unwrap()[1], waits("b", noon().plus(minutes(2))), "the third");
    let third = deliveries_of(store.execute(take("b", 2)).await);
    assert_eq!(store.waiting("", 10).await.unwrap()[1], waits("b", until), "the second, when its lease is over");
    store.execute(settle(&taken[1], DeliveryResult::Delivered)).await.unwrap();
    store.execute(settle(&third[0], DeliveryResult::Delivered)).await.unwrap();
    assert_eq!(store.waiting("", 10).await, Ok([&all[..1], &all[2..]].concat()));
}

pub(crate) async fn what_waits_for_a_channel_that_is_none_dies(store: &impl Store) {
    join_all((0..300).map(|_| opened(store, told(&["nowhere"])))).await;
    opened(store, told(&["ops"])).await;
    let under_way = deliveries_of(store.execute(take("nowhere", 1)).await);
    assert_eq!(deliveries_of(store.execute(abandon("nowhere")).await).len(), 256, "as many as die at once");
    assert_eq!(deliveries_of(store.execute(abandon("nowhere")).await).len(), 43, "but for the one under way");
    assert_eq!(deliveries_of(store.execute(abandon("nowhere")).await), []);
    assert_eq!(
        delivery_of(store.execute(settle(&under_way[0], DeliveryResult::Delivered)).await).status(),
        DeliveryStatus::Delivered
    );
    assert_eq!(store.count_deliveries(DeliveryStatus::Dead).await, Ok(299));
    let waiting: Vec<_> = store.waiting("", 10).await.unwrap().into_iter().map(|waiting| waiting.channel).collect();
    assert_eq!(waiting, ["ops"]);
    let died = assert_sound(store).await.iter().filter(|event| event.fact.kind == "delivery.died").count();
    assert_eq!(died, 299);
}

pub(crate) async fn what_waits_for_many_channels_that_are_none_dies_together(store: &impl Store) {
    let names: Vec<String> = (0..256).map(|n| format!("nowhere-{n}")).collect();
    let sixteen = |names: &[String]| NewGate { notification_channels: names.to_vec(), ..new_gate() };
    join_all(names.chunks(16).map(|names| opened(store, sixteen(names)))).await;
    opened(store, sixteen(&names[..16])).await;
    opened(store, told(&["ops"])).await;
    let died = deliveries_of(store.execute(abandon_all(&names)).await);
    let reasons: BTreeSet<_> = died.iter().map(|delivery| delivery.last_error.clone().unwrap()).collect();
    assert_eq!(
        reasons,
        names.iter().map(|name| format!("no {name}")).collect(),
        "one to each, each for its own reason"
    );
    assert_eq!(died.len(), 256);
    assert_eq!(deliveries_of(store.execute(abandon_all(&names)).await).len(), 16, "those that were told twice");
    assert_eq!(deliveries_of(store.execute(abandon_all(&names)).await), []);
    assert_eq!(deliveries_of(store.execute(take("ops", 1)).await).len(), 1, "the rest waits");
    let died = assert_sound(store).await.iter().filter(|event| event.fact.kind == "delivery.died").count();
    assert_eq!(died, 272);
}

pub(crate) async fn paging_visits_every_delivery_once(world: &World<impl Place>) {
    let store = &*world.store;
    for n in 0..25 {
        opened(store, told(&["ops", "mail"])).await;
        if n % 3 == 0 {
            world.clock.advance(minutes(1));
        }
    }
    let dead = deliveries_of(store.execute(take("mail", 5)).await);
    for delivery in &dead {
        store.execute(settle(delivery, fails("no", RetryAdvice::Never))).await.unwrap();
    }
    let count = async |query: DeliveryQuery| {
        let (mut after, mut found) = (None, Vec::new());
        loop {
            let page = store.deliveries(DeliveryQuery { after, limit: 7, ..query.clone() }).await.unwrap();
            assert!(page.items.len() <= 7);
            found.extend(page.items.into_iter().map(|delivery| (delivery.created_at, delivery.id)));
            after = page.next.map(|next| next.to_string().parse().unwrap());
            if after.is_none() {
                assert!(found.is_sorted_by(|a, b| a > b), "newest first, each once");
                return found.len();
            }
        }
    };
    let (status, channel) = (Some(DeliveryStatus::Dead), Some("mail".to_owned()));
    assert_eq!(count(DeliveryQuery::default()).await, 50);
    assert_eq!(count(DeliveryQuery { channel: channel.clone(), ..DeliveryQuery::default() }).await, 25);
    assert_eq!(count(DeliveryQuery { status, ..DeliveryQuery::default() }).await, 5);
    let waiting = Some(DeliveryStatus::Waiting);
    assert_eq!(count(DeliveryQuery { status: waiting, channel, ..DeliveryQuery::default() }).await, 20);
}

/// A node that dies between sending and saying so.
pub(crate) async fn deliveries_survive_a_restart_and_are_sent_again_under_the_same_id(world: World<impl Place>) {
    opened(world.store(), told(&["ops", "mail"])).await;
    let [sent] = <[Delivery; 1]>::try_from(deliveries_of(world.store.execute(take("ops", 1)).await)).unwrap();
    let before = deliveries(world.store()).await;
    let world = world.reopened().await;
    let store = world.store();
    assert_eq!(deliveries(store).await, before);
    assert_eq!(deliveries_of(store.execute(take("ops", 1)).await), [], "its lease stands");
    world.clock.advance(LEASE);
    let [again] = <[Delivery; 1]>::try_from(deliveries_of(store.execute(take("ops", 1)).await)).unwrap();
    assert_eq!((&again.id, again.attempts, again.epoch), (&sent.id, 2, 2));
}
