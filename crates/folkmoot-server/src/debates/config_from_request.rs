//! What somebody asks of a debate, made into what its workflow is given. Whatever cannot be is
//! refused here, before anything is started.

use std::{path::Path, str::FromStr};

use folkmoot_api::wire::{self, Agents, NewAgent, OrAuto, OrNone};
use folkmoot_core::{
    Principal, Refusal, Role, Run,
    gate::GatePreferences,
    principal,
    run::{NewRun, RunKind, RunLimits},
    text,
    vocabulary::UnknownWord,
};
use folkmoot_debate::{
    self as debate, Agent, Style, Topology,
    agent::{Domain, ModelName, Team},
    record,
    topology::Traits,
};
use folkmoot_engine::{Caller, Error};
use folkmoot_store::RunQuery;
use folkmoot_workflows::{
    debate::{DebateConfig, Gates, OnRejected, Preset, TOPIC_BYTES_MAX},
    llm::settings::BudgetSettings,
    plan::Planning,
    tools::Repository,
};

use crate::{app::App, notify, plans};

#[cfg(test)]
mod tests;

/// For a topic that is not about code, also where it names a language.
const NO_LANGUAGE: &str = "none";

/// Starts a debate. A known id is refused, also to whoever started it.
pub(crate) async fn start(app: &App, caller: Caller, mut wanted: wire::StartDebate) -> Result<Run, Error> {
    let (id, session_id) = (wanted.id.take(), wanted.session_id.take());
    let limits = limits(wanted.timeout_ms)?;
    let debating = debating(wanted)?;
    must_be_startable(app, &caller.principal, &debating).await?;
    // A session has one debate, so its debate is called after it: of several starts at once one is
    // the first.
    let of_session = || session_id.as_ref().and_then(|it| record::uuid(&[it.as_str(), "debate"]).parse().ok());
    let id = id.or_else(of_session).unwrap_or_else(|| app.engine.new_run_id());
    if let Some(session) = &session_id {
        let query =
            RunQuery { kind: Some(RunKind::Debate), session: Some(session.clone()), limit: 1, ..RunQuery::default() };
        let taken = app.engine.runs(&everything(), query).await?.items.pop();
        // A repetition finds the debate that it started.
        let may_be_again = |run: &Run| caller.idempotency.is_some() && run.start.id == id;
        if taken.is_some_and(|run| !may_be_again(&run)) {
            return Err(Refusal::invalid("session_id", "has a debate already; use another, or leave it out").into());
        }
    }
    let own = || record::uuid(&[id.as_str(), "session"]).parse().expect("a UUID can name a session");
    let session_id = session_id.unwrap_or_else(own);
    let input = serde_json::to_value(&debating).map_err(|error| Refusal::invalid("topic", error.to_string()))?;
    let new_run = NewRun {
        id: id.clone(),
        workflow: Some(debate::WORKFLOW.parse().expect("a test starts one")),
        title: debating.title(),
        session_id: Some(session_id),
        input: Some(text::json("topic", &input)?),
        limits,
    };
    match app.engine.start_or_find_run(caller, new_run).await? {
        (run, true) => Ok(run),
        (_, false) => Err(Refusal::RunExists { run: id }.into()),
    }
}

/// A principal that sees everything, because whether a session is taken must not depend on the
/// caller.
pub(super) fn everything() -> Principal {
    Principal::new("debates".parse().expect("a word is a name"), Role::Viewer)
}

fn limits(timeout_ms: Option<u64>) -> Result<RunLimits, Refusal> {
    let usual = RunLimits::default();
    match timeout_ms {
        None => Ok(usual),
        Some(0) => Err(Refusal::invalid("timeout_ms", "is 0; use at least 1")),
        Some(active_ms_max) => Ok(RunLimits { active_ms_max, ..usual }),
    }
}

/// Refuses gates that this principal may not have, or on which nobody whom they name could decide.
pub(crate) async fn must_have_gates(app: &App, by: &Principal, wanted: &GatePreferences) -> Result<(), Error> {
    app.policy.must_allow(wanted, by)?;
    if let Some(reviewers) = &wanted.reviewers {
        principal::must_decide(reviewers, &app.engine.principals().await?)?;
    }
    Ok(())
}

