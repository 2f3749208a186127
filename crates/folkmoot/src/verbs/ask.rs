//! `folkmoot ask`: ask people, and wait for the answer if you like.

use std::time::Duration;

use anyhow::Result;
use folkmoot_api::{
    Client,
    core::{
        Name, RunId, Scope, SessionId, Timeout,
        question::{Priority, QuestionType},
    },
    wire::{Ask, Question},
};
use serde_json::Value;

use crate::{
    cli::{ActingAs, word, word_in_any_case},
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    terminal::{
        printable::one_line,
        span,
        style::{self, paint},
    },
    verbs::question::wait,
    views,
};

/// Ask people a question
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the question's id; with --wait, the answer, and the exit code says whether there is one.
BLOCKING and ESCALATION halt the agent until they are closed, APPROVAL its session too, EMERGENCY
everyone; the others halt nobody. One that halts and has no default never expires: it reminds.

Example:
  colour=$(folkmoot ask \"Which colour?\" --options red,blue --default blue --timeout 10m --wait)")]
pub(crate) struct Args {
    /// What is asked
    text: String,
    /// What sort of question
    #[arg(long = "type", value_name = "TYPE", default_value = "BLOCKING", ignore_case = true)]
    #[arg(value_parser = word_in_any_case::<QuestionType>(QuestionType::WORDS))]
    question_type: QuestionType,
    /// The agent that asks; the token's own name unless it is given
    #[arg(long, value_name = "ID")]
    agent: Option<Name>,
    /// The run that asks, which the question ends with
    #[arg(long, value_name = "ID")]
    run: Option<RunId>,
    /// The session it works in
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// What can be answered; anything unless it is given
    #[arg(long, value_delimiter = ',', value_name = "WORDS")]
    options: Vec<String>,
    /// What its timeout answers; never for APPROVAL and EMERGENCY
    #[arg(long, value_name = "ANSWER")]
    default: Option<String>,
    /// Halt more than its type does
    #[arg(long, value_name = "SCOPE", value_parser = word::<Scope>(Scope::WORDS))]
    halts: Option<Scope>,
    /// How long until it expires or reminds (90s, 30m, 2h, never); the server's policy unless it is
    /// given
    #[arg(long, value_name = "SPAN", value_parser = span::parse_timeout)]
    timeout: Option<Timeout>,
    /// What is looked at first; by its type unless it is given
    #[arg(long, value_parser = word::<Priority>(Priority::WORDS))]
    priority: Option<Priority>,
    /// Repeating the command with this key asks no second question
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait for the answer
    #[arg(long, short)]
    wait: bool,
    /// Wait at most so long (90s, 30m, 2h); the question stays open
    #[arg(long, value_name = "SPAN", value_parser = span::parse, requires = "wait")]
    wait_timeout: Option<Duration>,
    /// Whose token to use
    #[arg(long = "as", value_enum, default_value = "agent", hide_possible_values = true, value_name = "agent|you")]
    who: ActingAs,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let (wait, wait_timeout, who) = (args.wait, args.wait_timeout, args.who);
    let key = args.idempotency_key.clone().unwrap_or_else(idempotency::new_key);
    let request = request(args);
    let ask = async |client: &Client| {
        let run_id = find::run_or_new(client, request.run_id.as_ref()).await?;
        Ok(client.ask(&Ask { run_id, ..request.clone() }, Some(&key)).await?)
    };
    let question = connection.ask(ctx, who, ask).await?;
    if wait {
        announce(ctx, connection, &question);
        return wait::until_closed(ctx, connection, who, &question.id, wait_timeout).await;
    }
    if ctx.screen.json {
        ctx.screen.json(&question)?;
    } else if ctx.screen.terminal {
        ctx.screen.say(format!("{} {}", paint(style::STRONG, "Asked"), question.id))?;
        for way in ways(&ctx.command(), &question) {
            ctx.screen.say(way)?;
        }
    } else {
        // `id=$(folkmoot ask …)`
        ctx.screen.say(question.id.as_str())?;
    }
    Ok(Exit::Done)
}

fn request(args: Args) -> Ask {
    Ask {
        agent_id: args.agent,
        run_id: args.run,
        session_id: args.session,
        question_type: args.question_type,
        text: args.text,
        options: args.options,
        default: args.default.map(Value::String),
        timeout_ms: args.timeout,
        halts: args.halts,
        priority: args.priority,
    }
}

/// On stderr, so that stdout holds the answer alone.
fn announce(ctx: &CliContext, connection: &Connection, question: &Question) {
    let folkmoot = match &ctx.url {
        Some(url) => format!("{} --url {url} --token …", ctx.command()),
        None => ctx.command(),
    };
    let text = one_line(question.text.as_deref().unwrap_or_default());
    ctx.screen.note(format!("{} {text}", paint(style::STRONG, "Waiting for an answer:")));
    ctx.screen.note(paint(style::FAINT, format!("{} on {}", question.id, connection.url())));
    if !ctx.screen.notes_are_read {
        return ctx.screen.note(format!("  {}", views::gate::A_PERSON_DECIDES));
    }
    for way in ways(&folkmoot, question) {
        ctx.screen.note(way);
    }
}

/// How to answer.
fn ways(folkmoot: &str, question: &Question) -> Vec<String> {
    let short = find::short(&question.id);
    let way = |word: &str, command: String| format!("  {word:<6}  {}", paint(style::COMMAND, command));
    let answer = match question.options.first() {
        Some(_) if question.question_type == QuestionType::Approval => "approve".to_owned(),
        Some(option) => crate::context::quoted(&one_line(option)),
        None => "\"…\"".to_owned(),
    };
    vec![
        way("answer", format!("{folkmoot} answer {short} {answer}")),
        way("deny", format!("{folkmoot} deny {short} --reason \"…\"")),
    ]
}
