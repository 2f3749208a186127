//! `folkmoot answer`: answer what an agent asks.

mod all_defaults;

use anyhow::{Context as _, Result, bail};
use folkmoot_api::{
    Client, client,
    core::{QuestionId, question::QuestionStatus},
    wire::{Answer, Question},
};
use serde_json::Value;

use crate::{
    cli::ActingAs,
    clock, close,
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    terminal::{
        printable::one_line,
        prompt,
        style::{self, paint},
    },
    views,
};

/// Answer a question
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without ANSWER, the question is shown and you are asked, at a terminal.
--all-defaults never answers APPROVAL, EMERGENCY, ESCALATION and DECISION.")]
pub(crate) struct Args {
    /// The question, or any unique beginning or end of its id; optional if only one waits
    #[arg(value_name = "QUESTION")]
    id: Option<String>,
    /// One of its options, or any text if it has none
    #[arg(allow_negative_numbers = true)]
    answer: Option<String>,
    /// ANSWER is JSON: true, 3, {"a": 1}
    #[arg(long, requires = "answer")]
    json_value: bool,
    /// The reason, for the asker
    #[arg(long, short = 'm', value_name = "TEXT")]
    reason: Option<String>,
    /// Answer every question that has a default with it, after showing them
    #[arg(long, conflicts_with = "id")]
    all_defaults: bool,
    /// Do not ask for confirmation
    #[arg(long, short, requires = "all_defaults")]
    yes: bool,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    if args.all_defaults {
        return all_defaults::run(ctx, connection, args.reason, args.yes).await;
    }
    let find = async |client: &Client| find::any::<Question>(client, args.id.as_deref()).await;
    let id = match (connection.ask(ctx, ActingAs::You, find).await, &args.id, &args.answer) {
        // A common mistake: `answer yes` without an id.
        (Err(error), Some(word), None) if !error.is::<client::Error>() => {
            bail!("{error}; if {word:?} is the answer, name the question before it: `folkmoot answer QUESTION {word}`")
        }
        (found, _, _) => found?,
    };
    let answer = match args.answer {
        Some(text) => {
            let answer = match args.json_value {
                true => serde_json::from_str(&text).context("ANSWER is not JSON")?,
                false => Value::String(text),
            };
            if !agreed(ctx, connection, &id, &answer).await? {
                ctx.screen.say("Nothing was answered.")?;
                return Ok(Exit::Waiting);
            }
            answer
        }
        None => {
            let read = async |client: &Client| Ok(client.question(&id).await?);
            let question = connection.ask(ctx, ActingAs::You, read).await?;
            match at_the_terminal(ctx, &question).await? {
                Some(answer) => {
                    connection.answered().await?;
                    Value::String(answer)
                }
                None => return Ok(Exit::Waiting),
            }
        }
    };
    let (key, answer) = (idempotency::new_key(), Answer { answer, reason: args.reason });
    let send = async |client: &Client| Ok(client.answer(&id, &answer, Some(&key)).await?);
    let question = connection.ask(ctx, ActingAs::You, send).await?;
    close::report(ctx, &question)?;
    Ok(Exit::Done)
}

/// Shows the question and asks for confirmation, if the folder's own token is used.
async fn agreed(ctx: &CliContext, connection: &mut Connection, id: &QuestionId, answer: &Value) -> Result<bool> {
    if !connection.is_personal() {
        return Ok(true);
    }
    let question = connection.ask(ctx, ActingAs::You, async |client: &Client| Ok(client.question(id).await?)).await?;
    if question.status != QuestionStatus::Pending {
        return Ok(true);
    }
    let shown = format!("{}\n", views::question::request(&question, clock::now()));
    let ask = format!("Answer with {}?", one_line(&views::question::bare(answer)));
    connection.confirm(ctx, ActingAs::You, &shown, &ask, true).await
}

/// Shows the question and asks. `None` if nothing was typed.
async fn at_the_terminal(ctx: &CliContext, question: &Question) -> Result<Option<String>> {
    let short = find::short(&question.id);
    if question.status != QuestionStatus::Pending {
        bail!("question {short} is already closed: {}", views::question::story(question));
    }
    if !ctx.screen.answers {
        let options = question.options.join(", ");
        let one_of = if options.is_empty() { String::new() } else { format!("; it is one of {options}") };
        bail!("say the answer: `folkmoot answer {short} ANSWER`{one_of}");
    }
    ctx.screen.say(format!("{}\n", views::question::request(question, clock::now())))?;
    for (n, option) in question.options.iter().enumerate() {
        ctx.screen.say(format!("  {} {}", paint(style::STRONG, format!("[{}]", n + 1)), one_line(option)))?;
    }
    prompt::forget_typed_ahead();
    loop {
        let said = prompt::line("Answer (empty leaves it open):").await?.filter(|said| !said.is_empty());
        let Some(said) = said else {
            ctx.screen.say("Nothing was answered.")?;
            return Ok(None);
        };
        match chosen(&question.options, &said) {
            Some(answer) => return Ok(Some(answer)),
            None => ctx.screen.say("Say one of the options, or its number.")?,
        }
    }
}

/// An option by its text in any case, or by its number. Any text if there are no options.
fn chosen(options: &[String], said: &str) -> Option<String> {
    if options.is_empty() {
        return Some(said.to_owned());
    }
    let named = options.iter().find(|option| *option == said);
    let numbered = || said.parse::<usize>().ok().and_then(|n| options.get(n.checked_sub(1)?));
    let meant = || {
        let mut alike = options.iter().filter(|option| option.eq_ignore_ascii_case(said));
        alike.next().filter(|_| alike.next().is_none())
    };
    named.or_else(numbered).or_else(meant).cloned()
}
