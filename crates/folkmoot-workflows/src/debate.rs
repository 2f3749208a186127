//! The workflow `debate@1`: a team writes answers, attacks them, executes what can be executed, and
//! votes. People are asked at gates wherever the configuration says so.
//!
//! ```text
//! DebateConfig ─▶ DebateContext (voices, tools: never changes)
//!   + DebateState (answers, tests: made again in every pass)
//!   ─▶ for each round, for each phase: phases/… ─▶ gate ─▶ hooks ─▶ … ─▶ Verdict
//! ```

mod config;
mod context;
pub mod decimals;
mod effects;
mod evidence;
mod gate;
mod learn;
mod parts;
mod phases;
pub mod records;
mod silent;
mod state;
mod turn;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use folkmoot_core::{Name, text};
use folkmoot_debate::{
    self as debate, Course, DebateEvent, DebateVerdict, DecidedBy, NoDecision, TurnState,
    agent::{DebatePhase, Domain, Share},
    cognition::{PhaseExpectations, PhaseObservation},
    consensus::same_answer,
    estimate::Estimate,
    memory::EpisodicMemory,
    planning::PlanningChoice,
    record::{DebateRecord, LogLine, SessionRecord, VIEWS},
    topology::Network,
};
use folkmoot_engine::{Ctx, Failure, Workflows, key};
use folkmoot_llm::budget::{SharedBudget, Spent};
use folkmoot_tools::tool::ToolOffer;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub(crate) use config::MAX_TOKENS_MAX;
pub use config::{DebateConfig, Gates, Instructor, OnRejected, Preset, RETRIES_MAX, TOPIC_BYTES_MAX};
pub use effects::{Branch, Effects, ProjectCommandRun, RealEffects, ToolContext};
pub(crate) use silent::NoModels;

use self::{
    context::{DebateContext, NamedVoice, PhaseAttempt},
    gate::AtGate,
    state::{Candidate, DebateState},
};
use crate::{OnExceeded, RunBudget, Voices, call::allowed, voice::or_stop};

/// The result of a debate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebateOutcome {
    pub verdict: DebateVerdict,
    /// The winning answer, in words; empty if nothing was decided.
    pub answer: String,
    /// All answers, the best first, if nothing was decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<UndecidedAnswer>,
    pub code: Option<String>,
    /// The language of the code.
    pub language: Option<String>,
    /// How many versions of code there are.
    pub versions: u32,
    /// The providers that were asked.
    pub providers: Vec<String>,
    /// What was spent on models.
    pub spent: Spent,
}

/// An answer of a debate that decided nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndecidedAnswer {
    pub author: Name,
    /// In words.
    pub answer: String,
    pub code: Option<String>,
    /// How many tests of others it passes, and of how many.
    pub tests: Option<(u32, u32)>,
    /// The mean score that reviewers gave it.
    pub quality: Option<Share>,
}

/// The workflow of debates, with what it needs.
#[derive(Clone, Debug)]
pub struct Debater {
    pub voices: Arc<dyn Voices>,
    /// Executes code, calls tools and commits.
    pub effects: Arc<dyn Effects>,
}

impl Debater {
    /// Adds the workflow of debates to others.
    #[must_use]
    pub fn join(self, workflows: Workflows) -> Workflows {
        workflows
            .with(debate::WORKFLOW, move |ctx: Ctx, config: DebateConfig| {
                let debater = self.clone();
                async move { debater.debate(ctx, config).await }
            })
            .with_views(VIEWS)
    }

    /// The workflow for a replay. Nobody is asked and nothing is done; only the journal answers.
    /// The prompts come from `voices`, because a replay must render the same prompts.
    pub fn replaying(voices: Arc<dyn Voices>) -> Self {
        Self { voices: Arc::new(silent::NoModels(voices)), effects: Arc::new(silent::ReplayEffects) }
    }

