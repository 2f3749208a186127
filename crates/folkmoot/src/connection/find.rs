//! Finds the gate, question or run that the user means. An id may be shortened to any unique
//! beginning or end, or left out if only one is pending.

use std::{borrow::Borrow, collections::HashMap, str::FromStr};

use anyhow::{Result, bail};
use folkmoot_api::{
    Client, client,
    core::{GateId, GateStatus, HaltId, Name, QuestionId, RunId, question::QuestionStatus, run::RunStatus},
    wire::{BlockedBy, Gate, GateListParams, Question, QuestionListParams, Run, RunListParams},
};

use super::Connection;
use crate::{
    cli::ActingAs,
    context::CliContext,
    terminal::{printable::one_line, wrap::cut},
};

/// How many digits at the end of an id are shown. They are unique in practice.
const SHORT: usize = 8;
pub(crate) const PAGE: u32 = 500;

/// An item with an id of the form `{noun}-…-{sixteen hexadecimal digits}`.
pub(crate) trait FindById: Sized {
    type Id: FromStr + Clone + Borrow<str>;
    const NOUN: &'static str;
    /// How messages say that one item, or several, are pending.
    const WAITS: [&'static str; 2] = ["is waiting", "are waiting"];
    const OPEN: &'static str = "pending";
    /// The verb that lists them.
    const LIST: &'static str;

    fn id(&self) -> Self::Id;
    fn title(&self) -> String;
    /// The pending items, interleaved. If `brief`, only with the beginnings of long texts.
    async fn waiting(client: &Client, brief: bool) -> Result<Vec<Self>>;
    /// The latest items, pending or not.
    async fn recent(client: &Client) -> Result<Vec<Self>>;
    /// The item with exactly this id, for ids that can have any form.
    async fn exact(_client: &Client, _text: &str) -> Result<Option<Self::Id>> {
        Ok(None)
    }
    /// The only pending item of the run with this id.
    async fn of_run(_client: &Client, _text: &str) -> Result<Option<Self::Id>> {
        Ok(None)
    }
    /// Another kind of item that has this id, and the verb for it.
    async fn mistaken(_client: &Client, _text: &str) -> Result<Option<&'static str>> {
        Ok(None)
    }
}

/// The end of an id, which is enough to name it.
pub(crate) fn short<Id: Borrow<str> + ?Sized>(id: &Id) -> &str {
    let text = id.borrow();
    &text[text.len().saturating_sub(SHORT)..]
}

/// As [`short`], but an id that the user chose is returned whole.
pub(crate) fn short_run(id: &RunId) -> &str {
    if whole::<Run>(id.as_str()).is_some() { short(id) } else { id.as_str() }
}

#[derive(Debug)]
pub(crate) enum FoundItem {
    Run(RunId),
    Gate(GateId),
    Question(QuestionId),
}

/// Finds a run, gate or question by its id. Without an id, returns the active run.
pub(crate) async fn thing(client: &Client, id: Option<&str>) -> Result<FoundItem> {
    let Some(id) = id else { return Ok(FoundItem::Run(pending::<Run>(client, None).await?)) };
    if let Some(gate) = whole::<Gate>(id) {
        return Ok(FoundItem::Gate(gate));
    }
    if let Some(question) = whole::<Question>(id) {
        return Ok(FoundItem::Question(question));
    }
    if let Some(run) = Run::exact(client, id).await? {
        return Ok(FoundItem::Run(run));
    }
    let found = [
        known::<Run>(client, id).await?.map(FoundItem::Run),
        known::<Gate>(client, id).await?.map(FoundItem::Gate),
        known::<Question>(client, id).await?.map(FoundItem::Question),
    ];
    let mut found = found.into_iter().flatten();
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => {
            bail!("{id:?} is no recent run, gate or question; `folkmoot runs` and `folkmoot status` show what there is")
        }
        (Some(_), Some(_)) => bail!("{id:?} means a run, a gate or a question; say more of it"),
    }
}

