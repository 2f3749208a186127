//! Following a debate to its end: who speaks, what tests say, how they vote, what it asks, and what
//! came of it.

use std::{
    io::Write,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Result;
use folkmoot_api::{
    Client, client,
    client::DebateFrame,
    core::{
        GateId, QuestionId, RunId,
        debate::{DebateEvent, DebateProgress, record::DebateStatus},
        gate::Choice,
    },
    wire::{Debate, DebateResults, Event},
};
use futures_util::StreamExt;

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

/// How long one look lasts at least, also where this process is the server only for a moment.
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
            (_, true) => format!("The debate waits at its gate. {go_on} goes on with it."),
            (true, false) => format!("The debate stands still, as no server holds it. {go_on} goes on with it."),
            (false, false) => format!("The debate goes on without you. {go_on} shows it again."),
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

/// Whether somebody must decide before it goes on.
async fn waits(ctx: &CliContext, connection: &mut Connection, id: &RunId) -> bool {
    let read = async |client: &Client| Ok(client.debate_status(id).await?.waiting_at.is_some());
    connection.ask(ctx, ActingAs::You, read).await.unwrap_or(false)
}

/// How whoever follows a debate is asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FollowMode {
    /// Nobody is: this is what is decided, as if somebody had.
    pub(crate) plays: Option<Choice>,
    /// Nothing is at stake: what was typed ahead counts, and so does what comes through a pipe.
    pub(crate) lightly: bool,
}

/// A debate that has ended, and its results.
pub(crate) struct EndedDebate {
    debate: Debate,
    results: Option<DebateResults>,
}

impl EndedDebate {
    /// Says it on the screen.
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

    /// What a script may do.
    pub(crate) fn exit(&self) -> Exit {
        views::debate::exit(&self.debate, self.results.as_ref())
    }
}

/// What a debate came to, if it came to its end.
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

/// Whether following a debate stops, and why.
enum FollowStop {
    Not,
    /// Somebody must decide.
    At(GateId),
    /// Somebody must answer.
    Asked(QuestionId),
    Over(Box<Debate>),
}

/// The debate once it is over; nothing if whoever sits there leaves it.
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
        lock(&seen).clear(ctx);
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

/// What was read of a debate, and what is drawn.
#[derive(Default)]
struct FollowState {
    position: Option<u64>,
    progress: DebateProgress,
    /// Gates and questions that were shown here.
    asked: Vec<String>,
    drawn: bool,
}

fn lock(seen: &Mutex<FollowState>) -> MutexGuard<'_, FollowState> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows what happens, for as long as `round`, or until somebody must decide or it is over.
async fn seen_until(
    ctx: &CliContext,
    client: &Client,
    id: &RunId,
    seen: &Mutex<FollowState>,
    round: Duration,
    manner: FollowMode,
) -> Result<FollowStop, client::Error> {
    let until = Instant::now() + round.max(LOOK);
    let after = lock(seen).position;
    let mut frames = client.follow_debate(id, after).await?;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let frame = match tokio::time::timeout(left, frames.next()).await {
            // Nothing happened, or the server is about to end: whoever waits goes on from here.
            Err(_) | Ok(None) => return Ok(FollowStop::Not),
            Ok(Some(frame)) => frame?,
        };
        match frame {
            DebateFrame::Ended(debate) => return Ok(FollowStop::Over(debate)),
            DebateFrame::Happened(event) => {
                lock(seen).show(ctx, &event, manner);
                if event.kind == "run.parked" && event.payload.get().contains(r#""held""#) {
                    let halted_by = client.debate_status(id).await?.halted_by.join(", ");
                    if !halted_by.is_empty() {
                        ctx.screen.note(format!("Halted by {halted_by}. It goes on when that is answered or lifted."));
                    }
                }
                if event.kind == "question.asked"
                    && let Ok(question) = event.stream.parse::<QuestionId>()
                    && client.debate_status(id).await?.questions.contains(&question)
                    && lock(seen).asks(question.as_str())
                {
                    return Ok(FollowStop::Asked(question));
                }
                if event.kind != "gate.opened" {
                    continue;
                }
                let Ok(gate) = event.stream.parse::<GateId>() else { continue };
                // It may be decided by now; or not be the debate's own, whatever it looks like.
                if client.debate_status(id).await?.waiting_at.as_ref() == Some(&gate) && lock(seen).asks(gate.as_str())
                {
                    return Ok(FollowStop::At(gate));
                }
            }
        }
    }
}

impl FollowState {
    /// Whether this gate or question was not asked about here before.
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
        // The last column stays free: some terminals begin a new line there.
        let room = ctx.screen.columns().saturating_sub(1);
        self.clear(ctx);
        if let Some(line) = line {
            let line = cut(&line, room);
            match (ctx.screen.terminal, manner.lightly) {
                (true, _) => over(&format!("{line}\n")),
                // Whoever only looks on wants all of it in one place.
                (false, true) => drop(ctx.screen.say(line)),
                (false, false) => ctx.screen.note(line),
            }
        }
        if ctx.screen.terminal {
            over(&cut(&views::debate::status(&self.progress), room));
            self.drawn = true;
        }
    }

    /// Takes the line away that says how far it is.
    fn clear(&mut self, ctx: &CliContext) {
        if ctx.screen.terminal && self.drawn {
            over("");
        }
        self.drawn = false;
    }
}

/// Nobody is left to tell that this failed.
fn over(text: &str) {
    let mut out = anstream::stdout().lock();
    let _ = write!(out, "\r\x1b[2K{text}").and_then(|()| out.flush());
}
