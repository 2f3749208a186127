//! What a server offers, and what is admitted of it.

use std::collections::BTreeSet;

use folkmoot_core::Digest;
use serde_json::{Value, json};

use super::Server;
use crate::{foreign, tool::schema};

/// A tool that was admitted.
#[derive(Clone, Debug)]
pub(super) struct Offer {
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
}

/// The longest name that a server can give a tool, so that ours stays within what a [`Tool`](crate::Tool) can be called.
const NAME_BYTES_MAX: usize = 64;

/// What can be called of what a server lists, and what is left out and why.
pub(super) fn admit(server: &Server, listed: &[rmcp::model::Tool]) -> (Vec<Offer>, Vec<String>) {
    let (mut offers, mut warnings) = (Vec::new(), Vec::new());
    let mut names = BTreeSet::new();
    for tool in listed.iter().take(server.limits.tools_max) {
        match offer(server, tool) {
            Ok(offer) if names.insert(offer.name.clone()) => offers.push(offer),
            Ok(offer) => warnings.push(format!("`{}` is offered twice; the second is left out", offer.name)),
            Err(why) => {
                warnings.push(format!("`{}` is left out: {why}", foreign::line(foreign::cut(&tool.name, 80), 80)));
            }
        }
    }
    let surplus = listed.len().saturating_sub(server.limits.tools_max);
    if surplus > 0 {
        warnings.push(format!("more than {} tools are offered; those beyond are left out", server.limits.tools_max));
    }
    (offers, warnings)
}

fn offer(server: &Server, tool: &rmcp::model::Tool) -> Result<Offer, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if !(1..=NAME_BYTES_MAX).contains(&tool.name.len()) || !tool.name.bytes().all(allowed) {
        return Err(format!("a name has 1 to {NAME_BYTES_MAX} letters, digits, `_`, `-` and `.`"));
    }
    let arguments = Value::Object((*tool.input_schema).clone());
    schema::compile(&arguments).map_err(|why| format!("the schema of its arguments cannot be used: {why}"))?;
    Ok(Offer {
        name: format!("mcp/{}/{}", server.name, tool.name),
        remote: tool.name.to_string(),
        description: foreign::text(tool.description.as_deref().unwrap_or_default(), server.limits.description_bytes),
        arguments,
        digest: digest(tool),
    })
}

/// Changes when what a model is told about the tool, or what it accepts, changes.
pub(super) fn digest(tool: &rmcp::model::Tool) -> Digest {
    Digest::of(json!([tool.name, tool.description, *tool.input_schema]).to_string().as_bytes())
}