/// Finds a pending item.
pub(crate) async fn pending<T: FindById>(client: &Client, id: Option<&str>) -> Result<T::Id> {
    if let Some(whole) = id.and_then(whole::<T>) {
        return Ok(whole);
    }
    let waiting = T::waiting(client, true).await?;
    let ([is, are], noun) = (T::WAITS, T::NOUN);
    match (id, waiting.as_slice()) {
        (Some(id), known) => match choose(id, known)? {
            Some(found) => Ok(found),
            None => Err(nothing::<T>(client, id, T::OPEN).await?),
        },
        (None, [only]) => Ok(only.id()),
        (None, []) => bail!("no {noun} {is}"),
        (None, known) => bail!("{} {noun}s {are}; say which:{}", known.len(), list(known)),
    }
}

/// Finds a pending item, or one of the latest.
pub(crate) async fn any<T: FindById>(client: &Client, id: Option<&str>) -> Result<T::Id> {
    let Some(id) = id else { return pending::<T>(client, None).await };
    if let Some(whole) = whole::<T>(id) {
        return Ok(whole);
    }
    if let Some(exact) = T::exact(client, id).await? {
        return Ok(exact);
    }
    if let Some(found) = known::<T>(client, id).await? {
        return Ok(found);
    }
    match T::of_run(client, id).await? {
        Some(found) => Ok(found),
        None => Err(nothing::<T>(client, id, "recent").await?),
    }
}

/// Finds an existing run by any unique beginning or end of its id, or returns the text as the id of
/// a new run.
pub(crate) async fn run_or_new(client: &Client, id: Option<&RunId>) -> Result<Option<RunId>> {
    let Some(id) = id else { return Ok(None) };
    if let Some(exact) = Run::exact(client, id.as_str()).await? {
        return Ok(Some(exact));
    }
    Ok(Some(known::<Run>(client, id.as_str()).await?.unwrap_or_else(|| id.clone())))
}

async fn known<T: FindById>(client: &Client, id: &str) -> Result<Option<T::Id>> {
    match choose(id, &T::waiting(client, true).await?)? {
        Some(found) => Ok(Some(found)),
        None => choose(id, &T::recent(client).await?),
    }
}

fn whole<T: FindById>(text: &str) -> Option<T::Id> {
    let (front, random) = text.rsplit_once('-')?;
    let named = front.strip_prefix(T::NOUN).is_some_and(|rest| rest.starts_with('-'));
    let whole = named && random.len() == 16 && random.bytes().all(|b| b.is_ascii_hexdigit());
    text.parse().ok().filter(|_| whole)
}

fn choose<T: FindById>(text: &str, known: &[T]) -> Result<Option<T::Id>> {
    // Lists show the end of an id, so accept the end as well as the beginning.
    let meant = |one: &&T| {
        let id = one.id();
        let whole: &str = id.borrow();
        !text.is_empty() && (whole.starts_with(text) || whole.ends_with(text) || short(whole).starts_with(text))
    };
    let found: Vec<&T> = known.iter().filter(meant).collect();
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.id())),
        several => {
            let (count, noun) = (several.len(), T::NOUN);
            bail!("{text:?} means {count} {noun}s; say more of it:{}", list(several.iter().copied()))
        }
    }
}

async fn nothing<T: FindById>(client: &Client, id: &str, which: &str) -> Result<anyhow::Error> {
    let noun = T::NOUN;
    Ok(match T::mistaken(client, id).await? {
        Some(hint) => anyhow::anyhow!("{id:?} is no {noun} but {hint}"),
        None => anyhow::anyhow!("{id:?} is no {which} {noun}; `folkmoot {}` shows those you can see", T::LIST),
    })
}

fn list<'a, T: FindById + 'a>(known: impl IntoIterator<Item = &'a T>) -> String {
    let line = |one: &T| {
        let title = cut(&one_line(&one.title()), 60);
        format!("\n  {}  {title}", short(&one.id()))
    };
    let mut known = known.into_iter();
    let some: String = known.by_ref().take(10).map(line).collect();
    match known.count() {
        0 => some,
        more => format!("{some}\n  and {more} more"),
    }
}