/// Refuses a debate whose gates or resources this principal may not use. It also applies if the
/// workflow is started by its name.
pub(crate) async fn must_be_startable(app: &App, by: &Principal, debating: &DebateConfig) -> Result<(), Error> {
    debating.check()?;
    let gates = &debating.gates;
    let wanted = GatePreferences {
        timeout: gates.timeout,
        on_timeout: gates.on_timeout,
        reviewers: gates.reviewers.clone(),
        notification_channels: gates.notification_channels.clone(),
    };
    must_have_gates(app, by, &wanted).await?;
    let people = app.engine.principals().await?;
    for agent in debating.agents.agents() {
        principal::must_not_be_a_person("agents", &agent.id, &by.name, &people)?;
    }
    notify::must_be_channels(app, "gates.notification_channels", &gates.notification_channels).await?;
    if gates.on_rejected == OnRejected::Continue && !by.role.decides() {
        // A no that changes nothing is no gate.
        let policy = "a rejection ends a debate, or has its phase done again".to_owned();
        return Err(Refusal::WeakensPolicy { field: "gates.on_rejected", policy }.into());
    }
    if let Some(repository) = &debating.repository {
        // Its code would be written, and its project's commands run, with the rights of the server.
        if !by.role.decides() {
            return Err(Refusal::RoleMayNot { role: by.role, verb: "let a debate work in a repository" }.into());
        }
        let opened = Repository::open(Path::new(repository)).await;
        opened.map_err(|error| Refusal::invalid("repository", format!("cannot be used: {error}")))?;
    }
    let known = |field: &'static str, name: &str| {
        app.voices.voice(name).map(drop).map_err(|failure| Refusal::invalid(field, failure.message))
    };
    if let Some(provider) = &debating.provider {
        known("provider", provider)?;
    }
    for model in debating.agents.agents().iter().filter_map(|agent| agent.model.as_ref()) {
        let name = match &model.model {
            Some(which) => format!("{}/{which}", model.provider),
            None => model.provider.clone(),
        };
        known("agents", &name)?;
    }
    Ok(())
}

/// What is asked for, on top of what its preset says.
fn debating(wanted: wire::StartDebate) -> Result<DebateConfig, Refusal> {
    text::check_filled("topic", &wanted.topic, TOPIC_BYTES_MAX)?;
    let preset = word("preset", wanted.preset.as_deref())?.unwrap_or(Preset::Full);
    let domain = Domain::guess(&wanted.topic).domain;
    let agents = team(wanted.agents, preset, domain)?;
    let size = agents.agents().len();
    let mut debating = preset.debate(wanted.topic, agents);
    if let Some(language) = wanted.language.as_deref() {
        let language = if language == NO_LANGUAGE { None } else { word("language", Some(language))? };
        debating = debating.written_in(language);
    }
    set(&mut debating.voting_fallback, wanted.voting_fallback);
    set(&mut debating.max_rounds, wanted.max_rounds);
    set(&mut debating.early_exit, wanted.early_exit);
    set(&mut debating.early_agreement, wanted.early_agreement);
    set(&mut debating.answers, wanted.answers);
    set(&mut debating.max_parallel, wanted.max_parallel);
    set(&mut debating.clarification_rounds, wanted.clarification_rounds);
    set(&mut debating.instructor, word("instructor", wanted.instructor.as_deref())?);
    set(&mut debating.self_evolvement_iterations, wanted.self_evolvement_iterations);
    set(&mut debating.reflexion_attempts, wanted.reflexion_attempts);
    set(&mut debating.reflections_max, wanted.reflections_max);
    set(&mut debating.adversarial_rounds, wanted.adversarial_rounds);
    set(&mut debating.tool_calls_max, wanted.tool_calls_max);
    set(&mut debating.lessons, wanted.lessons);
    debating.minimum_votes = wanted.minimum_votes.or(debating.minimum_votes);
    if debating.minimum_votes == Some(0) {
        return Err(Refusal::invalid("minimum_votes", "is 0; without a vote nothing is decided"));
    }
    if let Some(given) = wanted.min_consensus {
        let problem = || Refusal::invalid("min_consensus", format!("is {}; say 0 to 1, in hundredths: 0.75", given.0));
        debating.min_consensus = given.share().ok_or_else(problem)?;
    }
    for (phase, switch) in wanted.phases {
        debating.phases = debating.phases.with(phase, switch.0);
    }
    match wanted.topology {
        None => {}
        Some(OrAuto::Is(topology)) => debating.topology = topology,
        Some(OrAuto::Auto) => {
            let parallel = usize::try_from(debating.max_parallel).unwrap_or(usize::MAX);
            debating.topology = Topology::select(Traits::of(size, parallel)).topology;
        }
    }
    match wanted.planning {
        None => {}
        Some(OrAuto::Is(style)) => debating.planning = style,
        Some(OrAuto::Auto) => debating.planning = Style::Adaptive,
    }
    match wanted.voting {
        None => {}
        Some(OrAuto::Is(method)) => debating.voting = Some(method),
        Some(OrAuto::Auto) => debating.voting = None,
    }
    match wanted.tie_break {
        None => {}
        Some(OrNone::Is(rule)) => debating.tie_break = Some(rule),
        Some(OrNone::None) => debating.tie_break = None,
    }
    if let Some(asked) = wanted.gates {
        debating.gates = gates(asked)?;
    }
    debating.provider = wanted.provider;
    debating.max_tokens = wanted.max_tokens;
    if let Some(wire::PlanBudget { tokens, usd }) = wanted.budget {
        let budget = BudgetSettings { tokens, usd }.budget().map_err(|problem| Refusal::invalid("budget", problem))?;
        debating.budget = Some(budget);
    }
    debating.repository = wanted.repository;
    let hooks = wanted.hooks.iter().map(|hook| word("hooks", Some(hook)));
    debating.hooks = hooks.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    Ok(debating)
}