    async fn debate(self, ctx: Ctx, config: DebateConfig) -> Result<DebateOutcome, Failure> {
        config.check().map_err(|refusal| Failure::new("invalid_input", refusal.to_string()))?;
        let estimate = Estimate::of(&config.topic, config.language.map(|language| language.word()), &[]);
        let course = config.course(estimate.needs_clarification())?;
        let context = self.context(&ctx, config).await?;
        let outcome = context.run_rounds(&ctx, &course, &estimate).await;
        // Clean up whatever the outcome is. A cancelled debate does not get here; the server that
        // cancels it cleans up.
        context.clean(&ctx).await?;
        outcome
    }

    /// Collects what every pass works with. What can change between passes is determined once, and
    /// recorded.
    async fn context(self, ctx: &Ctx, config: DebateConfig) -> Result<DebateContext, Failure> {
        // A default voice is chosen only if some agent has no model of its own.
        let default_voice = config.agents.agents().iter().any(|agent| agent.model.is_none());
        let default_voice = default_voice.then(|| (None, config.provider.clone()));
        let wanted: Vec<(Option<Name>, Option<String>)> = default_voice
            .into_iter()
            .chain(config.agents.agents().iter().filter_map(|agent| {
                let model = agent.model.as_ref()?;
                let name = match &model.model {
                    Some(which) => format!("{}/{which}", model.provider),
                    None => model.provider.clone(),
                };
                Some((Some(agent.id.clone()), Some(name)))
            }))
            .collect();
        let voices = Arc::clone(&self.voices);
        let choose = move || {
            let (voices, wanted) = (Arc::clone(&voices), wanted.clone());
            async move {
                let mut chosen = Vec::new();
                for (agent, named) in wanted {
                    chosen.push((agent, voices.choose(named).await?));
                }
                Ok(chosen)
            }
        };
        let chosen: Vec<(Option<Name>, String)> = ctx.step("voices", choose).await?;
        let mut default_voice = None;
        let mut named = BTreeMap::new();
        for (agent, provider) in chosen {
            let voice = NamedVoice { voice: or_stop(ctx, self.voices.voice(&provider)).await, provider };
            match agent {
                Some(agent) => drop(named.insert(agent, voice)),
                None => default_voice = Some(voice),
            }
        }
        let session = ctx.session_id().to_string();
        let branch = config.repository.clone().map(|repository| Branch { repository, session });
        let offers = self.offers(ctx, &config, branch.clone()).await?;
        let configured = self.voices.budget();
        let budget = allowed(ctx, config.budget, move || configured).await?;
        let on_exceeded = if config.gates.enabled { OnExceeded::Ask } else { OnExceeded::Fail };
        Ok(DebateContext {
            domain: Domain::guess(&config.topic).domain,
            voices: named,
            // Only a provider that is asked about the topic anyway may see it.
            embedder: default_voice.as_ref().and_then(|default_voice| self.voices.embedder(&default_voice.provider)),
            default_voice,
            budget: RunBudget::new(SharedBudget::new(budget), on_exceeded)
                .waiting_at_most(self.voices.outage_wait_max()),
            prompts: or_stop(ctx, self.voices.prompts()).await,
            effects: self.effects,
            offers,
            branch,
            config,
        })
    }

    /// The tools of each agent. They are looked up once, because a tool server may be gone when the
    /// run is replayed.
    async fn offers(
        &self,
        ctx: &Ctx,
        config: &DebateConfig,
        branch: Option<Branch>,
    ) -> Result<BTreeMap<Name, Vec<ToolOffer>>, Failure> {
        if config.tool_calls_max == 0 {
            return Ok(BTreeMap::new());
        }
        let (effects, place) =
            (Arc::clone(&self.effects), ToolContext { debate: ctx.run_id().to_string(), role: ctx.role(), branch });
        let agents: Vec<_> =
            config.agents.agents().iter().map(|agent| (agent.id.clone(), agent.tools().to_vec())).collect();
        let look = move || {
            let (effects, place, agents) = (Arc::clone(&effects), place.clone(), agents.clone());
            async move {
                let mut offers = BTreeMap::new();
                for (agent, kinds) in agents {
                    offers.insert(agent, effects.offers(place.clone(), kinds).await);
                }
                Ok(offers)
            }
        };
        ctx.step("tools", look).await
    }
}

