use std::time::Duration;

use folkmoot_core::{
    GateStatus, Refusal, Timeout,
    gate::{NewGate, Risk},
    question::{NewQuestion, QuestionStatus, QuestionType},
    run,
};
use folkmoot_store::{Cursor, Error, GateQuery, GateView, QuestionQuery, Store};
use futures_util::future::join_all;

use crate::support::*;

fn inbox() -> GateQuery {
    GateQuery { status: Some(GateStatus::Pending), limit: 100, ..GateQuery::default() }
}

fn everything() -> GateQuery {
    GateQuery { limit: 100, ..GateQuery::default() }
}

async fn ids(store: &impl Store, query: GateQuery) -> Vec<String> {
    let page = store.gates(query).await.unwrap();
    page.items.into_iter().map(|view| view.gate.id.to_string()).collect()
}

/// Everything, page by page, with `meanwhile` between the pages.
async fn page_through(store: &impl Store, query: GateQuery, mut meanwhile: impl AsyncFnMut()) -> Vec<GateView> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = store.gates(GateQuery { after, ..query.clone() }).await.unwrap();
        assert!(page.items.len() <= query.limit as usize);
        assert!(page.next.is_none() || page.items.len() == query.limit as usize);
        all.extend(page.items);
        // As a client would carry it.
        after = page.next.map(|next| next.to_string().parse::<Cursor>().unwrap());
        if after.is_none() {
            return all;
        }
        meanwhile().await;
    }
}

pub(crate) async fn the_inbox_goes_by_risk_then_deadline_then_age(world: &World<impl Place>) {
    let store = &*world.store;
    let at = |id: &str, risk, timeout| NewGate { id: self::id(id), risk, timeout: Some(timeout), ..new_gate() };
    let late = Timeout::After(minutes(60));
    opened(store, at("g-low", Risk::Low, Timeout::After(minutes(1)))).await;
    opened(store, at("g-medium-never", Risk::Medium, Timeout::Never)).await;
    opened(store, at("g-medium-b", Risk::Medium, late)).await;
    opened(store, at("g-medium-a", Risk::Medium, late)).await;
    opened(store, at("g-high", Risk::High, late)).await;
    opened(store, at("g-critical", Risk::Critical, Timeout::Never)).await;
    world.clock.advance(minutes(1));
    // Asked later, with the same deadline.
    opened(store, at("g-medium-0-young", Risk::Medium, Timeout::After(minutes(59)))).await;
    opened(store, at("g-medium-soon", Risk::Medium, Timeout::After(minutes(2)))).await;
    let expected = [
        "g-critical",
        "g-high",
        "g-medium-soon",
        "g-medium-a",
        "g-medium-b",
        "g-medium-0-young",
        "g-medium-never",
        "g-low",
    ];
    assert_eq!(ids(store, inbox()).await, expected);
    let paged = page_through(store, GateQuery { limit: 1, ..inbox() }, async || ()).await;
    assert_eq!(paged.iter().map(|view| view.gate.id.as_str()).collect::<Vec<_>>(), expected);
    assert!(paged.iter().all(|view| view.summary.as_deref() == Some("Deploy 1.4.2 to production")));
    let amended = folkmoot_core::gate::Amendment { risk: Some(Risk::Critical), ..amendment(&id("g-medium-soon")) };
    store.execute(amend(amended, "agent-a")).await.unwrap();
    assert_eq!(ids(store, inbox()).await[..2], ["g-medium-soon", "g-critical"]);
}

pub(crate) async fn other_lists_are_newest_first(world: &World<impl Place>) {
    let store = &*world.store;
    let mut opened = Vec::new();
    for n in 0..6 {
        opened.push(an_open_gate(store).await.id);
        if n % 2 == 1 {
            world.clock.advance(Duration::from_micros(1));
        }
    }
    store.execute(approve(&opened[1], "alice")).await.unwrap();
    store.execute(approve(&opened[4], "alice")).await.unwrap();
    let newest: Vec<_> = opened.iter().rev().map(ToString::to_string).collect();
    assert_eq!(ids(store, everything()).await, newest);
    let approved = GateQuery { status: Some(GateStatus::Approved), ..everything() };
    assert_eq!(ids(store, approved).await, [opened[4].to_string(), opened[1].to_string()]);
}

