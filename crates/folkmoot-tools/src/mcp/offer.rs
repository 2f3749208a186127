//! What a server offers, and what is admitted of it.

use std::collections::BTreeSet;

use folkmoot_core::Digest;
use folkmoot_llm::outbound::Keys;
use serde_json::{Value, json};

use super::McpServerConfig;
use crate::{foreign, tool::schema};

/// A tool of a server that was admitted.
#[derive(Clone, Debug)]
pub(super) struct McpOffer {
    /// What it is called here.
    pub(super) name: String,
    /// What the server calls it.
    pub(super) remote: String,
    /// What it does, cleaned and cut.
    pub(super) description: String,
    /// JSON Schema of its arguments.
    pub(super) arguments: Value,
    /// What was offered, to notice when it changes.
    pub(super) digest: Digest,
    /// Whether the server says that it changes nothing.
    pub(super) is_read_only: bool,
}

/// The longest name that a server can give a tool, so that ours stays within what a
/// [`Tool`](crate::Tool) can be called.
const NAME_BYTES_MAX: usize = 64;

/// How many warnings are told of a server, and how long each may be: more help nobody.
const WARNINGS_MAX: usize = 10;
const WARNING_BYTES_MAX: usize = 200;

/// What can be called of what a server lists, and what is left out and why.
pub(super) fn admit(
    server: &McpServerConfig,
    listed: &[rmcp::model::Tool],
    keys: &Keys,
) -> (Vec<McpOffer>, Vec<String>) {
    let (mut offers, mut warnings) = (Vec::new(), Vec::new());
    let mut names = BTreeSet::new();
    for tool in listed.iter().take(server.limits.tools_max) {
        match offer(server, tool, keys) {
            Ok(offer) if names.insert(offer.name.clone()) => offers.push(offer),
            Ok(offer) => warnings.push(format!("`{}` is offered twice; the second is left out", offer.name)),
            Err(why) => {
                let name = keys.erase(&tool.name);
                warnings.push(format!("`{}` is left out: {why}", foreign::line(foreign::cut(&name, 80), 80)));
            }
        }
    }
    let surplus = listed.len().saturating_sub(server.limits.tools_max);
    if surplus > 0 {
        warnings.push(format!("more than {} tools are offered; those beyond are left out", server.limits.tools_max));
    }
    (offers, bounded(warnings, keys))
}

/// The first of them, each in a line, and how many there are beyond.
fn bounded(mut warnings: Vec<String>, keys: &Keys) -> Vec<String> {
    let surplus = warnings.len().saturating_sub(WARNINGS_MAX);
    if surplus > 0 {
        warnings.truncate(WARNINGS_MAX - 1);
        warnings.push(format!("and {} warnings more", surplus + 1));
    }
    for warning in &mut warnings {
        let line = foreign::line(&keys.erase(warning), usize::MAX);
        let beginning = foreign::cut(&line, WARNING_BYTES_MAX);
        *warning = if beginning.len() < line.len() { format!("{beginning}…") } else { line };
    }
    warnings
}

fn offer(server: &McpServerConfig, tool: &rmcp::model::Tool, keys: &Keys) -> Result<McpOffer, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if !(1..=NAME_BYTES_MAX).contains(&tool.name.len()) || !tool.name.bytes().all(allowed) {
        return Err(format!("a name has 1 to {NAME_BYTES_MAX} letters, digits, `_`, `-` and `.`"));
    }
    // It would be shown with every call, and could not be called without it.
    if keys.erase(&tool.name) != tool.name {
        return Err("its name repeats what the server was given to keep to itself".to_owned());
    }
    let arguments = without_keys(Value::Object((*tool.input_schema).clone()), keys);
    schema::compile(&arguments).map_err(|why| format!("the schema of its arguments cannot be used: {why}"))?;
    Ok(McpOffer {
        name: format!("mcp/{}/{}", server.name, tool.name),
        remote: tool.name.to_string(),
        description: keys.erase(&foreign::text(
            &keys.erase(tool.description.as_deref().unwrap_or_default()),
            server.limits.description_bytes,
        )),
        arguments,
        digest: digest(tool),
        is_read_only: is_read_only(tool),
    })
}

/// A schema without keys in what it tells. Its own words and the names of arguments stay, which may
/// be the value of some variable too: what is called must be what the server knows.
fn without_keys(schema: Value, keys: &Keys) -> Value {
    match schema {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| {
                let is_structure = matches!(name.as_str(), "type" | "$ref" | "required") && !value.is_object();
                let value = if is_structure { value } else { without_keys(value, keys) };
                (name, value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.into_iter().map(|item| without_keys(item, keys)).collect(),
        Value::String(text) => Value::String(keys.erase(&text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => schema,
    }
}

/// Changes when what a model is told about the tool, or what it accepts, changes.
pub(super) fn digest(tool: &rmcp::model::Tool) -> Digest {
    Digest::of(json!([tool.name, tool.description, *tool.input_schema, is_read_only(tool)]).to_string().as_bytes())
}

/// What a server does not say it is not taken to mean.
fn is_read_only(tool: &rmcp::model::Tool) -> bool {
    tool.annotations.as_ref().and_then(|annotations| annotations.read_only_hint) == Some(true)
}

#[cfg(test)]
mod tests;
