//! What was erased is nowhere in SQLite's files, whatever stood beside it.

use std::{collections::HashSet, path::Path, sync::Arc};

use folkmoot_core::{
    Action, Actor, Digest,
    erase::{self, Erasure},
};
use folkmoot_store::{ManualClock, Sqlite, Store};

use crate::support::*;

const MARK: &str = "SECRET-";

/// How many of the texts are in any of the files.
fn found(folder: &Path, texts: &[String]) -> usize {
    let mut all = HashSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let marked =
            text.match_indices(MARK).map(|(at, _)| text[at..].chars().take(MARK.len() + 17).collect::<String>());
        all.extend(marked);
    }
    texts.iter().filter(|text| all.contains(*text)).count()
}

/// Short ones, that share pages, and long ones, that have pages of their own. The secret part
/// stands at both ends.
fn secrets(count: usize) -> Vec<(String, Vec<u8>)> {
    let secret = |n: usize| {
        let secret = format!("{MARK}{n:04}-{}", &Digest::of(n.to_string().as_bytes()).hex()[..12]);
        let content = format!("{secret} {} {secret}", "x".repeat([0, 40, 400, 9000][n % 4]));
        (secret, content.into_bytes())
    };
    (0..count).map(secret).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erased_bytes_are_in_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("folkmoot.db"), Arc::new(ManualClock::at(noon()))).unwrap();
    let all = secrets(160);
    for pair in all.chunks(2) {
        let artifacts = pair.iter().map(|(secret, content)| (secret.as_str(), content.as_slice())).collect::<Vec<_>>();
        let artifacts = artifacts.iter().map(|(_, content)| *content).zip(["a", "b"]).map(|(c, n)| (n, c)).collect();
        gate_of(store.execute(open_with(agent("agent-a"), new_gate(), artifacts)).await);
    }
    let texts: Vec<String> = all.iter().map(|(secret, _)| secret.clone()).collect();
    assert_eq!(found(folder.path(), &texts), texts.len(), "they are there to begin with");

    // Every third, one after another, so that what stays is moved about in its pages.
    let (gone, stay): (Vec<_>, Vec<_>) = (0..all.len()).partition(|n| n % 3 == 0);
    for n in &gone {
        let erasure = Erasure { digests: vec![Digest::of(&all[*n].1)], reason: "a key".to_owned() };
        store.execute(command(admin("root"), erase::Action::Erase(erasure))).await.unwrap();
    }
    assert_eq!(store.scrub().await, Ok(true));
    let of = |numbers: &[usize]| numbers.iter().map(|n| texts[*n].clone()).collect::<Vec<_>>();
    assert_eq!(found(folder.path(), &of(&gone)), 0, "of {} that were erased", gone.len());
    assert_eq!(found(folder.path(), &of(&stay)), stay.len(), "the others stay");

    // And many at once, of what was moved.
    let digests: Vec<Digest> = stay.iter().map(|n| Digest::of(&all[*n].1)).collect();
    let decided_before = noon().plus(minutes(24 * 60 * 3));
    for digests in digests.chunks(20) {
        let action = Action::Content(erase::Action::Retire { digests: digests.to_vec(), decided_before });
        store.execute(command(Actor::System, action)).await.unwrap();
    }
    assert_eq!(store.scrub().await, Ok(true));
    assert_eq!(found(folder.path(), &texts), 0, "nothing is left");
    assert_sound(&store).await;
}
