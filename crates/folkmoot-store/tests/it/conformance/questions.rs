use std::collections::BTreeSet;

use folkmoot_core::{
    Refusal, Scope, Subject, Timeout,
    question::{Close, NewQuestion, QuestionStatus, QuestionType},
};
use folkmoot_store::{Clock, QuestionQuery, Store};
use futures_util::future::join_all;

use crate::support::*;

pub(crate) async fn an_asked_question_reads_back_with_its_text(store: &impl Store) {
    let new_question = NewQuestion {
        options: vec!["left".to_owned(), "right".to_owned()],
        default: Some("left".into()),
        timeout: Some(Timeout::After(minutes(7))),
        halts: Some(Scope::All),
        ..new_question(QuestionType::Decision)
    };
    let question = asked(store, new_question).await;
    let view = store.question(&question.id).await.unwrap().unwrap();
    assert_eq!((&view.question, view.text.as_deref()), (&question, Some("May I?")));
    let plain = asked(store, NewQuestion { session_id: None, ..asking_plain() }).await;
    assert_eq!(store.question(&plain.id).await.unwrap().unwrap().question, plain);
    assert_eq!(store.question(&"question-none".parse().unwrap()).await, Ok(None));
    assert_sound(store).await;
}

fn asking_plain() -> NewQuestion {
    NewQuestion {
        default: Some(serde_json::json!({"ratio": 0.1, "n": [1, null]})),
        ..new_question(QuestionType::Preference)
    }
}

pub(crate) async fn the_first_answer_stands_and_the_second_is_told_who_was_first(store: &impl Store) {
    let question = asked(store, new_question(QuestionType::Blocking)).await;
    let answers = ["one", "two", "three"].map(|text| store.execute(answer(&question.id, text)));
    let answers = join_all(answers).await;
    let stands = question_of(Ok(answers.iter().flatten().next().unwrap().clone()));
    let closure = stands.closure().unwrap().clone();
    let refused = answers.iter().filter_map(|answer| answer.as_ref().err()).map(|error| error.refusal().unwrap());
    for refusal in refused.clone() {
        let Refusal::QuestionClosed { closure: told, .. } = refusal else { panic!("{refusal:?}") };
        assert_eq!(**told, closure);
    }
    assert_eq!(refused.count(), 2);
    let log = assert_sound(store).await;
    let refusals = log.iter().filter(|event| event.fact.kind == "question.refused");
    assert_eq!(refusals.count(), 2, "refused attempts are in the log");
}

pub(crate) async fn what_holds_is_what_the_rows_hold(store: &impl Store) {
    let blocking = asked(store, new_question(QuestionType::Blocking)).await;
    let approval = asked(store, new_question(QuestionType::Approval)).await;
    asked(store, new_question(QuestionType::Clarifying)).await;
    let halt = halt_of(store.execute(raise(Scope::All)).await);
    let ids = async || {
        let (position, holds) = store.holds().await.unwrap();
        assert_eq!(position, store.head().await.unwrap().position);
        holds.iter().map(|hold| format!("{} {}", hold.id.as_str(), hold.scope)).collect::<BTreeSet<_>>()
    };
    let set = |texts: &[String]| texts.iter().cloned().collect::<BTreeSet<_>>();
    let (b, a, h) = (format!("{} agent", blocking.id), format!("{} session", approval.id), format!("{} all", halt.id));
    assert_eq!(ids().await, set(&[a, b.clone(), h.clone()]));
    store.execute(close(&approval.id, reviewer("alice"), Close::Deny)).await.unwrap();
    let denied = format!("{} agent", approval.id);
    assert_eq!(ids().await, set(&[b.clone(), denied, h.clone()]), "a denial holds its asker");
    store.execute(fetch(&approval.id)).await.unwrap();
    assert_eq!(ids().await, set(&[b.clone(), h]), "until it is fetched");
    store.execute(lift(&halt.id)).await.unwrap();
    assert_eq!(ids().await, set(&[b]));
    store.execute(answer(&blocking.id, "go")).await.unwrap();
    assert_eq!(ids().await, set(&[]));
    assert_sound(store).await;
}

/// Whatever shares a batch with what: exactly one release of each level is announced, by the last
/// that held it.
pub(crate) async fn only_the_last_release_is_announced_within_a_batch_too(store: &impl Store) {
    for _ in 0..20 {
        let before = store.head().await.unwrap().position;
        let types = [QuestionType::Approval, QuestionType::Blocking, QuestionType::Emergency, QuestionType::Approval];
        let questions = join_all(types.map(|kind| asked(store, new_question(kind)))).await;
        let halt = halt_of(store.execute(raise(Scope::Session)).await);
        let mut commands: Vec<_> = questions.iter().map(|question| answer(&question.id, "approve")).collect();
        commands.push(lift(&halt.id));
        join_all(commands.into_iter().map(|command| store.execute(command))).await.into_iter().for_each(|done| {
            done.unwrap();
        });
        let events = store.events(before, 100).await.unwrap();
        let count = |kind: &str| events.iter().filter(|event| event.fact.kind == kind).count();
        let halted = ["agent.halted", "session.halted", "system.halted"].map(count);
        assert_eq!(halted, [4, 4, 1], "every hold is announced");
        let resumed = ["agent.resumed", "session.resumed", "system.resumed"].map(count);
        assert_eq!(resumed, [1, 1, 1], "only the last release is");
    }
    assert_sound(store).await;
}

