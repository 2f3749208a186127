//! What the server inside tells on stderr. `FOLKMOOT_LOG` or `RUST_LOG` choose how much.

use std::io::IsTerminal;

use anyhow::{Result, anyhow};
use tracing_subscriber::{EnvFilter, fmt};

use crate::context::Context;

/// For `serve`: what happens here, and what worries others.
pub(crate) fn for_serve(json: bool) -> Result<()> {
    start("warn,folkmoot=info", json)
}

/// For every other verb: nothing, unless it is asked for.
pub(crate) fn quiet(ctx: &Context) -> Result<()> {
    start("off", ctx.screen.json)
}

fn start(default: &str, json: bool) -> Result<()> {
    let asked = ["FOLKMOOT_LOG", "RUST_LOG"].into_iter().find_map(|name| Some((name, std::env::var(name).ok()?)));
    let filter = match asked.filter(|(_, filter)| !filter.is_empty()) {
        Some((name, filter)) => {
            EnvFilter::try_new(&filter).map_err(|error| anyhow!("{name} is {filter:?}: {error}"))?
        }
        None => EnvFilter::new(default),
    };
    let colour = std::io::stderr().is_terminal() && anstream::ColorChoice::global() != anstream::ColorChoice::Never;
    let lines = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colour);
    if json {
        lines.json().init()
    } else {
        lines.compact().with_target(false).init()
    }
    Ok(())
}
