//! `folkmoot ask-model`: ask a model one question, as our agents do.

use std::{
    fs::File,
    io::{self, IsTerminal, Read, Write},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, bail};
use folkmoot_server::workflows::{
    Equipment,
    llm::{
        Finish, Hear, Model, ModelAnswer, ModelFailure, ModelRequest, RecordedModel, Replay, Schema,
        budget::{BudgetedModel, SharedBudget, dollars},
        continued,
        record::JsonLines,
        request::MAX_TOKENS,
        structured::{self, ParseOutcome, SchemaValidator, StructuredAnswer},
    },
};
use serde_json::{Value, json};

use crate::{
    connection::{Connection, find},
    context::CliContext,
    exit::Exit,
    logging, signal,
    terminal::{
        printable::{one_line, printable},
        screen::Screen,
        style::{self, paint},
    },
    verbs::{doctor, journal},
    which_model,
};

/// More than any model reads.
const QUESTION_BYTES_MAX: u64 = 16 << 20;

/// Ask a model and show its answer as it is generated
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The question; `-` reads it from standard input
    question: String,
    /// The model provider: a name from folkmoot.toml, a vendor whose key is in the environment,
    /// ollama, llamacpp, rehearsal
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The model
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The system prompt
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// A file with a JSON Schema for the answer; exit code 1 if the answer does not fit after a
    /// second try
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// The longest answer of one call (default: as the provider is configured, else 4096). A text
    /// that is cut off there is continued at most three times
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    max_tokens: Option<u32>,
    /// Append the call to a file, from which it can be replayed
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Answer from a recording instead of a model: a file, or the run that asked
    #[arg(long, value_name = "FILE|RUN", conflicts_with_all = ["provider", "model"])]
    replay: Option<String>,
    /// A configuration file (default: folkmoot.toml in the data folder)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) async fn run(args: Args, ctx: &CliContext) -> Result<Exit> {
    logging::quiet(ctx)?;
    let mut request = request(&args)?;
    let equipment = doctor::equipment(doctor::read(args.config.clone().or(ctx.data.served()?.config), ctx)?)?;
    let (model, usual) = model(&args, ctx, &equipment).await?;
    if let (None, Some(usual)) = (args.max_tokens, usual) {
        request.max_tokens = usual;
    }
    let mut out = Out::new(ctx);
    // Ctrl-C cancels the call, and ends a program that was started for it.
    let interrupted = signal::shutdown()?;
    let asked = tokio::select! {
        asked = ask(&*model, &equipment, &request, &mut out) => Some(asked),
        () = interrupted.cancelled() => None,
    };
    out.end(matches!(asked, Some(Ok(_))))?;
    match asked {
        Some(asked) => told(ctx, asked?, args.replay.is_some()),
        None => {
            ctx.screen.note("Interrupted: what was heard until then is no answer.");
            Ok(Exit::Interrupted)
        }
    }
}

/// A model's answer, plain or structured.
enum AskModelAnswer {
    Plain(ModelAnswer),
    Structured(StructuredAnswer),
}

async fn ask(
    model: &dyn Model,
    equipment: &Equipment,
    request: &ModelRequest,
    out: &mut Out,
) -> Result<AskModelAnswer> {
    let prompts = equipment.prompts();
    if request.schema.is_none() {
        // Invalid prompt files do not matter for a plain question.
        return Ok(AskModelAnswer::Plain(match prompts {
            Ok(prompts) => continued::ask(model, &prompts, request, out).await?,
            Err(_) => model.ask(request, out).await?,
        }));
    }
    let prompts = prompts.map_err(|why| anyhow!(why))?;
    Ok(AskModelAnswer::Structured(structured::ask(model, &prompts, request, out).await?))
}