pub(crate) async fn a_question_that_reminds_is_due_again(world: &World<impl Place>) {
    let store = &*world.store;
    let question = asked(store, new_question(QuestionType::Escalation)).await;
    assert_eq!(store.next_due().await.unwrap(), question.due.moment());
    world.clock.advance(minutes(60));
    let due = store.due(world.clock.now(), 10).await.unwrap();
    assert_eq!(due.iter().map(|timer| &timer.subject).collect::<Vec<_>>(), [&Subject::Question(question.id.clone())]);
    let reminded = question_of(store.execute(lapse(&question.id)).await);
    assert_eq!((reminded.status(), reminded.reminders), (QuestionStatus::Pending, 1));
    assert_eq!(store.next_due().await.unwrap(), reminded.due.moment());
    store.execute(answer(&question.id, "seen")).await.unwrap();
    assert_eq!(store.next_due().await.unwrap(), None);
    assert_sound(store).await;
}

pub(crate) async fn a_question_expires_with_its_default(world: &World<impl Place>) {
    let store = &*world.store;
    let question =
        asked(store, NewQuestion { default: Some("go".into()), ..new_question(QuestionType::Blocking) }).await;
    world.clock.advance(minutes(15));
    let late = store.execute(answer(&question.id, "stop")).await.unwrap_err();
    assert_eq!(late.refusal().unwrap().code(), "question_expired", "from its deadline on nobody can answer");
    let expired = question_of(store.execute(lapse(&question.id)).await);
    let closure = expired.closure().unwrap();
    assert_eq!((closure.status, closure.answer.as_ref()), (QuestionStatus::Expired, Some(&"go".into())));
    assert_eq!(store.holds().await.unwrap().1, []);
    assert_sound(store).await;
}

pub(crate) async fn lists_put_what_is_urgent_first_and_page_without_a_gap(store: &impl Store) {
    let mut asked_ids = Vec::new();
    for kind in [QuestionType::Preference, QuestionType::Blocking, QuestionType::Emergency, QuestionType::Decision] {
        asked_ids.push(asked(store, new_question(kind)).await.id);
    }
    let list = async |status, limit| {
        let (mut after, mut ids) = (None, Vec::new());
        loop {
            let query = QuestionQuery { status, after, limit, ..QuestionQuery::default() };
            let page = store.questions(query).await.unwrap();
            ids.extend(page.items.into_iter().map(|view| view.question.id));
            after = page.next.map(|next| next.to_string().parse().unwrap());
            if after.is_none() {
                return ids;
            }
        }
    };
    let [preference, blocking, emergency, decision] = <[_; 4]>::try_from(asked_ids).unwrap();
    let urgent = [&emergency, &blocking, &decision, &preference].map(Clone::clone);
    assert_eq!(list(Some(QuestionStatus::Pending), 1).await, urgent);
    assert_eq!(list(Some(QuestionStatus::Pending), 3).await, urgent);
    assert_eq!(list(None, 3).await.len(), 4);
    let mine = QuestionQuery { agent: Some(name("somebody-else")), limit: 10, ..QuestionQuery::default() };
    assert_eq!(store.questions(mine).await.unwrap().items, []);
}

pub(crate) async fn a_forged_release_is_found(world: &World<impl Place>) {
    let question = asked(&*world.store, new_question(QuestionType::Emergency)).await;
    world.place.sql(&format!("UPDATE questions SET holds = NULL WHERE id = '{}'", question.id)).await;
    let found = problems(&*world.store).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].problem.contains("holds"), "{found:?}");
    let halt = halt_of(world.store.execute(raise(Scope::All)).await);
    world.place.sql(&format!("UPDATE halts SET lifted_by = 'bot', lifted_at = 7 WHERE id = '{}'", halt.id)).await;
    world.place.sql(&format!("DELETE FROM questions WHERE id = '{}'", question.id)).await;
    let found: Vec<_> = problems(&*world.store).await.into_iter().map(|problem| problem.problem).collect();
    assert!(found.iter().any(|problem| problem.contains("disagrees with the log")), "{found:?}");
    assert!(found.iter().any(|problem| problem.contains("its row is gone")), "{found:?}");
}

pub(crate) async fn holds_survive_a_restart(world: World<impl Place>) {
    let World { store, clock, place } = world;
    asked(&*store, new_question(QuestionType::Approval)).await;
    let released = asked(&*store, new_question(QuestionType::Blocking)).await;
    store.execute(answer(&released.id, "go")).await.unwrap();
    halt_of(store.execute(raise(Scope::Agent)).await);
    let before = store.holds().await.unwrap();
    drop(store);
    let store = place.open(clock).await.unwrap();
    assert_eq!(store.holds().await.unwrap(), before);
    assert_eq!(before.1.len(), 2);
    assert_sound(&store).await;
}
