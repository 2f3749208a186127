use folkmoot_core::{Scope, gate::NewGate, question::QuestionType};
use folkmoot_store::Store;

use crate::support::*;

/// Whatever they are called: runs can have any id, also a gate's.
pub(crate) async fn walking_through_all_histories_visits_each_once(store: &impl Store) {
    let mut expected = Vec::new();
    for id in ["a", "gate-1", "r", "run", "run-", "run.", "run:", "runs", "s", "zebra", "~"] {
        let Ok(gate) = id.parse() else { continue };
        opened(store, NewGate { id: gate, ..new_gate() }).await;
        expected.push(id.to_owned());
    }
    for id in ["A", "a", "gate-1", "run", "run:a", "zebra", "0"] {
        run_of(store.execute(start(new_run(id))).await);
        expected.push(format!("run:{id}"));
    }
    expected.push(asked(store, new_question(QuestionType::Blocking)).await.id.to_string());
    expected.push(halt_of(store.execute(raise(Scope::All)).await).id.to_string());
    expected.sort();
    for limit in [1, 2, 3, 7, 100] {
        let (mut after, mut seen) = (String::new(), Vec::new());
        while let Some(last) = {
            let page = store.histories(&after, limit).await.unwrap();
            seen.extend(page.iter().map(|history| history.stream.clone()));
            page.last().map(|last| last.stream.clone())
        } {
            assert!(seen.len() <= expected.len(), "in pages of {limit}: {seen:?}");
            after = last;
        }
        assert_eq!(seen, expected, "in pages of {limit}");
    }
    assert_sound(store).await;
}
