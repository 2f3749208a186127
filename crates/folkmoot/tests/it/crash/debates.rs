//! SIGKILL in the middle of every phase of a debate, and at every gate: it goes on where it was, no
//! turn is taken twice, and it comes to the verdict that it comes to undisturbed.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_api::{
    Client,
    client::DebateFrame,
    core::{GateId, RunId, gate::Choice},
    debate::{DebateEvent, agent::DebatePhase, record::DebateStatus},
    wire::{Agents, DebateGates, DebateResults, DebateTurnQuery, NewAgent, PhaseSwitch, StartDebate, Verdict},
};
use futures_util::StreamExt;

use super::{eventually, process::Home};
use crate::server::{ALICE, ROBOT};

/// Long enough that nobody sees a phase begin only after it is over, as a rule; else it is tried
/// again.
const TRIES: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_debate_goes_on_where_it_was_killed_and_ends_as_if_it_were_not() {
    let undisturbed = held(false).await;
    assert_eq!(undisturbed.results.verdict.turns.failed, 0);
    let phases: BTreeSet<DebatePhase> = DebatePhase::ALL.iter().copied().collect();
    let mut hit = BTreeSet::new();
    for _ in 0..TRIES {
        let killed = held(true).await;
        assert_eq!(killed.results.verdict, undisturbed.results.verdict);
        assert_eq!(killed.results.code, undisturbed.results.code);
        assert_eq!(killed.turns, undisturbed.turns, "the same turns, each once");
        assert_eq!(killed.gates, 2, "one after the proposals, one before the verdict");
        hit.extend(killed.hit);
        if hit == phases {
            return;
        }
    }
    panic!("only in these phases was it killed: {hit:?}");
}

struct Held {
    results: DebateResults,
    /// What was said, by the turn's id.
    turns: BTreeMap<String, Option<String>>,
    gates: usize,
    /// The phases that it was in when it was killed.
    hit: BTreeSet<DebatePhase>,
}

/// Holds the debate, always under the same id: who is shown what in which order depends on it.
async fn held(kills: bool) -> Held {
    let mut home = Home::new();
    home.environment.push(("FOLKMOOT_PROVIDER", "rehearsal".to_owned()));
    let mut server = home.start().await;
    let id = server.client(ROBOT).start_debate(&debate(), None).await.expect("it starts").id;
    let (mut begun, mut gates) = (BTreeSet::new(), Vec::new());
    loop {
        let next = next(&server.client(ALICE), &id, &begun, &gates).await;
        match next {
            Next::Begins(phase) => {
                begun.insert(phase);
                if kills {
                    server.kill();
                    server = home.start().await;
                }
            }
            Next::Waits(gate) => {
                if kills {
                    server.kill();
                    server = home.start().await;
                }
                let client = server.client(ALICE);
                let waits =
                    async || client.debate_status(&id).await.ok().filter(|it| it.status == DebateStatus::Paused);
                assert_eq!(eventually(waits).await.waiting_at.as_ref(), Some(&gate), "the same gate, after a kill");
                let seen = client.gate(&gate).await.expect("it is shown").digest;
                let verdict = Verdict { reason: Some("read".to_owned()), digest: Some(seen), ..Verdict::default() };
                client.decide_debate(&id, Choice::Approve, &verdict, None).await.expect("it can be decided");
                gates.push(gate);
            }
            Next::Over => break,
        }
    }
    let client = server.client(ALICE);
    let results = client.debate_results(&id).await.expect("a result");
    let query = DebateTurnQuery { limit: Some(200), ..DebateTurnQuery::default() };
    let said = client.debate_turns(&id, &query).await.expect("its turns").turns;
    let count = said.len();
    let turns: BTreeMap<_, _> = said.into_iter().map(|turn| (turn.id, turn.content)).collect();
    assert_eq!(turns.len(), count, "no turn twice");
    let hit = each_once(&client, &id).await;
    let replay = client.replay_debate(&id).await.expect("it can be replayed");
    assert!(replay.same, "{:?}", replay.differs);
    let verified = client.verify().await.expect("it can be verified");
    assert!(verified.ok, "{:?}", verified.problems);
    Held { results, turns, gates: gates.len(), hit }
}

enum Next {
    Begins(DebatePhase),
    Waits(GateId),
    Over,
}

/// Follows it until there is something new.
async fn next(client: &Client, id: &RunId, begun: &BTreeSet<DebatePhase>, gates: &[GateId]) -> Next {
    let mut frames = client.follow_debate(id, None).await.expect("its events");
    while let Some(frame) = frames.next().await {
        match frame.expect("an event") {
            DebateFrame::Happened(event) if event.kind == "gate.opened" => {
                let gate: GateId = event.stream.parse().expect("a gate");
                if !gates.contains(&gate) {
                    return Next::Waits(gate);
                }
            }
            DebateFrame::Happened(event) => match DebateEvent::read(&event.kind, event.payload.get()) {
                Some(DebateEvent::PhaseStarted { phase, .. }) if !begun.contains(&phase) => return Next::Begins(phase),
                _ => {}
            },
            DebateFrame::Ended(debate) => {
                assert_eq!(debate.status, DebateStatus::Completed, "{:?}", debate.fault);
                return Next::Over;
            }
        }
    }
    panic!("its events end before it does");
}

/// That everything was told once; and the phases that it was in when it was taken up again.
async fn each_once(client: &Client, id: &RunId) -> BTreeSet<DebatePhase> {
    let (mut now, mut hit, mut started, mut completed) = (None, BTreeSet::new(), Vec::new(), Vec::new());
    let mut after = 0;
    loop {
        let page = client.run_events(id, after, 500).await.expect("its events").entries;
        let Some(last) = page.last() else { break };
        after = last.position;
        for entry in &page {
            if entry.kind == "run.resumed" {
                hit.extend(now);
            }
            match DebateEvent::read(&entry.kind, &entry.payload) {
                Some(DebateEvent::PhaseStarted { phase, round, .. }) => {
                    now = Some(phase);
                    started.push((round, phase));
                }
                Some(DebateEvent::PhaseCompleted { phase, round, .. }) => {
                    now = None;
                    completed.push((round, phase));
                }
                _ => {}
            }
        }
    }
    let once: Vec<(u32, DebatePhase)> = DebatePhase::ALL.iter().map(|phase| (1, *phase)).collect();
    assert_eq!((started, completed), (once.clone(), once), "each phase once, in order");
    hit
}

/// All eight phases on code. Agents speak one after another, so that every phase takes a while.
fn debate() -> StartDebate {
    let agent = |id: &str| NewAgent {
        id: id.parse().expect("a name"),
        role: id.parse().expect("a role"),
        provider: None,
        model: None,
        domain: None,
        score: None,
    };
    let team = ["proposer", "critic", "red_team", "reviewer", "architect", "optimizer", "moderator"];
    StartDebate {
        topic: "Write parse_duration in Python: turn 90s, 5m, 1h30m or 2d into seconds, refuse anything else"
            .to_owned(),
        id: Some("killed".parse().expect("an id")),
        agents: Some(Agents::Listed(team.map(agent).into())),
        answers: Some(1),
        max_parallel: Some(1),
        max_rounds: Some(1),
        tool_calls_max: Some(0),
        self_evolvement_iterations: Some(1),
        phases: [(DebatePhase::Dehallucination, PhaseSwitch(folkmoot_api::debate::Switch::On))].into(),
        gates: Some(DebateGates {
            enabled: true,
            gate_points: vec![DebatePhase::Proposal, DebatePhase::Convergence],
            ..DebateGates::default()
        }),
        ..StartDebate::default()
    }
}
