//! Which gate is meant. An id may be cut to any unique beginning or end, or left out where only one gate waits.

use anyhow::{Result, bail};
use folkmoot_api::{
    Client,
    core::{GateId, Status},
    wire::{Gate, GateQuery},
};

use crate::screen::one_line;

/// Digits at the end of an id that tell gates apart in practice.
const SHORT: usize = 8;
const PAGE: u32 = 500;

/// The end of an id, enough to name the gate.
pub(crate) fn short(id: &GateId) -> &str {
    let text = id.as_str();
    &text[text.len().saturating_sub(SHORT)..]
}

/// A gate that waits.
pub(crate) async fn pending(client: &Client, id: Option<&str>) -> Result<GateId> {
    if let Some(whole) = id.and_then(whole) {
        return Ok(whole);
    }
    let waiting = waiting(client).await?;
    match (id, waiting.as_slice()) {
        (Some(id), gates) => choose(id, gates)?.ok_or_else(|| nothing(id, "pending gate")),
        (None, [only]) => Ok(only.id.clone()),
        (None, []) => bail!("no gate is waiting"),
        (None, gates) => bail!("{} gates are waiting; say which:{}", gates.len(), list(gates)),
    }
}

/// Any gate: one that waits, or one of the last that were decided.
pub(crate) async fn any(client: &Client, id: Option<&str>) -> Result<GateId> {
    let Some(id) = id else { return pending(client, None).await };
    if let Some(whole) = whole(id) {
        return Ok(whole);
    }
    if let Some(found) = choose(id, &waiting(client).await?)? {
        return Ok(found);
    }
    let recent = client.gates(&GateQuery { limit: Some(PAGE), ..GateQuery::default() }).await?;
    choose(id, &recent.gates)?.ok_or_else(|| nothing(id, "recent gate"))
}

/// All gates that wait.
pub(crate) async fn waiting(client: &Client) -> Result<Vec<Gate>> {
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

/// `gate-…-{sixteen hexadecimal digits}`.
fn whole(text: &str) -> Option<GateId> {
    let (front, random) = text.rsplit_once('-')?;
    let whole = front.starts_with("gate-") && random.len() == 16 && random.bytes().all(|b| b.is_ascii_hexdigit());
    text.parse().ok().filter(|_| whole)
}

fn choose(text: &str, gates: &[Gate]) -> Result<Option<GateId>> {
    let text = text.trim_start_matches('…');
    let meant = |gate: &&Gate| {
        let id = gate.id.as_str();
        !text.is_empty() && (id.starts_with(text) || id.ends_with(text))
    };
    let found: Vec<Gate> = gates.iter().filter(meant).cloned().collect();
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.id.clone())),
        several => bail!("{text:?} means {} gates; say more of it:{}", several.len(), list(several)),
    }
}

fn nothing(id: &str, what: &str) -> anyhow::Error {
    anyhow::anyhow!("{id:?} is no {what}; `folkmoot gate list` shows those you can see")
}

fn list(gates: &[Gate]) -> String {
    let some = gates.iter().take(10).map(|gate| format!("\n  {}  {}", short(&gate.id), one_line(&gate.title)));
    let more = (gates.len() > 10).then(|| format!("\n  and {} more", gates.len() - 10));
    some.chain(more).collect()
}
