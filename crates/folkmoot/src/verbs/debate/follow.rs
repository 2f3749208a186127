//! Follows a debate to its end: turns, tests, votes, gates, questions and the result.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use anyhow::Result;
use folkmoot_api::{
    Client,
    client::{self, DebateFrame},
    core::{GateId, QuestionId, RunId, gate::Choice},
    debate::{DebateEvent, DebateProgress, record::DebateStatus},
    wire::{Debate, DebateResults, Event},
};
use futures_util::StreamExt;
use parking_lot::Mutex;

use super::{answer, decide};
use crate::{
    cli::ActingAs,
    connection::{Connection, find, wait},
    context::CliContext,
    exit::Exit,
    signal,
    terminal::{
        style::{self, paint},
        wrap::cut,
    },
    views,
};

/// The shortest look at the server, also if this process hosts it only briefly.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) async fn run(ctx: &CliContext, connection: &mut Connection, id: &RunId) -> Result<Exit> {
    let interrupted = signal::shutdown()?;
    let ended = tokio::select! {
        ended = to_the_end(ctx, connection, id, FollowMode::default()) => ended,
        () = interrupted.cancelled() => Ok(None),
    };
    let Some(ended) = ended? else {
        let go_on = paint(style::COMMAND, format!("{} debate follow {}", ctx.command(), find::short_run(id)));
        let said = match (connection.is_hosted(), waits(ctx, connection, id).await) {
            (_, true) => format!("The debate waits at its gate. {go_on} returns to it."),
            (true, false) => format!("No server runs, so the debate does not continue. {go_on} continues it."),
            (false, false) => format!("The debate continues without you. {go_on} returns to it."),
        };
        ctx.screen.note(format!("\n{said}"));
        return Ok(Exit::Waiting);
    };
    ended.tell(ctx)?;
    if ctx.screen.terminal && !ctx.screen.json {
        let more = paint(style::COMMAND, format!("{} debate audit {}", ctx.command(), find::short_run(id)));
        ctx.screen.say(format!("{more} shows every prompt and every answer"))?;
    }
    Ok(ended.exit())
}

/// Whether it waits for a person.
async fn waits(ctx: &CliContext, connection: &mut Connection, id: &RunId) -> bool {
    let read = async |client: &Client| Ok(client.debate_status(id).await?.waiting_at.is_some());
    connection.ask(ctx, ActingAs::You, read).await.unwrap_or(false)
}

/// How the person who follows a debate is asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FollowMode {
    /// Decide this without asking anybody.
    pub(crate) plays: Option<Choice>,
    /// For the demo: accepts what was typed ahead, and input from a pipe.
    pub(crate) lightly: bool,
}

/// A debate that has ended, with its results.
pub(crate) struct EndedDebate {
    debate: Debate,
    results: Option<DebateResults>,
}

