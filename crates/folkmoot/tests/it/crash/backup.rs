//! A backup that is made while everybody writes, and while the server or the backup itself is
//! killed, restores to a log that is whole, and holds all that was acknowledged before it began.

use std::{
    collections::HashMap,
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use folkmoot_api::{
    core::{QuestionId, question::QuestionType},
    wire::{Answer, Ask, Question},
};
use serde_json::{Value, json};

use super::{
    ledger,
    load::Load,
    number, postgres,
    process::{Home, Process},
    random::Random,
};
use crate::server::{ALICE, ROBOT, folkmoot};

/// What is killed while the backup is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Server,
    Backup,
    Both,
    Nobody,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_holds_all_that_was_acknowledged_before_it() {
    storm("SQLite", &Home::new(), number("FOLKMOOT_BACKUPS", 4)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_postgres_under_load_holds_all_that_was_acknowledged_before_it() {
    let Some(database) = postgres::schema().await else { return };
    storm("PostgreSQL", &Home::on(&database), number("FOLKMOOT_BACKUPS_POSTGRES", 2)).await;
}

/// So many rounds of: load, a backup meanwhile, something is killed, and what was restored is
/// compared.
async fn storm(what: &str, home: &Home, rounds: u64) {
    let (begun, mut random) = (Instant::now(), Random::seeded(what));
    let (load, questions) = (Load::new(200), Questions::default());
    let mut server = home.start().await;
    load.serve([&server.client]);
    let crowd = load.start(6, &mut random);
    let asking = tokio::spawn(questions.clone().ask(load.clone()));
    let folder = tempfile::tempdir().expect("a folder");
    let (mut compared, mut cut_off) = (0, 0);
    for round in 0..rounds {
        let known = load.ledger().acknowledgements();
        while load.ledger().acknowledgements() < known + 20 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let victim = [Victim::Server, Victim::Backup, Victim::Nobody, Victim::Both][(round % 4) as usize];
        let file = folder.path().join(format!("{round}.db"));
        let acknowledged = (load.ledger().known(), questions.known());
        let backup = begin(home, &["backup"], &file);
        tokio::time::sleep(Duration::from_millis(random.below(60))).await;
        let backup = match victim {
            Victim::Backup | Victim::Both => {
                cut_off += u64::from(killed(backup, &file));
                None
            }
            Victim::Server | Victim::Nobody => Some(backup),
        };
        if matches!(victim, Victim::Server | Victim::Both) {
            load.serve([]);
            server.kill();
            server = home.start().await;
            load.serve([&server.client]);
        }
        let backup = match backup {
            Some(backup) => finish(backup).await,
            // What it left behind is no obstacle.
            None if !file.exists() => finish(begin(home, &["backup"], &file)).await,
            None => json!({}),
        };
        // Nobody is served meanwhile: a log that grows takes longer to copy and to verify the next
        // time.
        load.serve([]);
        let restored = Home::new();
        let told = finish(begin_in(&restored, &["restore"], &file)).await;
        assert!(backup == json!({}) || backup["backup"]["head_hash"] == told["restored"]["head_hash"], "{told}");
        compared += holds(&restored, acknowledged).await;
        load.serve([&server.client]);
        std::fs::remove_file(&file).expect("it is there");
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").collect();
        assert!(left.is_empty(), "round {round}, {victim:?}: {left:?}");
    }
    questions.enough.store(true, Ordering::Relaxed);
    asking.await.expect("nobody panics");
    crowd.finish().await;
    let ledger = load.ledger();
    println!(
        "{what}: {rounds} backups in {:.1} s while {} gates were opened and {} decided; {cut_off} were cut off; \
         {compared} gates and questions compared",
        begun.elapsed().as_secs_f64(),
        ledger.opens,
        ledger.decisions,
    );
    assert!(compared > 20 * rounds, "only {compared} were compared: this proves little");
    assert!(rounds < 8 || cut_off > 0, "no backup was cut off: this proves nothing");
}

/// From SQLite to PostgreSQL and back, the log keeps its head.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_moves_to_postgres_and_back() {
    let Some(database) = postgres::schema().await else { return };
    let (home, load) = (Home::new(), Load::new(200));
    let server = home.start().await;
    load.serve([&server.client]);
    let crowd = load.start(4, &mut Random::seeded("moving"));
    while load.ledger().decisions < 20 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    crowd.finish().await;
    server.kill();
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = ["first.db", "second.db"].map(|name| folder.path().join(name));
    let backed_up = finish(begin(&home, &["backup"], &first)).await;
    let head = backed_up["backup"]["head_hash"].clone();
    let moved = Home::on(&database);
    let filled = finish(begin(&moved, &["restore"], &first)).await;
    assert_eq!(filled["restored"]["head_hash"], head);
    // A second time is refused: there is a log now.
    let again = begin(&moved, &["restore"], &first).wait_with_output().expect("it ends");
    assert!(!again.status.success() && said(&again).contains("nothing is overwritten"), "{}", said(&again));
    let back = finish(begin(&moved, &["backup"], &second)).await;
    assert_eq!((&back["backup"]["head_hash"], &back["backup"]["rows"]), (&head, &backed_up["backup"]["rows"]));
    let again = Home::new();
    assert_eq!(finish(begin_in(&again, &["restore"], &second)).await["restored"]["head_hash"], head);
    let known = load.ledger().known();
    assert!(known.len() > 10);
    for home in [&moved, &again] {
        assert!(holds(home, (known.clone(), HashMap::new())).await >= 10);
    }
}

/// Starts a server on what was restored, and compares. Returns how much.
async fn holds(restored: &Home, acknowledged: (Vec<folkmoot_api::wire::Gate>, HashMap<QuestionId, Question>)) -> u64 {
    let server: Process = restored.start().await;
    let alice = server.client(ALICE);
    let verified = alice.verify().await.expect("it can be verified");
    assert!(verified.ok, "{:?}", verified.problems);
    let (gates, questions) = acknowledged;
    let found = ledger::every_gate(&alice).await;
    for gate in &gates {
        let found = found.get(&gate.id).unwrap_or_else(|| panic!("{} was acknowledged and is not in it", gate.id));
        ledger::kept(gate, found).unwrap_or_else(|lost| panic!("{lost}"));
    }
    for (id, question) in &questions {
        let found = alice.question(id).await.unwrap_or_else(|error| panic!("{id} was acknowledged: {error}"));
        assert!(found == *question || question.answer.is_none(), "acknowledged {question:?} but found {found:?}");
    }
    (gates.len() + questions.len()) as u64
}

/// A verb on a home's folder, or on its PostgreSQL.
fn begin(home: &Home, words: &[&str], file: &Path) -> Child {
    let mut command = verb(home, words, file);
    command.args(home.database.iter().flat_map(|database| ["--database", database]));
    command.spawn().expect("it starts")
}

fn begin_in(home: &Home, words: &[&str], file: &Path) -> Child {
    verb(home, words, file).spawn().expect("it starts")
}

fn verb(home: &Home, words: &[&str], file: &Path) -> Command {
    let mut command = folkmoot(&home.data());
    command.arg("--json").args(words).arg(file).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for it, and gives what it told.
async fn finish(child: Child) -> Value {
    let ended = tokio::task::spawn_blocking(move || child.wait_with_output()).await.expect("it ends").expect("it ends");
    assert!(ended.status.success(), "{}", said(&ended));
    serde_json::from_slice(&ended.stdout).expect("JSON")
}

fn said(ended: &Output) -> String {
    String::from_utf8_lossy(&ended.stderr).into_owned()
}

/// Kills a backup. Whatever it had written by then, there is no file that looks like a backup and
/// is none. Says whether it was cut off.
fn killed(mut backup: Child, file: &Path) -> bool {
    backup.kill().expect("it is ours");
    let ended = backup.wait().expect("it is ours");
    // It may have been done just before; between the name and the end there is a moment in which
    // both are true.
    assert!(!ended.success() || file.exists(), "it said that it was done, and there is no file");
    !file.exists()
}

/// Questions that were asked and answered, as they were acknowledged.
#[derive(Clone, Default)]
struct Questions {
    acknowledged: Arc<Mutex<HashMap<QuestionId, Question>>>,
    enough: Arc<AtomicBool>,
}

impl Questions {
    fn known(&self) -> HashMap<QuestionId, Question> {
        self.acknowledged.lock().expect("nobody panics with it").clone()
    }

    fn note(&self, question: Question) {
        self.acknowledged.lock().expect("nobody panics with it").insert(question.id.clone(), question);
    }

    /// Asks and answers one after the other. A call that fails was not acknowledged, and counts for
    /// nothing.
    async fn ask(self, load: Load) {
        for n in 0.. {
            if self.enough.load(Ordering::Relaxed) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            let client = load.server(0).await;
            let ask = Ask::new(QuestionType::Clarifying, format!("Question {n}?"));
            let Ok(asked) = client.with_token(ROBOT).ask(&ask, None).await else { continue };
            self.note(asked.clone());
            let answer = Answer { answer: json!(n), reason: None };
            if let Ok(answered) = client.with_token(ALICE).answer(&asked.id, &answer, None).await {
                self.note(answered);
            }
        }
    }
}