/// Why a debate ends other than by a vote.
enum EndReason {
    Undecided(NoDecision, String),
    /// Fewer agents answered than the phase requires. Includes the verdict of those who voted, if
    /// any.
    TooFew(String, Option<Box<DebateVerdict>>),
    Agreed(Candidate),
}

impl DebateContext {
    async fn run_rounds(&self, ctx: &Ctx, course: &Course, estimate: &Estimate) -> Result<DebateOutcome, Failure> {
        let agents = self.config.agents.agents();
        let parallel = usize::try_from(self.config.max_parallel).unwrap_or(usize::MAX);
        let mut state = DebateState {
            network: Network::new(self.config.topology, agents, parallel),
            style: PlanningChoice::at_the_start(self.config.planning, estimate, agents.len()),
            planner: PhaseExpectations::default(),
            candidates: BTreeMap::new(),
            notes: Vec::new(),
            ambiguities: Vec::new(),
            lessons: Vec::new(),
            points: Vec::new(),
            scores: Vec::new(),
            cross: None,
            hooked: Vec::new(),
            findings: Vec::new(),
            memory: EpisodicMemory::default(),
            versions: Vec::new(),
            committed: BTreeSet::new(),
            tests: BTreeMap::new(),
            turns: debate::Turns::default(),
            in_phase: Vec::new(),
            began: ctx.now("began").await?,
        };
        self.start(ctx, course, estimate, &state).await?;
        self.recall(ctx, &mut state).await?;
        let mut verdict = None;
        let mut rounds = 0;
        'rounds: for round in 1..=course.max_rounds {
            rounds = round;
            tell(ctx, &key!(round, "started"), DebateEvent::RoundStarted { round }).await?;
            for phase in course.round(round) {
                match self.phase(ctx, course, phase, round, &mut state).await? {
                    Some(PhaseVerdict::Decided(came)) => verdict = Some(came),
                    Some(PhaseVerdict::Ends(ends)) => {
                        verdict = Some(self.ended(ends, round, &state));
                        break 'rounds;
                    }
                    None => {}
                }
            }
            let (decided, consensus) =
                verdict.as_ref().map_or((false, None), |verdict| (verdict.winner.is_some(), verdict.consensus));
            tell(ctx, &key!(round, "completed"), DebateEvent::RoundCompleted { round, consensus, decided }).await?;
            self.keep_session(ctx, &key!(round, "session"), round, None, &state).await?;
            if !course.goes_on(round, decided, consensus) {
                break;
            }
            self.replan(ctx, round, &mut state).await?;
        }
        let mut verdict = verdict.unwrap_or_else(|| {
            let why = "nobody votes in a debate without convergence".to_owned();
            self.ended(EndReason::Undecided(NoDecision::NoConvergence, why), rounds, &state)
        });
        verdict.rounds = rounds;
        verdict.turns = state.turns;
        verdict.consensus_reached = verdict.consensus.is_some_and(|consensus| consensus >= self.config.min_consensus);
        self.conclude(ctx, verdict, state).await
    }

    /// Runs one phase, and repeats it if people want that or if its models failed.
    async fn phase(
        &self,
        ctx: &Ctx,
        course: &Course,
        phase: DebatePhase,
        round: u32,
        state: &mut DebateState,
    ) -> Result<Option<PhaseVerdict>, Failure> {
        for again in 0..=REPEATS_MAX {
            let at = PhaseAttempt { phase, round, again };
            state.in_phase.clear();
            let network = state.network.clone();
            let came = match phase {
                DebatePhase::Dehallucination => self.dehallucination(ctx, at, state).await?,
                DebatePhase::SelfEvolvement => self.self_evolvement(ctx, at, state).await?,
                DebatePhase::Proposal => self.proposal(ctx, at, state).await?,
                DebatePhase::Critique => self.critique(ctx, at, state).await?,
                DebatePhase::Review => self.review(ctx, at, state).await?,
                DebatePhase::Optimization => self.optimization(ctx, at, state).await?,
                DebatePhase::Adversarial => self.adversarial(ctx, at, state).await?,
                DebatePhase::Convergence => self.convergence(ctx, at, state).await?,
            };
            self.complete(ctx, at, &came, state).await?;
            if let Some(why) = came.too_few {
                let failed = state.in_phase.iter().any(|(state, _)| *state == TurnState::Failed);
                if failed && again < REPEATS_MAX {
                    // The models failed, not the answers. Once the models work again, everybody is
                    // asked again.
                    let message =
                        format!("{why}. Nothing is lost: resume this run, and the {phase} phase is done again");
                    ctx.stop_until_resumed(at.key("stopped"), NoDecision::TooFewResponses.word(), message).await?;
                    state.network = network;
                    continue;
                }
                return Ok(Some(PhaseVerdict::Ends(EndReason::TooFew(why, came.verdict.map(Box::new)))));
            }
            // The gate after a vote opens only if the vote is final. It is not final if another
            // round follows.
            let is_final = came
                .verdict
                .as_ref()
                .is_none_or(|verdict| !course.goes_on(round, verdict.winner.is_some(), verdict.consensus));
            if is_final && self.config.gates.ask_after(phase) {
                match self.ask_people(ctx, at, gate::PHASE_GATE_KEY, &came, state).await? {
                    AtGate::Approved | AtGate::GoOn => {}
                    AtGate::Again => continue,
                }
            }
            self.hooks(ctx, at, state).await?;
            if let Some(agreed) = self.agreed(at, state)
                && self.is_accepted(ctx, at, &agreed, state).await?
            {
                return Ok(Some(PhaseVerdict::Ends(EndReason::Agreed(agreed))));
            }
            return Ok(came.verdict.map(PhaseVerdict::Decided));
        }
        Err(Failure::new(
            "repeated",
            format!("the {phase} phase was done {REPEATS_MAX} times, and is wanted once more"),
        ))
    }

    async fn start(&self, ctx: &Ctx, course: &Course, estimate: &Estimate, state: &DebateState) -> Result<(), Failure> {
        let agents = self.config.agents.agents();
        let providers = self.providers();
        let clarifies = course.phases.contains(&DebatePhase::Dehallucination);
        let reasons = vec![
            format!("domain: {}", self.domain),
            format!(
                "complexity {}, ambiguity {}: {}",
                estimate.complexity,
                estimate.ambiguity,
                serde_json::to_string(&estimate.reasons)?
            ),
            format!("dehallucination: {}", if clarifies { "on" } else { "off" }),
            format!("planning: {} ({})", state.style.style, state.style.reason),
            format!("voting: {}", self.config.method()),
        ];
        let told = DebateEvent::Started {
            topic: self.config.title(),
            agents: agents.iter().map(|agent| (agent.id.clone(), agent.role)).collect(),
            phases: course.phases.clone(),
            topology: self.config.topology.word().to_owned(),
            planning: state.style.style.word().to_owned(),
            reasons,
            providers,
        };
        let session = self.session(0, None, state)?;
        ctx.keep("started", told.kind(), &told, vec![DebateRecord::Session(session), line(&told)]).await
    }

    fn providers(&self) -> Vec<String> {
        let mut providers: Vec<String> =
            self.voices.values().chain(&self.default_voice).map(|named| named.provider.clone()).collect();
        providers.sort();
        providers.dedup();
        providers
    }

    fn session(
        &self,
        rounds: u32,
        verdict: Option<&DebateVerdict>,
        state: &DebateState,
    ) -> Result<SessionRecord, Failure> {
        Ok(SessionRecord {
            topic: self.config.topic.clone(),
            topology: self.config.topology.word().to_owned(),
            coordination_protocol: state.style.style.word().to_owned(),
            config: decimals::config(serde_json::to_value(&self.config)?),
            total_rounds: rounds,
            final_consensus_score: verdict.and_then(|verdict| verdict.consensus),
            outcome: verdict.map(|verdict| serde_json::to_value(verdict).map(decimals::verdict)).transpose()?,
            metadata: json!({
                "domain": self.domain, "providers": self.providers(), "tree": state.network.tree(),
                "expectations": state.planner.history().collect::<Vec<_>>(), "branch": self.branch,
                "remaining_ambiguities": state.ambiguities,
            }),
        })
    }

    async fn keep_session(
        &self,
        ctx: &Ctx,
        key: &str,
        rounds: u32,
        verdict: Option<&DebateVerdict>,
        state: &DebateState,
    ) -> Result<(), Failure> {
        let session = self.session(rounds, verdict, state)?;
        ctx.keep(key, "debate.session", &json!({ "rounds": rounds }), vec![DebateRecord::Session(session)]).await
    }

    /// Compares a phase with what was expected of it, and logs the result.
    async fn complete(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        came: &PhaseReport,
        state: &mut DebateState,
    ) -> Result<(), Failure> {
        let confidences: Vec<u64> = state
            .in_phase
            .iter()
            .filter_map(|(_, confidence)| Some(confidence.as_ref()?.as_hundredths().into()))
            .collect();
        let observed = PhaseObservation {
            answers: u32::try_from(state.answered()).unwrap_or(u32::MAX),
            confidence: Share::part(confidences.iter().sum(), confidences.len() as u64 * 100),
            consensus: came.verdict.as_ref().and_then(|verdict| verdict.consensus),
            insights: came.insights,
            latency_ms: 0,
        };
        let compared = state.planner.compare(at.round, at.phase, observed);
        let told = DebateEvent::PhaseCompleted {
            phase: at.phase,
            round: at.round,
            answered: observed.answers,
            asked: u32::try_from(state.in_phase.len()).unwrap_or(u32::MAX),
            messages: came.messages,
            note: came.note.clone(),
            overall: compared.map(|compared| compared.score),
        };
        tell(ctx, &at.key("completed"), told).await
    }

    /// The leading answer, if the first answers, given without seeing each other, are all the same.
    fn agreed(&self, at: PhaseAttempt, state: &DebateState) -> Option<Candidate> {
        let asked = self.config.early_agreement && at.round == 1 && at.phase == DebatePhase::Proposal;
        let is_later = |phase: &DebatePhase| *phase > DebatePhase::Proposal && *phase != DebatePhase::Convergence;
        // If people want a gate after a later phase, that phase must run.
        let is_awaited = self.config.gates.enabled && self.config.gates.gate_points.iter().any(is_later);
        if !asked || is_awaited || state.candidates.len() < 2 {
            return None;
        }
        let first = state.leading()?;
        let same = match first.code {
            // The same behaviour: everybody passes everybody's tests, and there are enough tests to
            // tell.
            Some(_) => state.all_pass(PROBES_MIN),
            None => state.candidates.values().all(|other| same_answer(&first.position, &other.position)),
        };
        same.then(|| first.clone())
    }

    /// Whether people accept an early agreement as the end. If a gate is configured before the
    /// final result, it opens here too. If people do not approve, the debate goes on to the vote
    /// and the gate after it.
    async fn is_accepted(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        agreed: &Candidate,
        state: &mut DebateState,
    ) -> Result<bool, Failure> {
        if !self.config.gates.ask_after(DebatePhase::Convergence) {
            return Ok(true);
        }
        let verdict = self.ended(EndReason::Agreed(agreed.clone()), at.round, state);
        let came = PhaseReport { note: verdict.reason.clone(), verdict: Some(verdict), ..PhaseReport::default() };
        let last = PhaseAttempt { phase: DebatePhase::Convergence, round: at.round, again: 0 };
        Ok(matches!(self.ask_people(ctx, last, "agreed", &came, state).await?, AtGate::Approved))
    }

    /// May change the planning style after a round that missed what was expected of it.
    async fn replan(&self, ctx: &Ctx, round: u32, state: &mut DebateState) -> Result<(), Failure> {
        let chosen = state.style.after_a_round(self.config.planning, state.planner.missed(round));
        if chosen.style != state.style.style {
            let (field, value) = ("planning".to_owned(), chosen.style.word().to_owned());
            let told = DebateEvent::ConfigChanged { field, value, reason: chosen.reason.word().to_owned() };
            tell(ctx, &key!(round, "rethought"), told).await?;
        }
        state.style = chosen;
        Ok(())
    }

    fn ended(&self, ends: EndReason, round: u32, state: &DebateState) -> DebateVerdict {
        let nothing = DebateVerdict {
            winner: None,
            decided_by: None,
            no_decision: None,
            reason: String::new(),
            voting_method: None,
            label: String::new(),
            confidence: None,
            consensus: None,
            rounds: round,
            effective_votes: None,
            elected: None,
            ballots: Vec::new(),
            dissent: Vec::new(),
            tests: None,
            turns: state.turns,
            consensus_reached: false,
        };
        match ends {
            EndReason::Undecided(why, reason) => DebateVerdict { no_decision: Some(why), reason, ..nothing },
            EndReason::TooFew(reason, voted) => DebateVerdict {
                winner: None,
                decided_by: None,
                no_decision: Some(NoDecision::TooFewResponses),
                reason,
                label: String::new(),
                confidence: None,
                consensus: None,
                tests: None,
                ..voted.map_or(nothing, |voted| *voted)
            },
            EndReason::Agreed(candidate) => DebateVerdict {
                tests: state.tested(&candidate.author).map(|tested| (tested.passed, tested.of)),
                confidence: candidate.confidence,
                winner: Some(candidate.author),
                decided_by: Some(DecidedBy::Agreement),
                reason: "the first answers, given blindly, agree".to_owned(),
                ..nothing
            },
        }
    }

    async fn conclude(&self, ctx: &Ctx, verdict: DebateVerdict, state: DebateState) -> Result<DebateOutcome, Failure> {
        let winner = verdict.winner.as_ref().and_then(|winner| state.candidates.get(winner));
        let code = winner.and_then(|winner| winner.code.clone());
        if let (Some(winner), Some(code)) = (winner, &code) {
            // So that the branch ends with the code that was decided on, whoever wrote the last
            // version.
            let message = format!("The verdict: {}'s answer", winner.author);
            self.commit(ctx, "verdict", &winner.author, code.clone(), message).await?;
        }
        let answer = match verdict.decided_by {
            // They agree on the position, but each gives its own reasons.
            Some(DecidedBy::Agreement) if code.is_none() => {
                state.candidates.values().map(|one| one.text.as_str()).collect::<Vec<_>>().join("\n\n")
            }
            Some(DecidedBy::Vote | DecidedBy::Tests | DecidedBy::Agreement) | None => {
                winner.map_or_else(String::new, |winner| winner.text.clone())
            }
        };
        let learned = self.learned(ctx, &state);
        let session = self.session(verdict.rounds, Some(&verdict), &state)?;
        let told = DebateEvent::Completed { verdict: Box::new(verdict.clone().without_words()) };
        let records = [DebateRecord::Session(session), line(&told)].into_iter().chain(learned).collect();
        ctx.keep("completed", told.kind(), &told, records).await?;
        let undecided = match verdict.winner {
            Some(_) => Vec::new(),
            None => state.ranked().into_iter().map(|candidate| undecided(candidate, &state)).collect(),
        };
        Ok(DebateOutcome {
            answer,
            undecided,
            language: self.config.language.filter(|_| code.is_some()).map(|language| language.word().to_owned()),
            code,
            versions: u32::try_from(state.versions.len()).unwrap_or(u32::MAX),
            providers: self.providers(),
            spent: self.budget.spent(),
            verdict,
        })
    }

    async fn clean(&self, ctx: &Ctx) -> Result<(), Failure> {
        if self.branch.is_none() && self.offers.is_empty() {
            return Ok(());
        }
        let (effects, debate, branch) = (Arc::clone(&self.effects), ctx.run_id().to_string(), self.branch.clone());
        let work = move || {
            let (effects, debate, branch) = (Arc::clone(&effects), debate.clone(), branch.clone());
            async move { Ok(effects.clean(debate, branch).await) }
        };
        let cleaned: Result<(), String> = ctx.step("cleaned", work).await?;
        match cleaned {
            Ok(()) => Ok(()),
            Err(message) => tell(ctx, "not cleaned", DebateEvent::Error { phase: None, message }).await,
        }
    }
}