pub(crate) async fn paging_visits_everything_once_while_gates_are_added(world: &World<impl Place>) {
    let store = &*world.store;
    let risks = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical];
    let mut known = Vec::new();
    for n in 0..60 {
        let timeout = Some(Timeout::After(minutes(10 + n % 7)));
        known.push(opened(store, NewGate { risk: risks[n as usize % 4], timeout, ..new_gate() }).await.id);
        world.clock.advance(Duration::from_micros(n % 3));
    }
    for query in [inbox(), everything()] {
        let mut added = Vec::new();
        let meanwhile = async || {
            world.clock.advance(Duration::from_micros(1));
            for risk in risks {
                added.push(opened(store, NewGate { risk, ..new_gate() }).await.id);
            }
        };
        let seen = page_through(store, GateQuery { limit: 7, ..query }, meanwhile).await;
        let mut seen: Vec<_> = seen.into_iter().map(|view| view.gate.id).collect();
        seen.sort();
        let visited = seen.len();
        seen.dedup();
        assert_eq!(seen.len(), visited, "some were visited twice");
        assert!(known.iter().all(|id| seen.contains(id)), "some were not visited");
        assert!(!added.is_empty());
        known.extend(added);
    }
}

pub(crate) async fn paging_through_decided_gates_ends(world: &World<impl Place>) {
    let store = &*world.store;
    let gates = join_all((0..20).map(|_| an_open_gate(store))).await;
    join_all(gates.iter().map(|gate| store.execute(approve(&gate.id, "alice")))).await;
    for limit in [1, 3, 19, 20, 21] {
        let query = GateQuery { status: Some(GateStatus::Approved), limit, ..everything() };
        assert_eq!(page_through(store, query, async || ()).await.len(), 20);
    }
}

pub(crate) async fn filters_narrow_the_list(store: &impl Store) {
    let of = |run: Option<&str>, session: Option<&str>| NewGate {
        run_id: run.map(|run| run.parse().unwrap()),
        session_id: session.map(|session| session.parse().unwrap()),
        ..new_gate()
    };
    let in_run = opened(store, of(Some("run-1"), Some("session-1"))).await.id.to_string();
    let in_session = opened(store, of(None, Some("session-1"))).await.id.to_string();
    let alone = opened(store, of(None, None)).await.id.to_string();
    let theirs = gate_of(store.execute(open(agent("agent-b"), of(None, Some("session-1")))).await).id.to_string();
    store.execute(approve(&id(&in_session), "alice")).await.unwrap();

    let run = Some("run-1".parse().unwrap());
    let session = Some("session-1".parse().unwrap());
    let requester = Some(name("agent-a"));
    for base in [inbox(), everything()] {
        let pending = base.status.is_some();
        let sorted = async |query| {
            let mut ids = ids(store, query).await;
            ids.sort();
            ids
        };
        assert_eq!(sorted(GateQuery { run: run.clone(), ..base.clone() }).await, [in_run.as_str()]);
        let expected = if pending { vec![&in_run, &theirs] } else { vec![&in_run, &in_session, &theirs] };
        assert_eq!(
            sorted(GateQuery { session: session.clone(), ..base.clone() }).await.iter().collect::<Vec<_>>(),
            expected
        );
        let expected = if pending { vec![&in_run, &alone] } else { vec![&in_run, &in_session, &alone] };
        let mine = GateQuery { requester: requester.clone(), ..base.clone() };
        assert_eq!(sorted(mine).await.iter().collect::<Vec<_>>(), expected);
        let all = GateQuery { run: run.clone(), session: session.clone(), requester: requester.clone(), ..base };
        assert_eq!(sorted(all).await, [in_run.as_str()]);
    }
    assert_eq!(ids(store, GateQuery { requester: Some(name("nobody")), ..everything() }).await, [""; 0]);
}

/// What a workflow asks is asked by whoever started its run.
pub(crate) async fn what_a_run_asks_is_found_by_who_started_it(store: &impl Store) {
    a_worked_on_run(store, "r1").await;
    entry_of(store.execute(record("r1", 1, "gate", opens("g-run-of-a"))).await);
    entry_of(store.execute(record("r1", 1, "question", asks("q-run-of-a", QuestionType::Decision))).await);
    let theirs = command(reviewer("alice"), run::Action::Start(Box::new(new_run("r2"))));
    run_of(store.execute(theirs).await);
    claimed_of(store.execute(claim("r2", "n1")).await);
    entry_of(store.execute(record("r2", 1, "gate", opens("g-run-of-alice"))).await);
    entry_of(store.execute(record("r2", 1, "question", asks("q-run-of-alice", QuestionType::Decision))).await);
    opened(store, NewGate { id: id("g-of-a"), ..new_gate() }).await;
    asked(store, NewQuestion { id: "q-of-a".parse().unwrap(), ..new_question(QuestionType::Decision) }).await;

    assert_eq!(store.requesters(10).await.unwrap(), ["agent-a", "alice"].map(name));
    assert_eq!(store.requesters(1).await.unwrap(), ["agent-a"].map(name));
    assert_eq!(store.askers(10).await.unwrap(), ["agent-a", "alice"].map(name));
    let workflow = store.gate(&id("g-run-of-a")).await.unwrap().unwrap().gate.requested_by;
    for (who, ours) in [
        (name("agent-a"), vec!["of-a", "run-of-a"]),
        (name("alice"), vec!["run-of-alice"]),
        (workflow, vec!["run-of-a", "run-of-alice"]),
    ] {
        for pending in [false, true] {
            let status = pending.then_some(GateStatus::Pending);
            let mut gates = ids(store, GateQuery { status, requester: Some(who.clone()), ..everything() }).await;
            gates.sort();
            assert_eq!(gates, ours.iter().map(|id| format!("g-{id}")).collect::<Vec<_>>(), "{who}");
            let status = pending.then_some(QuestionStatus::Pending);
            let query = QuestionQuery { status, asked_by: Some(who.clone()), limit: 100, ..QuestionQuery::default() };
            let found = store.questions(query).await.unwrap().items;
            let mut questions: Vec<_> = found.into_iter().map(|view| view.question.id.to_string()).collect();
            questions.sort();
            assert_eq!(questions, ours.iter().map(|id| format!("q-{id}")).collect::<Vec<_>>(), "{who}");
        }
    }
    assert_sound(store).await;
}

