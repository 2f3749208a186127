//! `folkmoot ask`: ask people a question, and optionally wait for the answer.

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
    cli::{AsAgent, word, word_in_any_case},
    connection::{Connection, find, idempotency},
    context::CliContext,
    exit::Exit,
    terminal::{
        printable::one_line,
        span,
        style::{self, paint},
    },
    verbs::question::wait,
};

/// Ask people a question
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the question's id. With --wait, prints the answer, and the exit code says whether there is one.
BLOCKING and ESCALATION halt the agent until they are closed, APPROVAL its session too, EMERGENCY
everyone; the others halt nobody. A halting question without a default never expires; it sends
reminders.

Example:
  colour=$(folkmoot ask \"Which colour?\" --options red,blue --default blue --timeout 10m --wait)")]
pub(crate) struct Args {
    /// The question
    text: String,
    /// The type of question
    #[arg(long = "type", value_name = "TYPE", default_value = "BLOCKING", ignore_case = true)]
    #[arg(value_parser = word_in_any_case::<QuestionType>(QuestionType::WORDS))]
    question_type: QuestionType,
    /// The agent that asks (default: the token's own name)
    #[arg(long, value_name = "ID")]
    agent: Option<Name>,
    /// The run that asks; the question closes when the run ends
    #[arg(long, value_name = "ID")]
    run: Option<RunId>,
    /// The session it works in
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// The possible answers (default: any text)
    #[arg(long, value_delimiter = ',', value_name = "WORDS")]
    options: Vec<String>,
    /// The answer if the timeout passes; not for APPROVAL and EMERGENCY
    #[arg(long, value_name = "ANSWER")]
    default: Option<String>,
    /// Halt more than the type does
    #[arg(long, value_name = "SCOPE", value_parser = word::<Scope>(Scope::WORDS))]
    halts: Option<Scope>,
    /// How long until it expires or reminds (90s, 30m, 2h, never) (default: the server's policy)
    #[arg(long, value_name = "SPAN", value_parser = span::parse_timeout)]
    timeout: Option<Timeout>,
    /// Its priority (default: by its type)
    #[arg(long, value_parser = word::<Priority>(Priority::WORDS))]
    priority: Option<Priority>,
    /// With the same key, a repeated command asks no second question
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait for the answer
    #[arg(long, short)]
    wait: bool,
    /// Wait at most this long (90s, 30m, 2h); the question stays open
    #[arg(long, value_name = "SPAN", value_parser = span::parse, requires = "wait")]
    wait_timeout: Option<Duration>,
    #[command(flatten)]
    acting: AsAgent,
}

pub(crate) async fn run(args: Args, ctx: &CliContext, connection: &mut Connection) -> Result<Exit> {
    let (wait, wait_timeout, who) = (args.wait, args.wait_timeout, args.acting.who);
    let key = args.idempotency_key.clone().unwrap_or_else(idempotency::new_key);
    let request = request(args);
    let ask = async |client: &Client| {
        let run_id = find::run_or_new(client, request.run_id.as_ref()).await?;
        Ok(client.ask(&Ask { run_id, ..request.clone() }, Some(&key)).await?)
    };
    let question = connection.ask(ctx, who, ask).await?;
    if wait {
        return wait::until_closed(ctx, connection, who, &question, wait_timeout).await;
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

/// The commands that answer it.
pub(super) fn ways(folkmoot: &str, question: &Question) -> Vec<String> {
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
