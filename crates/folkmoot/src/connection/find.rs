//! Which one is meant. An id may be cut to any unique beginning or end, or left out where only one
//! waits.

use std::{borrow::Borrow, str::FromStr};

use anyhow::{Result, bail};
use folkmoot_api::{
    Client, client,
    core::{GateId, GateStatus, HaltId, QuestionId, RunId, question::QuestionStatus, run::RunStatus},
    wire::{BlockedBy, Gate, GateListParams, Question, QuestionListParams, Run, RunListParams},
};

use crate::terminal::{printable::one_line, wrap::cut};

/// Digits at the end of an id that tell things apart in practice.
const SHORT: usize = 8;
pub(crate) const PAGE: u32 = 500;

/// Something that waits, and has an id of the form `{noun}-…-{sixteen hexadecimal digits}`.
pub(crate) trait FindById: Sized {
    type Id: FromStr + Clone + Borrow<str>;
    const NOUN: &'static str;
    /// What one is, and what several are, that can still be ended.
    const WAITS: [&'static str; 2] = ["is waiting", "are waiting"];
    const OPEN: &'static str = "pending";
    /// The verb that lists them.
    const LIST: &'static str;

    fn id(&self) -> Self::Id;
    fn title(&self) -> String;
    /// All that wait.
    async fn waiting(client: &Client) -> Result<Vec<Self>>;
    /// The last ones, whether or not they wait.
    async fn recent(client: &Client) -> Result<Vec<Self>>;
    /// One that has exactly this id, where ids can be of any form.
    async fn exact(_client: &Client, _text: &str) -> Result<Option<Self::Id>> {
        Ok(None)
    }
    /// The only one at which a run waits that has this id.
    async fn of_run(_client: &Client, _text: &str) -> Result<Option<Self::Id>> {
        Ok(None)
    }
    /// What else this could be the id of, and the verb for that.
    async fn mistaken(_client: &Client, _text: &str) -> Result<Option<&'static str>> {
        Ok(None)
    }
}

/// The end of an id, enough to name it.
pub(crate) fn short<Id: Borrow<str> + ?Sized>(id: &Id) -> &str {
    let text = id.borrow();
    &text[text.len().saturating_sub(SHORT)..]
}

/// As [`short`], unless whoever started the run has given it a name.
pub(crate) fn short_run(id: &RunId) -> &str {
    if whole::<Run>(id.as_str()).is_some() { short(id) } else { id.as_str() }
}

/// A run, a gate or a question.
#[derive(Debug)]
pub(crate) enum FoundItem {
    Run(RunId),
    Gate(GateId),
    Question(QuestionId),
}

/// Whichever of the three is meant. Without an id, the run that is under way.
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

/// One that waits.
pub(crate) async fn pending<T: FindById>(client: &Client, id: Option<&str>) -> Result<T::Id> {
    if let Some(whole) = id.and_then(whole::<T>) {
        return Ok(whole);
    }
    let waiting = T::waiting(client).await?;
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

/// Any: one that waits, or one of the last that did.
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

/// The run that somebody means: one that is there, by any unique beginning or end of its id, or a
/// new one of that name.
pub(crate) async fn run_or_new(client: &Client, id: Option<&RunId>) -> Result<Option<RunId>> {
    let Some(id) = id else { return Ok(None) };
    if let Some(exact) = Run::exact(client, id.as_str()).await? {
        return Ok(Some(exact));
    }
    Ok(Some(known::<Run>(client, id.as_str()).await?.unwrap_or_else(|| id.clone())))
}

async fn known<T: FindById>(client: &Client, id: &str) -> Result<Option<T::Id>> {
    match choose(id, &T::waiting(client).await?)? {
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
    // Lists show the end of an id, so its beginning may be said too.
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

    async fn waiting(client: &Client) -> Result<Vec<Self>> {
        let mut query =
            GateListParams { status: Some(GateStatus::Pending), limit: Some(PAGE), ..GateListParams::default() };
        let mut gates = Vec::new();
        loop {
            let page = client.gates(&query).await?;
            gates.extend(page.gates);
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => return Ok(gates),
            }
        }
    }

    async fn recent(client: &Client) -> Result<Vec<Self>> {
        Ok(client.gates(&GateListParams { limit: Some(PAGE), ..GateListParams::default() }).await?.gates)
    }

    async fn of_run(client: &Client, text: &str) -> Result<Option<GateId>> {
        // A part of the id is not enough to decide by: only what lists show of it.
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
        let found = choose(text, &Question::waiting(client).await?)?;
        Ok(found.map(|_| "a question; see `folkmoot answer` and `folkmoot deny`"))
    }
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

    async fn waiting(client: &Client) -> Result<Vec<Self>> {
        let status = Some(QuestionStatus::Pending);
        let mut query = QuestionListParams { status, limit: Some(PAGE), ..QuestionListParams::default() };
        let mut questions = Vec::new();
        loop {
            let page = client.questions(&query).await?;
            questions.extend(page.questions);
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => return Ok(questions),
            }
        }
    }

    async fn recent(client: &Client) -> Result<Vec<Self>> {
        Ok(client
            .questions(&QuestionListParams { limit: Some(PAGE), ..QuestionListParams::default() })
            .await?
            .questions)
    }

    async fn mistaken(client: &Client, text: &str) -> Result<Option<&'static str>> {
        let found = choose(text, &Gate::waiting(client).await?)?;
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

    async fn waiting(client: &Client) -> Result<Vec<Self>> {
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

/// Of runs of one sort, the newest first, the one that somebody means by any unique beginning or
/// end of its id; the newest where nothing was said.
pub(crate) fn one_of(noun: &str, said: Option<&str>, newest_first: Vec<RunId>) -> Result<RunId> {
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
pub(crate) fn is_unknown_run(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(client::Error::Problem(problem)) if problem.code == "unknown_run")
}

/// All runs with this status.
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

/// An operator's halt, as what it holds names it.
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

    async fn waiting(client: &Client) -> Result<Vec<Self>> {
        let status = client.halts().await?;
        Ok(status.held_by.all().into_iter().filter_map(Self::new).collect())
    }

    /// The server lists only those that stand.
    async fn recent(_: &Client) -> Result<Vec<Self>> {
        Ok(Vec::new())
    }
}
