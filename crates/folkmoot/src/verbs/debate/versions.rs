//! `folkmoot debate versions`: how the code changed.

use anyhow::{Result, bail};
use folkmoot_api::{
    Client,
    wire::{CodeVersion, CodeVersionList, VersionListParams},
};

use super::DebateArgs;
use crate::{
    cli::ActingAs,
    clock,
    connection::Connection,
    context::CliContext,
    exit::Exit,
    terminal::{
        printable::printable,
        span,
        style::{self, paint},
        table::TableRow,
    },
};

/// Show how the code of a debate changed
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    which: DebateArgs,
    /// Print this version's code
    #[arg(long, value_name = "N", conflicts_with = "diff")]
    code: Option<u32>,
    /// Print what changed with this version
    #[arg(long, value_name = "N")]
    diff: Option<u32>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let id = args.which.find(ctx, connection).await?;
    let mut query = VersionListParams { limit: Some(200), ..VersionListParams::default() };
    let mut all = CodeVersionList::default();
    loop {
        let read = async |client: &Client| Ok(client.code_versions(&id, &query).await?);
        let page = connection.ask(ctx, ActingAs::You, read).await?;
        all.versions.extend(page.versions);
        match page.next {
            Some(next) => query.cursor = Some(next),
            None => break,
        }
    }
    if let Some(number) = args.code.or(args.diff) {
        let Some(version) = all.versions.into_iter().find(|version| version.version_number == number) else {
            bail!("this debate has no version {number}; `folkmoot debate versions` shows those it has");
        };
        return print(ctx, &version, args.diff.is_some());
    }
    if ctx.screen.json {
        ctx.screen.json(&all)?;
    } else if all.versions.is_empty() {
        ctx.screen.note("This debate has no code.");
    } else {
        let rows = all.versions.iter().map(row).collect();
        ctx.screen.table(&["VERSION", "AUTHOR", "LANGUAGE", "LINES", "TESTS", "QUALITY", "WRITTEN"], rows)?;
    }
    Ok(Exit::Done)
}

fn print(ctx: &CliContext, version: &CodeVersion, diff: bool) -> Result<Exit> {
    if ctx.screen.json {
        ctx.screen.json(version)?;
        return Ok(Exit::Done);
    }
    let text = if diff { version.diff_from_previous.as_deref() } else { version.code.as_deref() };
    let text = text.unwrap_or_default();
    match ctx.screen.terminal {
        // Model output could move the terminal's cursor.
        true if diff => {
            let painted: Vec<String> =
                printable(text).lines().map(|line| paint(style::of_diff_line(line), line)).collect();
            ctx.screen.say(painted.join("\n"))?;
        }
        true => ctx.screen.say(printable(text))?,
        false => ctx.screen.raw(text)?,
    }
    Ok(Exit::Done)
}

fn row(version: &CodeVersion) -> TableRow {
    let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0));
    let cells = [
        version.version_number.to_string(),
        version.author.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
        version.language.clone(),
        version.code.as_ref().map_or_else(|| "-".to_owned(), |code| code.lines().count().to_string()),
        share(version.test_pass_rate),
        share(version.quality_score),
        span::ago(version.created_at, clock::now()),
    ];
    TableRow { cells: cells.into(), painted: None }
}