impl FindById for Gate {
    type Id = GateId;
    const NOUN: &'static str = "gate";
    const LIST: &'static str = "gate list";

    fn id(&self) -> GateId {
        self.id.clone()
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    async fn waiting(client: &Client, brief: bool) -> Result<Vec<Self>> {
        let mut query =
            GateListParams { status: Some(GateStatus::Pending), brief, limit: Some(PAGE), ..GateListParams::default() };
        let mut gates = Vec::new();
        loop {
            let page = client.gates(&query).await?;
            gates.extend(page.gates);
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => return Ok(interleaved(gates, Gate::asker)),
            }
        }
    }

    async fn recent(client: &Client) -> Result<Vec<Self>> {
        Ok(client.gates(&GateListParams { brief: true, limit: Some(PAGE), ..GateListParams::default() }).await?.gates)
    }

    async fn of_run(client: &Client, text: &str) -> Result<Option<GateId>> {
        // A decision needs more than any part of an id: the whole id, or the part that lists show.
        let named = |run: &Run| run.id.as_str() == text || short_run(&run.id) == text;
        let mut runs = runs(client, RunStatus::Parked).await?.into_iter().filter(named).map(|run| run.id);
        let (Some(run), None) = (runs.next(), runs.next()) else { return Ok(None) };
        let query = GateListParams { status: Some(GateStatus::Pending), run: Some(run), ..GateListParams::default() };
        match client.gates(&query).await?.gates.as_slice() {
            [only] => Ok(Some(only.id.clone())),
            [] => Ok(None),
            several => {
                let (count, all) = (several.len(), list(several));
                bail!("{text:?} is a run that waits at {count} gates; say which:{all}")
            }
        }
    }

    async fn mistaken(client: &Client, text: &str) -> Result<Option<&'static str>> {
        let found = choose(text, &Question::waiting(client, true).await?)?;
        Ok(found.map(|_| "a question; see `folkmoot answer` and `folkmoot deny`"))
    }
}

/// The first of each who asks, then the second of each, and so on: nobody hides what another asks.
fn interleaved<T>(asked: Vec<T>, by: impl Fn(&T) -> &Name) -> Vec<T> {
    let mut seen: HashMap<Name, usize> = HashMap::new();
    let mut ranked: Vec<(usize, T)> = Vec::with_capacity(asked.len());
    for one in asked {
        let rank = seen.entry(by(&one).clone()).or_default();
        ranked.push((*rank, one));
        *rank += 1;
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, one)| one).collect()
}

impl FindById for Question {
    type Id = QuestionId;
    const NOUN: &'static str = "question";
    const LIST: &'static str = "questions";

    fn id(&self) -> QuestionId {
        self.id.clone()
    }

    fn title(&self) -> String {
        self.text.clone().unwrap_or_default()
    }

    async fn waiting(client: &Client, brief: bool) -> Result<Vec<Self>> {
        let status = Some(QuestionStatus::Pending);
        let mut query = QuestionListParams { status, brief, limit: Some(PAGE), ..QuestionListParams::default() };
        let mut questions = Vec::new();
        loop {
            let page = client.questions(&query).await?;
            questions.extend(page.questions);
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => return Ok(interleaved(questions, Question::asker)),
            }
        }
    }

    async fn recent(client: &Client) -> Result<Vec<Self>> {
        Ok(client
            .questions(&QuestionListParams { brief: true, limit: Some(PAGE), ..QuestionListParams::default() })
            .await?
            .questions)
    }

    async fn mistaken(client: &Client, text: &str) -> Result<Option<&'static str>> {
        let found = choose(text, &Gate::waiting(client, true).await?)?;
        Ok(found.map(|_| "a gate; see `folkmoot approve` and `folkmoot reject`"))
    }
}

