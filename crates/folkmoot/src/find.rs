//! Which one is meant. An id may be cut to any unique beginning or end, or left out where only one waits.

use std::{borrow::Borrow, str::FromStr};

use anyhow::{Result, bail};
use folkmoot_api::{
    Client,
    core::{GateId, HaltId, QuestionId, Status, question},
    wire::{BlockedBy, Gate, GateQuery, Question, QuestionQuery},
};

use crate::screen::one_line;

/// Digits at the end of an id that tell things apart in practice.
const SHORT: usize = 8;
const PAGE: u32 = 500;

/// Something that waits, and has an id of the form `{noun}-…-{sixteen hexadecimal digits}`.
pub(crate) trait Find: Sized {
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

/// One that waits.
pub(crate) async fn pending<T: Find>(client: &Client, id: Option<&str>) -> Result<T::Id> {
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
pub(crate) async fn any<T: Find>(client: &Client, id: Option<&str>) -> Result<T::Id> {
    let Some(id) = id else { return pending::<T>(client, None).await };
    if let Some(whole) = whole::<T>(id) {
        return Ok(whole);
    }
    if let Some(found) = choose(id, &T::waiting(client).await?)? {
        return Ok(found);
    }
    match choose(id, &T::recent(client).await?)? {
        Some(found) => Ok(found),
        None => Err(nothing::<T>(client, id, "recent").await?),
    }
}

fn whole<T: Find>(text: &str) -> Option<T::Id> {
    let (front, random) = text.rsplit_once('-')?;
    let named = front.strip_prefix(T::NOUN).is_some_and(|rest| rest.starts_with('-'));
    let whole = named && random.len() == 16 && random.bytes().all(|b| b.is_ascii_hexdigit());
    text.parse().ok().filter(|_| whole)
}

fn choose<T: Find>(text: &str, known: &[T]) -> Result<Option<T::Id>> {
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

async fn nothing<T: Find>(client: &Client, id: &str, which: &str) -> Result<anyhow::Error> {
    let noun = T::NOUN;
    Ok(match T::mistaken(client, id).await? {
        Some(hint) => anyhow::anyhow!("{id:?} is no {noun} but {hint}"),
        None => anyhow::anyhow!("{id:?} is no {which} {noun}; `folkmoot {}` shows those you can see", T::LIST),
    })
}

fn list<'a, T: Find + 'a>(known: impl IntoIterator<Item = &'a T>) -> String {
    let line = |one: &T| {
        let title: String = one_line(&one.title()).chars().take(60).collect();
        format!("\n  {}  {title}", short(&one.id()))
    };
    let mut known = known.into_iter();
    let some: String = known.by_ref().take(10).map(line).collect();
    match known.count() {
        0 => some,
        more => format!("{some}\n  and {more} more"),
    }
}

impl Find for Gate {
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
        let mut query = GateQuery { status: Some(Status::Pending), limit: Some(PAGE), ..GateQuery::default() };
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
        Ok(client.gates(&GateQuery { limit: Some(PAGE), ..GateQuery::default() }).await?.gates)
    }

    async fn mistaken(client: &Client, text: &str) -> Result<Option<&'static str>> {
        let found = choose(text, &Question::waiting(client).await?)?;
        Ok(found.map(|_| "a question; see `folkmoot answer` and `folkmoot deny`"))
    }
}

impl Find for Question {
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
        let status = Some(question::Status::Pending);
        let mut query = QuestionQuery { status, limit: Some(PAGE), ..QuestionQuery::default() };
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
        Ok(client.questions(&QuestionQuery { limit: Some(PAGE), ..QuestionQuery::default() }).await?.questions)
    }

    async fn mistaken(client: &Client, text: &str) -> Result<Option<&'static str>> {
        let found = choose(text, &Gate::waiting(client).await?)?;
        Ok(found.map(|_| "a gate; see `folkmoot approve` and `folkmoot reject`"))
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

impl Find for StandingHalt {
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
