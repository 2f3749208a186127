//! The measurements, in rounds.
//!
//! Each round measures the limits and Folkmoot within seconds of each other, and ratios are
//! computed per round; the table shows the median.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    time::Duration,
};

use anyhow::{Context, Result};

use crate::{
    can_proceed, children,
    debates::Job as Debates,
    durable::Job as Durable,
    figures::{self, Figures},
    gate_check, jail,
    load::{self, Job, Window},
    models::Job as Models,
    options::{Measure, Options},
    report::{Report, Round},
    scale::Job as AtScale,
    server::{self, Server},
};

mod database;

pub(crate) const CLIENTS: [usize; 4] = [1, 16, 64, 256];

/// The sizes of the measurements.
struct Scale {
    rounds: usize,
    limits: Window,
    cycles: Window,
    wakes: usize,
    starts: usize,
    gates: usize,
    questions: usize,
    /// Steps of each of the runs that are measured.
    steps: u32,
    replayed: u32,
    parked: usize,
    woken: usize,
    million: usize,
    decided: usize,
    subscribers: usize,
    /// Model calls of each turn: in the process, as steps of a run, over HTTP.
    layered: u32,
    recorded: u32,
    sent: u32,
    /// Debates at once, and how often each rule of theirs is timed.
    debates: usize,
    counted: u32,
    jailed: u32,
    pythons: u32,
}

impl Scale {
    fn of(options: &Options) -> Self {
        if options.quick {
            Self {
                rounds: 1,
                limits: window(100, 700),
                cycles: window(300, 1_000),
                wakes: 200,
                starts: 3,
                gates: 10_000,
                questions: 10_000,
                steps: 20,
                replayed: 1_000,
                parked: 2_000,
                woken: 100,
                million: 20_000,
                decided: 1_000,
                subscribers: 500,
                layered: 200,
                recorded: 10,
                sent: 20,
                debates: 50,
                counted: 100,
                jailed: 20,
                pythons: 5,
            }
        } else {
            Self {
                // What takes minutes is measured once.
                rounds: if options.only == Some(Measure::Scale) { 1 } else { 3 },
                limits: window(500, 2_000),
                cycles: window(1_000, 4_000),
                wakes: 1_000,
                starts: 5,
                gates: 100_000,
                questions: 100_000,
                steps: 200,
                replayed: 10_000,
                parked: 100_000,
                woken: 1_000,
                million: 1_000_000,
                decided: 10_000,
                subscribers: 10_000,
                layered: 2_000,
                recorded: 50,
                sent: 200,
                debates: 1_000,
                counted: 2_000,
                jailed: 200,
                pythons: 40,
            }
        }
    }
}