fn told(ctx: &CliContext, asked: AskModelAnswer, is_replayed: bool) -> Result<Exit> {
    match asked {
        AskModelAnswer::Plain(answer) => {
            if ctx.screen.json {
                ctx.screen.json(&answer)?;
            } else if !ctx.screen.terminal {
                ctx.screen.raw(&format!("{}\n", answer.text))?;
            }
            note(ctx, std::slice::from_ref(&answer), is_replayed);
            if answer.finish == Finish::Length {
                let cut = "The answer is cut off: it is longer than it may be. Raise --max-tokens, or `max_tokens` of the provider.";
                ctx.screen.note(paint(style::WARN, cut));
                return Ok(Exit::Problems);
            }
            Ok(Exit::Done)
        }
        AskModelAnswer::Structured(structured) => structured_told(ctx, structured, is_replayed),
    }
}

fn request(args: &Args) -> Result<ModelRequest> {
    let question = match args.question.as_str() {
        "-" => {
            let mut text = String::new();
            io::stdin().take(QUESTION_BYTES_MAX + 1).read_to_string(&mut text).context("standard input is no text")?;
            text
        }
        question => question.to_owned(),
    };
    if question.trim().is_empty() {
        bail!("there is no question; write it behind `ask-model`, or to standard input with `-`");
    }
    if question.len() as u64 > QUESTION_BYTES_MAX {
        bail!("the question is longer than {} MiB, more than any model reads", QUESTION_BYTES_MAX >> 20);
    }
    let schema = args.schema.as_ref().map(|path| {
        let mut text = String::new();
        File::open(path)
            .and_then(|mut file| file.read_to_string(&mut text))
            .with_context(|| format!("{} cannot be read", path.display()))?;
        let schema = serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
        SchemaValidator::new(&schema)
            .map_err(|why| anyhow!("{} is no schema that can be used: {why}", path.display()))?;
        Ok::<_, anyhow::Error>(Schema { name: "answer".to_owned(), schema })
    });
    Ok(ModelRequest {
        system: args.system.clone(),
        schema: schema.transpose()?,
        max_tokens: args.max_tokens.unwrap_or(MAX_TOKENS),
        ..ModelRequest::new(question)
    })
}

/// The model and its configured maximum length.
async fn model(args: &Args, ctx: &CliContext, equipment: &Equipment) -> Result<(Arc<dyn Model>, Option<u32>)> {
    if let Some(recordings) = &args.replay {
        return Ok((Arc::new(replay(recordings, ctx).await?.answers()), None));
    }
    let models = &equipment.models;
    let named = match (&args.provider, &args.model) {
        (Some(provider), Some(model)) if !provider.contains('/') => Some(format!("{provider}/{model}")),
        (provider, _) => provider.clone(),
    };
    let asked = folkmoot_server::models::asked(equipment, named).await.map_err(|why| anyhow!(why))?;
    let chosen = which_model::choose(ctx, asked).await?;
    let (provider, named) = (chosen.as_str(), args.model.as_deref());
    let model = models.model(provider, named)?;
    let max_tokens = models.max_tokens(provider);
    let unpriced = models.unpriced(provider, named);
    if models.budget().usd_micros.is_some() && !unpriced.is_empty() {
        bail!(
            "there is a budget in money, and no price for {}: add it under [models] in folkmoot.toml",
            unpriced.join(", ")
        );
    }
    let model = Arc::new(BudgetedModel {
        model,
        shared_budget: SharedBudget::new(models.budget()),
        price: models.price(provider, named),
    });
    let model: Arc<dyn Model> = match &args.record {
        Some(path) => {
            let recorder = JsonLines::append(path).with_context(|| format!("{} cannot be written", path.display()))?;
            Arc::new(RecordedModel { model, recorder: Arc::new(recorder) })
        }
        None => model,
    };
    Ok((model, Some(max_tokens)))
}

/// From a file if there is one of this name, otherwise from a run's journal.
async fn replay(recordings: &str, ctx: &CliContext) -> Result<Replay> {
    match File::open(recordings) {
        Ok(file) => Replay::from_json_lines(file).map_err(|why| anyhow!("{recordings}: {why}")),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).context(format!("{recordings} cannot be read"))
        }
        Err(_) => {
            let mut connection = Connection::find(ctx).await?;
            let read = async |client: &folkmoot_api::Client| {
                let id = find::any::<folkmoot_api::wire::Run>(client, Some(recordings)).await?;
                journal::read(client, &id).await
            };
            let entries = connection.ask(ctx, crate::cli::ActingAs::You, read).await;
            connection.close().await?;
            let entries = entries.with_context(|| format!("{recordings} is neither a file nor a run"))?;
            let results: Vec<Value> =
                entries.iter().filter_map(|entry| serde_json::from_str(entry.result.as_deref()?.get()).ok()).collect();
            let replay = Replay::from_journal(&results);
            if replay.left() == 0 {
                bail!("the run {recordings} has recorded no model calls");
            }
            Ok(replay)
        }
    }
}

