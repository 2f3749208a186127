//! What a server offers, and what is admitted.

use std::collections::BTreeSet;

use folkmoot_core::{Digest, text};
use folkmoot_llm::outbound::Keys;
use serde_json::{Value, json};

use super::McpServerConfig;
use crate::{foreign, tool::schema};

/// A tool of a server that was admitted.
#[derive(Clone, Debug)]
pub(super) struct McpOffer {
    /// Its name here.
    pub(super) name: String,
    /// Its name on the server.
    pub(super) remote: String,
    /// Cleaned and cut.
    pub(super) description: String,
    /// JSON Schema of its arguments.
    pub(super) arguments: Value,
    /// Detects a change of the offer.
    pub(super) digest: Digest,
    /// Whether the server marks it as read-only.
    pub(super) is_read_only: bool,
}

/// The longest tool name of a server, so that ours is within the limit of [`Tool`](crate::Tool).
const NAME_BYTES_MAX: usize = 64;

/// How many warnings are shown, and their length.
const WARNINGS_MAX: usize = 10;
const WARNING_BYTES_MAX: usize = 200;

/// The tools that can be called, and warnings for those that are left out.
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
                warnings.push(format!("`{}` is left out: {why}", foreign::line(text::cut(&name, 80), 80)));
            }
        }
    }
    let surplus = listed.len().saturating_sub(server.limits.tools_max);
    if surplus > 0 {
        warnings.push(format!("more than {} tools are offered; those beyond are left out", server.limits.tools_max));
    }
    (offers, bounded(warnings, keys))
}

/// The first warnings, one line each, and the number of others.
fn bounded(mut warnings: Vec<String>, keys: &Keys) -> Vec<String> {
    let surplus = warnings.len().saturating_sub(WARNINGS_MAX);
    if surplus > 0 {
        warnings.truncate(WARNINGS_MAX - 1);
        warnings.push(format!("and {} warnings more", surplus + 1));
    }
    for warning in &mut warnings {
        let line = foreign::line(&keys.erase(warning), usize::MAX);
        let beginning = text::cut(&line, WARNING_BYTES_MAX);
        *warning = if beginning.len() < line.len() { format!("{beginning}…") } else { line };
    }
    warnings
}

fn offer(server: &McpServerConfig, tool: &rmcp::model::Tool, keys: &Keys) -> Result<McpOffer, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if !(1..=NAME_BYTES_MAX).contains(&tool.name.len()) || !tool.name.bytes().all(allowed) {
        return Err(format!("a name has 1 to {NAME_BYTES_MAX} letters, digits, `_`, `-` and `.`"));
    }
    // A name that contains a key would be shown with every call.
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

/// Erases keys from a schema's descriptions. Keywords and names of arguments stay, because the
/// server must recognise them.
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

/// Changes if the tool's description or arguments change.
pub(super) fn digest(tool: &rmcp::model::Tool) -> Digest {
    Digest::of(json!([tool.name, tool.description, *tool.input_schema, is_read_only(tool)]).to_string().as_bytes())
}

/// Only an explicit statement counts.
fn is_read_only(tool: &rmcp::model::Tool) -> bool {
    tool.annotations.as_ref().and_then(|annotations| annotations.read_only_hint) == Some(true)
}

#[cfg(test)]
mod tests;