fn window(warm_up_ms: u64, measured_ms: u64) -> Window {
    Window { warm_up: Duration::from_millis(warm_up_ms), measured: Duration::from_millis(measured_ms) }
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let scale = Scale::of(options);
    // Not /tmp, which may be in memory: a sync must reach a disk.
    let parent = if Path::new("/var/tmp").is_dir() { PathBuf::from("/var/tmp") } else { std::env::temp_dir() };
    let folder = tempfile::Builder::new().prefix("folkmoot-bench-").tempdir_in(parent)?;
    children::die_cleanly(folder.path())?;

    let mut report = Report::new(options.quick, folder.path());
    for number in 1..=scale.rounds {
        eprintln!("round {number} of {}", scale.rounds);
        let here = folder.path().join(format!("round-{number}"));
        std::fs::create_dir(&here)?;
        let mut bench = Bench { options, scale: &scale, here, number, round: Round::default() };
        bench.measure();
        report.add(bench.round);
    }
    print!("{}", report.table());
    std::fs::write(&options.json, report.json()?)
        .with_context(|| format!("cannot write {}", options.json.display()))?;
    eprintln!("figures: {}", options.json.display());
    Ok(if report.has_failures() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// One round.
struct Bench<'a> {
    options: &'a Options,
    scale: &'a Scale,
    here: PathBuf,
    number: usize,
    round: Round,
}

impl Bench<'_> {
    /// Failures are recorded in the round, and the rest continues.
    fn measure(&mut self) {
        let wants = |measure| self.options.wants(measure);
        if wants(Measure::GateCheck) {
            let cost = gate_check::measure();
            self.round.put("gate check, off, ns", Ok(cost.nanoseconds));
            let allocations = cost.allocations as f64;
            self.round.put("gate check, off, allocations", Ok(allocations));
        }
        if wants(Measure::ColdStart) {
            let started = self.cold_start();
            self.round.put("cold start, ms", started);
        }
        if wants(Measure::Limits) {
            self.limits();
        }
        if wants(Measure::Cycles) || wants(Measure::Wake) {
            self.on("SQLite", |bench| {
                let data = bench.folder("cycles-sqlite")?;
                bench.cycles_and_wakes("SQLite", &data, None)
            });
            self.on("PostgreSQL", |bench| {
                let data = bench.folder("cycles-postgres")?;
                let database = database::create(&format!("folkmoot_{}", bench.number))?;
                bench.cycles_and_wakes("PostgreSQL", &data, Some(&database.connection))
            });
        }
        if wants(Measure::Questions) {
            self.on("can_proceed", |bench| {
                let data = bench.folder("can-proceed")?;
                let nanoseconds = can_proceed::measure(&data, bench.scale.questions)?;
                bench.round.put("open questions, count", Ok(bench.scale.questions as f64));
                bench.round.put("can_proceed, ns", Ok(nanoseconds));
                Ok(())
            });
            self.on("SQLite questions", |bench| {
                let data = bench.folder("questions-sqlite")?;
                bench.questions("SQLite", &data, None)
            });
            self.on("PostgreSQL questions", |bench| {
                let data = bench.folder("questions-postgres")?;
                let database = database::create(&format!("questions_{}", bench.number))?;
                bench.questions("PostgreSQL", &data, Some(&database.connection))
            });
        }
        if wants(Measure::Runs) {
            self.on("steps on SQLite", |bench| bench.steps("SQLite", None));
            self.on("steps on PostgreSQL", |bench| {
                let database = database::create(&format!("steps_{}", bench.number))?;
                bench.steps("PostgreSQL", Some(&database.connection))
            });
            self.on("replay", Self::replay);
            self.on("parked runs", Self::parked);
        }
        if wants(Measure::Models) {
            self.on("model calls", Self::model_calls);
        }
        if wants(Measure::Debates) {
            self.on("debates", Self::debates);
        }
        if wants(Measure::Jail) {
            self.on("the jail", Self::jail);
        }
        if wants(Measure::Scale) {
            self.on("scale", Self::at_scale);
        }
        if wants(Measure::Memory) {
            let measured = self.memory();
            self.round.note("memory", measured);
        }
    }

    /// A failure before any figure is recorded under the backend's name.
    fn on(&mut self, backend: &str, measure: impl FnOnce(&mut Self) -> Result<()>) {
        let measured = measure(self);
        self.round.note(backend, measured);
    }

    fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.here.join(name);
        std::fs::create_dir(&folder)?;
        Ok(folder)
    }

    fn cold_start(&self) -> Result<f64> {
        let mut took = Vec::new();
        for start in 0..self.scale.starts {
            let data = self.folder(&format!("cold-{start}"))?;
            let server = Server::start(&data, None)?;
            took.push(server.ready_after.as_secs_f64() * 1e3);
            server.stop()?;
        }
        Ok(crate::report::median(&took).unwrap_or(f64::NAN))
    }

    fn limits(&mut self) {
        let window = self.scale.limits;
        let found = self.folder("raw-sqlite").and_then(|folder| load::spawn(&Job::Sqlite { folder, window }));
        self.round.put_rate("raw SQLite commits", "1", found);

        match database::create(&format!("raw_{}", self.number)) {
            Err(error) => self.round.note("raw PostgreSQL commits", Err(error)),
            Ok(database) => {
                for clients in [1, 64] {
                    let found =
                        load::spawn(&Job::Postgres { connection: database.connection.clone(), clients, window });
                    let clients = clients.to_string();
                    self.round.put_rate("raw PostgreSQL commits", &clients, found);
                }
            }
        }

        let found = BareServer::start()
            .and_then(|server| load::spawn(&Job::Bare { address: server.address.parse()?, clients: 64, window }));
        self.round.put_rate("bare HTTP requests", "64", found);
    }

    fn cycles_and_wakes(&mut self, backend: &str, data: &Path, database: Option<&str>) -> Result<()> {
        let server = Server::start(data, database)?;
        if self.options.wants(Measure::Wake) {
            let found = load::spawn(&Job::Wake { target: server.target(), times: self.scale.wakes });
            self.round.put_times(&format!("{backend} wake"), found);
        }
        if self.options.wants(Measure::Cycles) {
            for clients in CLIENTS {
                let found = load::spawn(&Job::Cycles { target: server.target(), clients, window: self.scale.cycles });
                let name = format!("{backend} cycles");
                self.round.put_rate(&name, &clients.to_string(), found);
            }
        }
        server.stop()
    }

    /// Question cycles beside gate cycles of the same minute, and the clearance route.
    fn questions(&mut self, backend: &str, data: &Path, database: Option<&str>) -> Result<()> {
        let server = Server::start(data, database)?;
        let (clients, window) = (64, self.scale.cycles);
        let found = load::spawn(&Job::Questions { target: server.target(), clients: 1, window });
        self.round.put_rate(&format!("{backend} question cycles"), "1", found);
        let found = load::spawn(&Job::Questions { target: server.target(), clients, window });
        self.round.put_rate(&format!("{backend} question cycles"), "64", found);
        let found = load::spawn(&Job::Cycles { target: server.target(), clients, window });
        self.round.put_rate(&format!("{backend} gate cycles beside them"), "64", found);
        let found = load::spawn(&Job::Clearance { target: server.target(), clients, window });
        self.round.put_rate(&format!("{backend} clearance"), "64", found);
        server.stop()
    }

    /// Steps that do nothing, one run alone and 64 at once.
    fn steps(&mut self, backend: &str, database: Option<&str>) -> Result<()> {
        for runs in [1, 64] {
            let folder = self.folder(&format!("steps-{backend}-{runs}"))?;
            let (database, steps) = (database.map(str::to_owned), self.scale.steps);
            let found = figures::spawn("durable", &Durable::Steps { database, folder, runs, steps })?;
            self.round.put(&format!("{backend} steps at {runs}, per s"), Ok(found["steps, per s"]));
        }
        Ok(())
    }

    fn replay(&mut self) -> Result<()> {
        let (folder, steps) = (self.folder("replay")?, self.scale.replayed);
        let found = figures::spawn("durable", &Durable::Replay { folder, steps })?;
        self.round.put("steps of the journal, count", Ok(steps.into()));
        self.put_all(found);
        Ok(())
    }

    fn parked(&mut self) -> Result<()> {
        let (folder, runs, woken) = (self.folder("parked")?, self.scale.parked, self.scale.woken);
        let empty = self.folder("parked-none")?;
        figures::spawn("durable", &Durable::Park { folder: empty.clone(), runs: 1 })?;
        let without = figures::spawn("durable", &Durable::Wake { folder: empty, runs: 1 })?;
        let parked = figures::spawn("durable", &Durable::Park { folder: folder.clone(), runs })?;
        let with = figures::spawn("durable", &Durable::Wake { folder, runs: woken })?;
        self.round.put("parked runs, count", Ok(runs as f64));
        self.round.put("runs parked, per s", Ok(parked["runs parked, per s"]));
        let each = (with["resident, MB"] - without["resident, MB"]) * 1024.0 / runs as f64;
        self.round.put("memory per parked run, KB", Ok(each));
        self.round.put("start with parked runs, ms", Ok(with["ready, ms"]));
        self.round.put("decided at once, count", Ok(woken as f64));
        self.round.put("decided at once, ms", Ok(with["all woken, ms"]));
        Ok(())
    }

    /// Model calls without a model's own time.
    fn model_calls(&mut self) -> Result<()> {
        let &Scale { layered, recorded, sent, .. } = self.scale;
        let folder = self.folder("model-calls")?;
        let server = BareServer::start()?;
        for job in [
            Models::Layers { calls: layered },
            Models::Steps { folder, calls: recorded },
            Models::Wire { address: server.address.clone(), calls: sent },
        ] {
            self.put_all(figures::spawn("models", &job)?);
        }
        Ok(())
    }

    fn debates(&mut self) -> Result<()> {
        let &Scale { debates, counted: times, .. } = self.scale;
        let folder = self.folder("debates")?;
        for job in [Debates::Hold { folder, debates }, Debates::Rules { times }] {
            self.put_all(figures::spawn("debates", &job)?);
        }
        Ok(())
    }

    fn jail(&mut self) -> Result<()> {
        let &Scale { jailed: starts, pythons, .. } = self.scale;
        let found = figures::spawn("jail", &jail::Job { folkmoot: server::program()?, starts, pythons })?;
        self.put_all(found);
        Ok(())
    }

    fn put_all(&mut self, found: Figures) {
        for (name, figure) in found {
            self.round.put(&name, Ok(figure));
        }
    }

    /// One server with a million gates, then decisions at once, then subscribers.
    fn at_scale(&mut self) -> Result<()> {
        let &Scale { million, decided, subscribers, .. } = self.scale;
        let gates = self.options.gates.unwrap_or(million);
        let data = self.folder("scale")?;
        let server = Server::start(&data, None)?;
        let opened = load::spawn(&Job::Open { target: server.target(), clients: 256, times: gates })?;
        settle();
        let filled = server.resident_bytes()?;
        server.stop()?;

        let server = Server::start(&data, None)?;
        let ready_after = server.ready_after;
        self.put_all(figures::spawn("scale", &AtScale::Pages { target: server.target(), times: 200 })?);
        settle();
        let restarted = server.resident_bytes()?;
        let deciding = AtScale::Decide { target: server.target(), gates: decided, clients: 256 };
        self.put_all(figures::spawn("scale", &deciding)?);
        server.stop()?;

        let data = self.folder("subscribers")?;
        let server = Server::start(&data, None)?;
        let (target, process) = (server.target(), server.process_id());
        let subscribing = AtScale::Subscribe { target, process, subscribers, gates: 50 };
        self.put_all(figures::spawn("scale", &subscribing)?);
        server.stop()?;

        let megabytes = |bytes: u64| Ok(bytes as f64 / 1048576.0);
        self.round.put("pending gates, count", Ok(gates as f64));
        self.round.put("gates opened, per s", Ok(opened.per_second));
        self.round.put("resident while they were opened, MB", megabytes(filled));
        self.round.put("resident after a restart, MB", megabytes(restarted));
        self.round.put("restart to ready, ms", Ok(ready_after.as_secs_f64() * 1e3));
        Ok(())
    }

    /// Memory of gates that nobody waits for, while they are opened and after a restart.
    fn memory(&mut self) -> Result<()> {
        const WARM_UP: usize = 1_000;
        let gates = self.options.gates.unwrap_or(self.scale.gates);
        let data = self.folder("memory")?;
        let server = Server::start(&data, None)?;
        let empty = server.resident_bytes()?;
        let open = |times| load::spawn(&Job::Open { target: server.target(), clients: 64, times });
        // The first gates also fill caches, which do not grow with the number of gates.
        open(WARM_UP)?;
        settle();
        let before = server.resident_bytes()?;
        let opened = open(gates)?;
        settle();
        let after = server.resident_bytes()?;
        server.stop()?;

        let server = Server::start(&data, None)?;
        settle();
        let restarted = server.resident_bytes()?;
        let ready_after = server.ready_after;
        server.stop()?;

        let each = |from: u64, to: u64, count: usize| Ok((to as f64 - from as f64) / 1024.0 / count as f64);
        self.round.put("pending gates, count", Ok(gates as f64));
        self.round.put("gates opened, per s", Ok(opened.per_second));
        self.round.put("memory per pending gate, KB", each(before, after, gates));
        self.round.put("memory per pending gate after a restart, KB", each(empty, restarted, gates + WARM_UP));
        self.round.put("resident, empty, MB", Ok(empty as f64 / 1048576.0));
        self.round.put("resident after a restart, MB", Ok(restarted as f64 / 1048576.0));
        self.round.put("restart to ready, ms", Ok(ready_after.as_secs_f64() * 1e3));
        Ok(())
    }
}

/// The connections are gone; their buffers follow a moment later.
fn settle() {
    std::thread::sleep(Duration::from_secs(1));
}

/// `folkmoot-bench bare`, in its own process; it ends when our pipe closes.
struct BareServer {
    process: Child,
    address: String,
}

impl BareServer {
    fn start() -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("bare").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = children::spawn(&mut command)?;
        let stdout = process.stdout.take().context("the bare server's output")?;
        let mut server = Self { process, address: String::new() };
        BufReader::new(stdout).read_line(&mut server.address)?;
        server.address.truncate(server.address.trim_end().len());
        Ok(server)
    }
}

impl Drop for BareServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        children::ended(&self.process);
    }
}