impl EndedDebate {
    /// Prints it.
    pub(crate) fn tell(&self, ctx: &CliContext) -> Result<()> {
        match (&self.results, ctx.screen.json) {
            (Some(results), true) => ctx.screen.json(results)?,
            (None, true) => ctx.screen.json(&self.debate)?,
            (_, false) => {
                ctx.screen.say(views::debate::ended(&self.debate, self.results.as_ref()))?;
                if let Some(committed) = views::debate::committed(&self.debate) {
                    ctx.screen.say(format!("{}  {committed}", paint(style::FAINT, "code")))?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn exit(&self) -> Exit {
        views::debate::exit(&self.debate, self.results.as_ref())
    }
}

/// The results, if it completed.
pub(super) async fn results(
    ctx: &CliContext,
    connection: &mut Connection,
    debate: &Debate,
) -> Result<Option<DebateResults>> {
    if debate.status != DebateStatus::Completed {
        return Ok(None);
    }
    let read = async |client: &Client| Ok(client.debate_results(&debate.id).await?);
    connection.ask(ctx, ActingAs::You, read).await.map(Some)
}

/// Whether following stops, and why.
enum FollowStop {
    Not,
    /// Somebody must decide.
    At(GateId),
    /// Somebody must answer.
    Asked(QuestionId),
    Over(Box<Debate>),
}

/// Follows it to its end. `None` if the person leaves.
pub(crate) async fn to_the_end(
    ctx: &CliContext,
    connection: &mut Connection,
    id: &RunId,
    manner: FollowMode,
) -> Result<Option<EndedDebate>> {
    let seen = Mutex::new(FollowState::default());
    loop {
        let look = async |client: &Client, round: Duration| seen_until(ctx, client, id, &seen, round, manner).await;
        let moved =
            wait::until(ctx, connection, ActingAs::You, None, look, |moved| !matches!(moved, FollowStop::Not)).await?;
        seen.lock().clear(ctx);
        match moved {
            FollowStop::Not => {}
            FollowStop::Over(debate) => {
                let results = results(ctx, connection, &debate).await?;
                return Ok(Some(EndedDebate { debate: *debate, results }));
            }
            FollowStop::Asked(question) => {
                if !answer::run(ctx, connection, &question).await? {
                    return Ok(None);
                }
            }
            FollowStop::At(gate) => {
                if !decide::run(ctx, connection, &gate, manner).await? {
                    return Ok(None);
                }
            }
        }
    }
}

/// What has been read and drawn so far.
#[derive(Default)]
struct FollowState {
    position: Option<u64>,
    progress: DebateProgress,
    /// Gates and questions that were already shown here.
    asked: Vec<String>,
    drawn: bool,
}

/// Shows events for at most `round`, or until somebody must decide or the debate is over.
async fn seen_until(
    ctx: &CliContext,
    client: &Client,
    id: &RunId,
    seen: &Mutex<FollowState>,
    round: Duration,
    manner: FollowMode,
) -> Result<FollowStop, client::Error> {
    let until = Instant::now() + round.max(LOOK);
    let after = seen.lock().position;
    let mut frames = client.follow_debate(id, after).await?;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let frame = match tokio::time::timeout(left, frames.next()).await {
            // Nothing happened, or the server is shutting down: the next round continues from here.
            Err(_) | Ok(None) => return Ok(FollowStop::Not),
            Ok(Some(frame)) => frame?,
        };
        match frame {
            DebateFrame::Ended(debate) => return Ok(FollowStop::Over(debate)),
            DebateFrame::Happened(event) => {
                seen.lock().show(ctx, &event, manner);
                if event.kind == "run.parked" && event.payload.get().contains(r#""held""#) {
                    let halted_by = client.debate_status(id).await?.halted_by.join(", ");
                    if !halted_by.is_empty() {
                        ctx.screen
                            .note(format!("Halted by {halted_by}. It continues when that is answered or lifted."));
                    }
                }
                if event.kind == "question.asked"
                    && let Ok(question) = event.stream.parse::<QuestionId>()
                    && client.debate_status(id).await?.questions.contains(&question)
                    && seen.lock().asks(question.as_str())
                {
                    return Ok(FollowStop::Asked(question));
                }
                if event.kind != "gate.opened" {
                    continue;
                }
                let Ok(gate) = event.stream.parse::<GateId>() else { continue };
                // The gate may be decided by now, or belong to something else.
                if client.debate_status(id).await?.waiting_at.as_ref() == Some(&gate) && seen.lock().asks(gate.as_str())
                {
                    return Ok(FollowStop::At(gate));
                }
            }
        }
    }
}

impl FollowState {
    /// Whether this gate or question is new here.
    fn asks(&mut self, id: &str) -> bool {
        let is_new = !self.asked.iter().any(|asked| asked == id);
        if is_new {
            self.asked.push(id.to_owned());
        }
        is_new
    }

    fn show(&mut self, ctx: &CliContext, event: &Event, manner: FollowMode) {
        self.position = Some(event.position);
        let told = DebateEvent::read(&event.kind, event.payload.get());
        if let Some(told) = &told {
            self.progress.apply(told);
        }
        if ctx.screen.json {
            return;
        }
        let line = match &told {
            Some(told) => views::debate::line(told, &serde_json::from_str(event.payload.get()).unwrap_or_default()),
            None => views::debate::gate_line(event).or_else(|| views::debate::outage_line(event)),
        };
        // The last column stays free, because some terminals begin a new line there.
        let room = ctx.screen.columns().saturating_sub(1);
        self.clear(ctx);
        if let Some(line) = line {
            let line = cut(&line, room);
            match (ctx.screen.terminal, manner.lightly) {
                (true, _) => over(&format!("{line}\n")),
                // Without prompts, everything goes to stdout.
                (false, true) => drop(ctx.screen.say(line)),
                (false, false) => ctx.screen.note(line),
            }
        }
        if ctx.screen.terminal {
            over(&cut(&views::debate::status(&self.progress), room));
            self.drawn = true;
        }
    }

    /// Removes the progress line.
    fn clear(&mut self, ctx: &CliContext) {
        if ctx.screen.terminal && self.drawn {
            over("");
        }
        self.drawn = false;
    }
}

/// Nobody could be told of this failure.
fn over(text: &str) {
    let mut out = anstream::stdout().lock();
    let _ = write!(out, "\r\x1b[2K{text}").and_then(|()| out.flush());
}