fn structured_told(ctx: &CliContext, structured: StructuredAnswer, is_replayed: bool) -> Result<Exit> {
    let (value, why) = match structured.outcome {
        ParseOutcome::Parsed(value) => (Some(value), None),
        ParseOutcome::Unparsed(why) => (None, Some(why)),
    };
    if ctx.screen.json {
        ctx.screen.json(&json!({ "parsed": value, "unparsed": why, "answers": structured.answers }))?;
    } else if let (Some(value), false) = (&value, ctx.screen.terminal) {
        ctx.screen.say(value.to_string())?;
    }
    note(ctx, &structured.answers, is_replayed);
    match why {
        Some(why) if !ctx.screen.json => bail!("no answer fits the schema: {}", printable(&why)),
        Some(_) => Ok(Exit::Problems),
        None => Ok(Exit::Done),
    }
}

/// Who answered and what it cost, in one faint line.
fn note(ctx: &CliContext, answers: &[ModelAnswer], is_replayed: bool) {
    let Some(last) = answers.last() else { return };
    let sum = |of: fn(&ModelAnswer) -> u64| answers.iter().map(of).sum::<u64>();
    let about = if last.usage.estimated { "about " } else { "" };
    let model = last.version.as_deref().unwrap_or(&last.model);
    let mut parts = vec![
        printable(&format!("{}, {model}", last.provider)),
        format!("{about}{} tokens read, {} written", sum(|a| a.usage.input_tokens), sum(|a| a.usage.output_tokens)),
    ];
    parts.extend(last.cost_usd_micros.map(|_| dollars(sum(|a| a.cost_usd_micros.unwrap_or_default()))));
    parts.push(format!("{} ms", sum(|a| a.latency_ms)));
    if is_replayed {
        parts.insert(0, "replayed".to_owned());
    }
    for attempt in answers.iter().flat_map(|answer| &answer.failed) {
        let failed = format!("{} failed: {}", attempt.model, attempt.failure.detail);
        ctx.screen.note(paint(style::FAINT, one_line(&failed)));
    }
    ctx.screen.note(paint(style::FAINT, parts.join(" · ")));
}

/// Shows the answer on a terminal as it is generated. A pipe gets it only when it is complete,
/// because a retracted part cannot be removed from a pipe.
struct Out {
    screen: Screen,
    live: bool,
    said: bool,
    failed: Option<io::Error>,
}

impl Out {
    fn new(ctx: &CliContext) -> Self {
        Self { screen: ctx.screen, live: !ctx.screen.json && io::stdout().is_terminal(), said: false, failed: None }
    }

    fn print(&mut self, text: &str) {
        let mut out = anstream::stdout();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            self.failed.get_or_insert(error);
        }
    }

    /// Ends the line, and says so if what was shown is not an answer.
    fn end(&mut self, answered: bool) -> io::Result<()> {
        match answered {
            true if self.live && self.said => self.print("\n"),
            true => {}
            false => self.again(),
        }
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Hear for Out {
    fn piece(&mut self, text: &str) {
        if self.live {
            self.said = true;
            self.print(&printable(text));
        }
    }

    fn again(&mut self) {
        if self.live && self.said {
            self.said = false;
            self.print(&format!("\n{}\n", paint(style::WARN, "(that was no answer)")));
        }
    }

    fn waiting(&mut self, failure: &ModelFailure, wait: Duration) {
        let told = format!("{failure}; again in {:.1} s", wait.as_secs_f64());
        self.screen.note(paint(style::FAINT, one_line(&told)));
    }
}