pub(crate) async fn a_cursor_survives_as_text(store: &impl Store) {
    join_all((0..3).map(|_| an_open_gate(store))).await;
    for query in [inbox(), everything()] {
        let next = store.gates(GateQuery { limit: 1, ..query }).await.unwrap().next.unwrap();
        assert_eq!(next.to_string().parse::<Cursor>().unwrap(), next);
    }
    for nonsense in ["", "~", "i", "n~1", "i~1~2~3", "n~x~gate", "i~1~2~3~gate~more", "n~1~gate id", "n~1~gate'--"] {
        assert_eq!(nonsense.parse::<Cursor>().unwrap_err().code(), "invalid", "{nonsense:?}");
    }
}

pub(crate) async fn a_cursor_of_another_list_is_refused(store: &impl Store) {
    join_all((0..3).map(|_| an_open_gate(store))).await;
    let of = async |query: GateQuery| store.gates(GateQuery { limit: 1, ..query }).await.unwrap().next;
    let (inboxs, others) = (of(inbox()).await, of(everything()).await);
    for wrong in [GateQuery { after: others, ..inbox() }, GateQuery { after: inboxs, ..everything() }] {
        let refused = store.gates(wrong).await;
        assert!(matches!(&refused, Err(Error::Refused(Refusal::Invalid { field: "cursor", .. }))), "{refused:?}");
    }
}

pub(crate) async fn text_sorts_by_bytes(store: &impl Store) {
    let ids = ["b", "B", "a.1", "a-1", "a_1", "a1", "A", "a", "_", "Z:z", "10", "9"];
    for id in ids {
        opened(store, NewGate { id: self::id(id), ..new_gate() }).await;
    }
    let mut sorted = ids;
    sorted.sort_unstable();
    assert_eq!(self::ids(store, inbox()).await, sorted);
    let histories = store.histories("", 100).await.unwrap();
    assert_eq!(histories.iter().map(|history| history.stream.as_str()).collect::<Vec<_>>(), sorted);
    let histories = store.histories("A", 3).await.unwrap();
    assert_eq!(histories.iter().map(|history| history.stream.as_str()).collect::<Vec<_>>(), sorted[3..6]);
    sorted.reverse();
    assert_eq!(self::ids(store, everything()).await, sorted);
}

pub(crate) async fn a_list_without_a_limit_is_served(store: &impl Store) {
    join_all((0..3).map(|_| an_open_gate(store))).await;
    for query in [inbox(), everything()] {
        let page = store.gates(GateQuery { limit: u32::MAX, ..query.clone() }).await.unwrap();
        assert_eq!((page.items.len(), page.next), (3, None));
        let page = store.gates(GateQuery { limit: 0, ..query }).await.unwrap();
        assert_eq!((page.items.len(), page.next), (0, None));
    }
}

pub(crate) async fn a_brief_list_has_the_beginnings_of_texts(store: &impl Store) {
    // The cut falls into the middle of a character.
    let long = format!("x{}", "\u{20ac}".repeat(1000));
    let gate = gate_of(store.execute(open(agent("agent-a"), NewGate { summary: long.clone(), ..new_gate() })).await);
    let listed = async |brief| store.gates(GateQuery { brief, ..inbox() }).await.unwrap().items.remove(0);
    let (whole, brief) = (listed(false).await, listed(true).await);
    assert_eq!((&whole.gate, &brief.gate), (&gate, &gate));
    assert_eq!(whole.summary, Some(long.clone()));
    let brief = brief.summary.unwrap();
    assert!(long.starts_with(&brief) && (100..=400).contains(&brief.len()), "{} bytes", brief.len());
}
