//! A node in a process of its own, which can be killed. What its steps do is counted outside it, in
//! a file.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command as Process, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{Action, Command, node};
use folkmoot_engine::{Engine, EngineSettings, Failure, TokioHost, WorkerSettings, Workflows};
use folkmoot_store::{AnyStore, Postgres, Sqlite, SystemClock, Witness};

/// Where the node finds its database, and where it leaves its traces.
const DATABASE: &str = "FOLKMOOT_TEST_NODE_DATABASE";
const TRACES: &str = "FOLKMOOT_TEST_NODE_TRACES";
/// Where it dies: `before 3`, `after 3`.
const CRASH: &str = "FOLKMOOT_TEST_NODE_CRASH";
/// What it executes.
const WORKFLOWS: &str = "FOLKMOOT_TEST_NODE_WORKFLOWS";

/// How long a node that died keeps its runs.
pub const LEASE: Duration = Duration::from_secs(1);

/// A node that was started, and is killed when this is dropped.
pub struct Node(Child);

impl Node {
    pub fn start(database: &str, traces: &Path, workflows: &str, crash: Option<&str>) -> Self {
        let mut process = Process::new(std::env::current_exe().unwrap());
        process
            .args(["--exact", "runs::process::the_node_itself", "--ignored", "--nocapture"])
            .env(DATABASE, database)
            .env(TRACES, traces)
            .env(WORKFLOWS, workflows)
            .env(CRASH, crash.unwrap_or_default())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self(process.spawn().unwrap())
    }

    /// SIGKILL: nothing of it gets to say a last word.
    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        let sent = Process::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{name} {}", self.id());
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Waits for its end; whether it was one in peace.
    pub fn ends_well(mut self) -> bool {
        self.0.wait().unwrap().success()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What steps leave behind: one line each, whichever process they ran in.
#[derive(Clone, Debug)]
pub struct Traces(pub PathBuf);

impl Traces {
    /// Prepares an effect. A node that is stopped between the engine's last look at its lease and
    /// the effect's call of the system does it late, whatever the engine does: so little else is
    /// done in between.
    pub fn prepare(&self, run: &str, key: &str) -> Trace {
        let file = OpenOptions::new().append(true).create(true).open(&self.0).unwrap();
        Trace { file: Arc::new(file), line: format!("{run} {key} {}\n", std::process::id()).into() }
    }

    /// The processes in which each effect happened, by run and key.
    pub fn read(&self) -> BTreeMap<(String, String), Vec<u32>> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        let mut effects: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for line in text.lines() {
            let parts: Vec<&str> = line.split(' ').collect();
            let [run, key, process] = parts.as_slice() else { panic!("{line:?} is no trace") };
            effects.entry(((*run).to_owned(), (*key).to_owned())).or_default().push(process.parse().unwrap());
        }
        effects
    }
}

/// One effect, which no crash undoes.
#[derive(Clone, Debug)]
pub struct Trace {
    file: Arc<File>,
    line: Arc<str>,
}

impl Trace {
    pub async fn leave(self) -> Result<(), Failure> {
        Ok((&*self.file).write_all(self.line.as_bytes())?)
    }
}

#[derive(Debug)]
struct Crash {
    before: bool,
    at: u64,
    appends: AtomicU64,
}

impl Crash {
    fn parse(text: &str) -> Option<Self> {
        let (when, at) = text.split_once(' ')?;
        Some(Self { before: when == "before", at: at.parse().unwrap(), appends: AtomicU64::new(0) })
    }
}

fn counts(command: &Command) -> bool {
    !matches!(command.action, Action::Node(node::Action::Heartbeat { .. }))
}

/// As dead as by SIGKILL: no destructor runs, and nobody hears of what was just written.
fn die() -> ! {
    std::process::abort()
}

impl Witness for Crash {
    fn before(&self, command: &Command) -> bool {
        if counts(command) && self.appends.fetch_add(1, Ordering::SeqCst) + 1 == self.at && self.before {
            die();
        }
        true
    }

    fn after(&self, command: &Command) -> bool {
        if counts(command) && self.appends.load(Ordering::SeqCst) == self.at && !self.before {
            die();
        }
        true
    }
}

#[test]
#[ignore = "it is no test: other tests start it as a process of its own"]
fn the_node_itself() {
    let Ok(database) = std::env::var(DATABASE) else { return };
    let traces = Traces(std::env::var(TRACES).unwrap().into());
    let workflows = match std::env::var(WORKFLOWS).unwrap().as_str() {
        "sample" => super::crash::sample(traces),
        "many" => super::killed::many(traces),
        "careful" => super::paused::careful(traces),
        other => panic!("there are no workflows {other:?}"),
    };
    let crash = Crash::parse(&std::env::var(CRASH).unwrap_or_default());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(serve(&database, workflows, crash));
}

async fn serve(database: &str, workflows: Workflows, crash: Option<Crash>) {
    let store = match database.starts_with("host=") {
        true => AnyStore::Postgres(Postgres::open(database, None).await.unwrap()),
        false => {
            let store = Sqlite::open(Path::new(database), Arc::new(SystemClock)).unwrap();
            AnyStore::Sqlite(match crash {
                Some(crash) => store.witnessed(Arc::new(crash)),
                None => store,
            })
        }
    };
    // Few at once, so that two nodes share what there is.
    let work = WorkerSettings { lease: LEASE, runs_at_once: 20, ..WorkerSettings::default() };
    let engine =
        Engine::start(store, EngineSettings { workflows, work, ..EngineSettings::default() }, Arc::new(TokioHost));
    let engine = engine.await.unwrap();
    match database.starts_with("host=") {
        true => std::future::pending().await,
        // Whoever decides on the file of one process must be in that process.
        false => super::crash::live_through(&engine, &Traces(std::env::var(TRACES).unwrap().into())).await,
    }
}
