//! What the server inside tells on stderr. `FOLKMOOT_LOG` chooses how much; for `serve`, `RUST_LOG` does too.

use std::io::IsTerminal;

use anyhow::{Result, anyhow};
use tracing_subscriber::{EnvFilter, fmt};

use crate::context::Context;

/// For `serve`: what happens here, and what worries others.
pub(crate) fn for_serve(json: bool) -> Result<()> {
    start(&["FOLKMOOT_LOG", "RUST_LOG"], "warn,folkmoot=info", json)
}

/// For every other verb: nothing, unless it is asked for.
pub(crate) fn quiet(ctx: &Context) -> Result<()> {
    start(&["FOLKMOOT_LOG"], "off", ctx.screen.json)
}

fn start(variables: &[&str], default: &str, json: bool) -> Result<()> {
    let set = |name: &&str| std::env::var(name).ok().filter(|filter| !filter.is_empty());
    let filter = match variables.iter().find_map(|name| Some((name, set(name)?))) {
        Some((name, filter)) => {
            EnvFilter::try_new(&filter).map_err(|error| anyhow!("{name} is {filter:?}: {error}"))?
        }
        None => EnvFilter::new(default),
    };
    // It logs what MCP servers say as it came, and that may repeat their keys.
    let filter = filter.add_directive("rmcp=off".parse().expect("it is a directive"));
    let colour = std::io::stderr().is_terminal() && anstream::ColorChoice::global() != anstream::ColorChoice::Never;
    let lines = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colour);
    if json {
        lines.json().init()
    } else {
        lines.compact().with_target(false).init()
    }
    Ok(())
}