impl FindById for Run {
    type Id = RunId;
    const NOUN: &'static str = "run";
    const WAITS: [&'static str; 2] = ["is under way", "are under way"];
    const OPEN: &'static str = "unfinished";
    const LIST: &'static str = "runs";

    fn id(&self) -> RunId {
        self.id.clone()
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    async fn waiting(client: &Client, _brief: bool) -> Result<Vec<Self>> {
        let mut runs = Vec::new();
        for status in [RunStatus::Stopped, RunStatus::Parked, RunStatus::Running, RunStatus::Pending] {
            runs.extend(self::runs(client, status).await?);
        }
        Ok(runs)
    }

    async fn recent(client: &Client) -> Result<Vec<Self>> {
        Ok(client.runs(&RunListParams { limit: Some(PAGE), ..RunListParams::default() }).await?.runs)
    }

    async fn exact(client: &Client, text: &str) -> Result<Option<RunId>> {
        let Ok(id) = text.parse() else { return Ok(None) };
        match client.run(&id).await {
            Ok(run) => Ok(Some(run.id)),
            Err(client::Error::Problem(problem)) if problem.status == 404 => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Finds a run of one kind by its id, or by any unique beginning or end of it. Without an id, the
/// newest one.
pub(crate) async fn one_of(
    ctx: &CliContext,
    connection: &mut Connection,
    noun: &str,
    said: Option<&str>,
    exact: impl AsyncFn(&Client, &RunId) -> Result<RunId>,
    newest_first: impl AsyncFn(&Client) -> Result<Vec<RunId>>,
) -> Result<RunId> {
    if let Some(Ok(id)) = said.map(str::parse) {
        match connection.ask(ctx, ActingAs::You, async |client: &Client| exact(client, &id).await).await {
            Err(error) if is_unknown_run(&error) => {}
            found => return found,
        }
    }
    let newest_first = connection.ask(ctx, ActingAs::You, newest_first).await?;
    let Some(text) = said else {
        return match newest_first.into_iter().next() {
            Some(newest) => Ok(newest),
            None => bail!("there is no {noun}; `folkmoot {noun} \"…\"` makes one"),
        };
    };
    let means = |id: &RunId| id.as_str().starts_with(text) || id.as_str().ends_with(text);
    let mut found: Vec<RunId> = newest_first.into_iter().filter(means).collect();
    match (found.pop(), found.first()) {
        (Some(only), None) => Ok(only),
        (None, _) => bail!("{text:?} is no {noun}; `folkmoot {noun} list` shows those there are"),
        (Some(one), Some(other)) => {
            let (one, other) = (short_run(&one), short_run(other));
            bail!("{text:?} means several {noun}s, such as {one} and {other}; say more of it")
        }
    }
}

/// Whether the server says that there is no such run.
fn is_unknown_run(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(client::Error::Problem(problem)) if problem.code == "unknown_run")
}

pub(crate) async fn runs(client: &Client, status: RunStatus) -> Result<Vec<Run>> {
    let mut query = RunListParams { status: Some(status), limit: Some(PAGE), ..RunListParams::default() };
    let mut runs = Vec::new();
    loop {
        let page = client.runs(&query).await?;
        runs.extend(page.runs);
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => return Ok(runs),
        }
    }
}

/// An operator's halt, as the list of holds names it.
#[derive(Debug)]
pub(crate) struct StandingHalt {
    id: HaltId,
    title: String,
}

impl StandingHalt {
    fn new(hold: &BlockedBy) -> Option<Self> {
        let id = (hold.kind == Self::NOUN).then(|| hold.id.parse().ok()).flatten()?;
        Some(Self { id, title: hold.reason.clone().unwrap_or_default() })
    }
}

impl FindById for StandingHalt {
    type Id = HaltId;
    const NOUN: &'static str = "halt";
    const WAITS: [&'static str; 2] = ["stands", "stand"];
    const OPEN: &'static str = "standing";
    const LIST: &'static str = "status --waiting";

    fn id(&self) -> HaltId {
        self.id.clone()
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    async fn waiting(client: &Client, _brief: bool) -> Result<Vec<Self>> {
        let status = client.halts().await?;
        Ok(status.held_by.all().into_iter().filter_map(Self::new).collect())
    }

    /// The server lists only halts that are in force.
    async fn recent(_: &Client) -> Result<Vec<Self>> {
        Ok(Vec::new())
    }
}