/// How often a phase is repeated at most, because people want it or because its models failed.
const REPEATS_MAX: u32 = 20;

/// This many tests are enough to tell whether two programs behave alike.
const PROBES_MIN: usize = 3;

fn undecided(candidate: &Candidate, state: &DebateState) -> UndecidedAnswer {
    UndecidedAnswer {
        author: candidate.author.clone(),
        answer: candidate.text.clone(),
        code: candidate.code.clone(),
        tests: state.tested(&candidate.author).map(|tested| (tested.passed, tested.of)),
        quality: state.quality(&candidate.author),
    }
}

/// What a phase means for the course of the debate.
enum PhaseVerdict {
    Decided(DebateVerdict),
    Ends(EndReason),
}

/// The result of one phase, as it is logged and recorded.
#[derive(Debug, Default)]
struct PhaseReport {
    /// In one line.
    note: String,
    /// Why the debate cannot go on: fewer agents answered than the phase requires.
    too_few: Option<String>,
    /// How many messages it took.
    messages: u32,
    /// How many new things it brought up.
    insights: u32,
    /// The verdict, if this is the phase that decides.
    verdict: Option<DebateVerdict>,
}

/// At most this many failed tests are named in an event.
const FAILED_NAMED: usize = 20;
/// The longest text from elsewhere in an event.
const TOLD_BYTES: usize = 1_000;

/// Appends an event and its log line. Texts from elsewhere are shortened, because an event that is
/// too long would end the debate.
async fn tell(ctx: &Ctx, key: &str, mut told: DebateEvent) -> Result<(), Failure> {
    if let DebateEvent::Tested { failed, .. } | DebateEvent::Hook { failed, .. } = &mut told {
        failed.truncate(FAILED_NAMED);
        failed.iter_mut().for_each(|name| *name = text::shortened(name, TOLD_BYTES));
    }
    if let DebateEvent::Error { message: said, .. } | DebateEvent::Rebalanced { reason: said, .. } = &mut told {
        *said = text::shortened(said, TOLD_BYTES);
    }
    ctx.keep(key, told.kind(), &told, vec![line(&told)]).await
}

/// How long a line of a debate's log is kept.
const LINES_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The event as a line of `debate_logs`.
fn line(told: &DebateEvent) -> DebateRecord {
    DebateRecord::Line(LogLine {
        level: told.level(),
        message: text::shortened(&told.summary(), TOLD_BYTES),
        data: serde_json::to_value(told).unwrap_or_default(),
        expires_after: Some(LINES_KEPT),
    })
}
