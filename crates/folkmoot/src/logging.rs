//! Logging to stderr. `FOLKMOOT_LOG` sets the level; for `serve`, `RUST_LOG` does too.

use std::io::IsTerminal;

use anyhow::{Result, anyhow};
use tracing_subscriber::{EnvFilter, Layer, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{context::CliContext, telemetry::Telemetry};

/// For `serve`. As JSON, every request is logged; as text, only those that failed.
pub(crate) fn for_serve(json: bool, telemetry: Option<&Telemetry>) -> Result<()> {
    let default = if json { "warn,folkmoot=info" } else { "warn,folkmoot=info,folkmoot::request=warn" };
    start(&["FOLKMOOT_LOG", "RUST_LOG"], default, json, telemetry)
}

/// For every other verb: logs nothing unless `FOLKMOOT_LOG` is set.
pub(crate) fn quiet(ctx: &CliContext) -> Result<()> {
    start(&["FOLKMOOT_LOG"], "off", ctx.screen.json, None)
}

fn start(variables: &[&str], default: &str, json: bool, telemetry: Option<&Telemetry>) -> Result<()> {
    let set = |name: &&str| std::env::var(name).ok().filter(|filter| !filter.is_empty());
    let filter = match variables.iter().find_map(|name| Some((name, set(name)?))) {
        Some((name, filter)) => {
            EnvFilter::try_new(&filter).map_err(|error| anyhow!("{name} is {filter:?}: {error}"))?
        }
        None => EnvFilter::new(default),
    };
    // It logs the messages of MCP servers unchanged, which may contain keys.
    let filter = filter.add_directive("rmcp=off".parse().expect("it is a directive"));
    let colour = std::io::stderr().is_terminal() && anstream::ColorChoice::global() != anstream::ColorChoice::Never;
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(colour);
    let lines =
        if json { lines.json().flatten_event(true).boxed() } else { lines.compact().with_target(false).boxed() };
    let traces = telemetry.map(Telemetry::layer);
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(traces).init();
    Ok(())
}
