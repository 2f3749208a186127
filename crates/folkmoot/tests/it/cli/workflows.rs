//! Runs that a server executes which was built with workflows.

use folkmoot_engine::{Ctx, GateSpec, Workflows};
use folkmoot_server::{Config, DataFolder, Server};
use tokio_util::sync::CancellationToken;

use super::Desk;
use crate::server::eventually;

/// A server with workflows, in this process; other terminals find it through the folder.
struct Serving {
    desk: Desk,
    shutdown: CancellationToken,
    serving: Option<std::thread::JoinHandle<()>>,
}

impl Serving {
    fn start() -> Self {
        let desk = Desk::new();
        let publish = |ctx: Ctx, title: String| async move {
            let draft = ctx.step("draft", move || std::future::ready(Ok(format!("{title}: a draft")))).await?;
            let decided = ctx.gate("publish", GateSpec::new(format!("Publish {draft}?"))).await?;
            Ok(decided.may_proceed())
        };
        let twice = |ctx: Ctx, (): ()| async move {
            ctx.step("same", || std::future::ready(Ok(1))).await?;
            ctx.step("same", || std::future::ready(Ok(2))).await
        };
        let mut config = Config::new(DataFolder::at(desk.path()));
        config.listen = ([127, 0, 0, 1], 0).into();
        config.workflows = Workflows::new().with("publish@1", publish).with("twice@1", twice);
        let shutdown = CancellationToken::new();
        let ending = shutdown.clone();
        let serving = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(async {
                let server = Server::start(config).await.expect("the server starts");
                server.serve(ending).await.expect("no failed sync");
            });
        });
        eventually("the server is ready", || desk.path().join("server.json").exists().then_some(()));
        Self { desk, shutdown, serving: Some(serving) }
    }

    fn until(&self, run: &str, status: &str) {
        eventually(status, || (self.desk.json(&["show", run])["status"] == status).then_some(()));
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.shutdown.cancel();
        // Its own panic says more than that it cannot be joined.
        let _ = self.serving.take().map(std::thread::JoinHandle::join);
    }
}

#[test]
fn a_run_that_waits_at_a_gate_says_how_it_is_decided_and_goes_on() {
    let serving = Serving::start();
    let desk = &serving.desk;
    let run = desk.say(&["start", "News", "--workflow", "publish@1", "--input", "\"News\""]);
    serving.until(&run, "parked");
    let shown = desk.say(&["show", &run]);
    let gate = desk.pending(1)[0]["id"].as_str().unwrap().to_owned();
    let approve = format!("approve {}\n", &gate[gate.len() - 8..]);
    for part in
        ["News\nparked · started by agent", "publish@1", "Publish News: a draft?", &approve, "publish  gate  waiting"]
    {
        assert!(shown.contains(part), "{part:?} is missing in\n{shown}");
    }
    let drawn = desk.say(&["show", &run, "--timeline"]);
    assert!(drawn.contains("░▶"), "it waits for a person: {drawn}");
    let resumed = desk.run(&["resume", &run]);
    assert_eq!((resumed.code, resumed.stderr.contains("goes on by itself")), (1, true), "{resumed:?}");
    desk.say(&["approve", "-y"]);
    serving.until(&run, "completed");
    let shown = desk.say(&["show", &run]);
    assert!(shown.contains("completed by workflow:publish@1\n  │ true\n"), "{shown}");
    assert!(desk.say(&["show", &run, "--timeline"]).contains("approved"));
}

#[test]
fn a_run_that_stopped_is_in_the_status_and_says_why_and_how_it_goes_on() {
    let serving = Serving::start();
    let desk = &serving.desk;
    let run = desk.say(&["start", "Odd", "--workflow", "twice@1"]);
    serving.until(&run, "stopped");
    for verb in [&["status"][..], &["status", "--waiting"]] {
        let said = desk.say(verb);
        for part in ["stopped 1 run", &run, "this workflow uses the key \"same\" twice"] {
            assert!(said.contains(part), "{part:?} is missing in\n{said}");
        }
    }
    assert_eq!(desk.json(&["status"])["stopped"][0]["id"], run.as_str());
    let shown = desk.say(&["show", &run]);
    assert!(
        shown.contains("(key_used_twice)") && shown.contains(&format!("resume {}", &run[run.len() - 8..])),
        "{shown}"
    );
    let resumed = desk.say(&["resume", &run[run.len() - 8..]]);
    assert_eq!(resumed, format!("pending Odd {run}"));
    serving.until(&run, "stopped");
    assert!(desk.say(&["events", &run]).contains("key_used_twice: this workflow uses"));
    assert_eq!(desk.say(&["cancel", &run]), format!("cancelled Odd {run}"));
}