fn set<T>(field: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *field = given;
    }
}

/// A word that api cannot know, because the crates that define it are none of its.
fn word<T: FromStr<Err = UnknownWord>>(field: &'static str, given: Option<&str>) -> Result<Option<T>, Refusal> {
    let read =
        |word: &str| word.parse().map_err(|error: UnknownWord| Refusal::invalid(field, format!("is wrong: {error}")));
    given.map(read).transpose()
}

fn team(asked: Option<Agents>, preset: Preset, domain: Domain) -> Result<Team, Refusal> {
    let listed = match asked {
        None => return Ok(Team::build(preset.agents(), domain, &[])?),
        Some(Agents::Count(count)) => {
            return Ok(Team::build(usize::try_from(count).unwrap_or(usize::MAX), domain, &[])?);
        }
        Some(Agents::Listed(listed)) => listed,
    };
    let agents: Result<Vec<Agent>, Refusal> = listed.into_iter().map(|asked| agent(asked, domain)).collect();
    Ok(Team::of(agents?)?)
}

fn agent(asked: NewAgent, domain: Domain) -> Result<Agent, Refusal> {
    let NewAgent { id, role, provider, model, domain: knows, score } = asked;
    let named = match (provider, model) {
        (Some(provider), model) => Some(ModelName { provider, model }),
        (None, None) => None,
        (None, Some(_)) => {
            return Err(Refusal::invalid("agents", format!("has {id} with a `model` and no `provider`; name both")));
        }
    };
    let mut agent = Agent { model: named, ..Agent::new(id, role, knows.unwrap_or(domain)) };
    if let Some(given) = score {
        let problem = || format!("has {} with score {}; say 0 to 10, in tenths: 7.5", agent.id, given.0);
        agent.score = given.score().ok_or_else(|| Refusal::invalid("agents", problem()))?;
    }
    Ok(agent)
}

fn gates(asked: wire::DebateGates) -> Result<Gates, Refusal> {
    let mut gate_points = asked.gate_points;
    gate_points.sort();
    gate_points.dedup();
    let on_rejected = word("gates.on_rejected", asked.on_rejected.as_deref())?.unwrap_or_default();
    if asked.enabled && gate_points.is_empty() {
        // Whoever enables gates expects to be asked.
        return Err(Refusal::invalid("gates.gate_points", "is empty, so that nobody would be asked; name phases"));
    }
    Ok(Gates {
        enabled: asked.enabled,
        gate_points,
        timeout: asked.timeout_ms,
        on_timeout: asked.on_timeout,
        on_rejected,
        notification_channels: asked.notification_channels,
        reviewers: asked.reviewers,
    })
}

/// Checks the input of a debate or plan that is started by its workflow's name.
pub(crate) async fn check_input_of_workflow(app: &App, by: &Principal, new_run: &NewRun) -> Result<(), Error> {
    // What is no debate or plan at all fails in its workflow, and says why.
    let Some(input) = new_run.input.as_deref() else { return Ok(()) };
    match RunKind::of(new_run.workflow.as_ref()) {
        RunKind::Debate => match serde_json::from_str::<DebateConfig>(input) {
            Ok(debating) => must_be_startable(app, by, &debating).await,
            Err(_) => Ok(()),
        },
        RunKind::Plan => match serde_json::from_str::<Planning>(input) {
            Ok(planning) => plans::must_be_startable(app, by, &planning).await,
            Err(_) => Ok(()),
        },
        RunKind::External | RunKind::Custom => Ok(()),
    }
}
