//! A debate on a stage: the rehearsal plays, some agents say something else, and whoever looks sees
//! what everybody was asked, what the log was told, and what came of it.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use folkmoot_core::{
    Name,
    gate::{Choice, Gate},
};
use folkmoot_debate::{DebateEvent, DebateVerdict, NoDecision, TurnState, WORKFLOW};
use folkmoot_engine::{
    Failure, Workflows,
    sim::{self, Crash, Scenario, SimulatedDecision, SimulationReport},
};
use folkmoot_llm::{
    Cue, FailureKind, Hear, Model, ModelAnswer, ModelRequest, Prompts, Rehearsal, Speaker, budget::Budget,
};
use folkmoot_workflows::{
    Voice, Voices,
    debate::{DebateConfig, DebateOutcome, Debater, Effects},
};
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::recorded::Recorded;
use crate::voices::PROMPTS;

/// What somebody says in place of what the rehearsal would.
#[derive(Clone, Debug)]
pub enum Says {
    /// These words.
    Words(String),
    /// What the rehearsal says, with this part of it otherwise.
    With(&'static str, Value),
    /// What the rehearsal says, with this as each of these texts that it has.
    Each(&'static [&'static str], &'static str),
    /// What this makes of what was asked.
    Made(fn(&ModelRequest) -> String),
    /// Nothing: the call fails.
    Fails(FailureKind),
    /// Nothing, ever.
    Silence,
}

type Line = dyn Fn(&Cue) -> Option<Says> + Send + Sync;
type Decide = dyn Fn(&Gate) -> Option<SimulatedDecision> + Send + Sync;
type Reply = dyn Fn(&folkmoot_core::Question) -> Option<Value> + Send + Sync;

/// Who speaks, and all that they were asked.
struct Play {
    provider: String,
    line: Arc<Line>,
    asked: Arc<Mutex<Vec<ModelRequest>>>,
}

impl fmt::Debug for Play {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Play").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl Model for Play {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, folkmoot_llm::ModelFailure>> {
        self.asked.lock().unwrap().push(request.clone());
        let cue = request.cue.as_ref().expect("a debate says what it asks for");
        Box::pin(async move {
            let said = (self.line)(cue);
            if let Some(Says::Fails(kind)) = said {
                return Err(folkmoot_llm::ModelFailure::new(&self.provider, kind, "as the script says"));
            }
            if let Some(Says::Silence) = said {
                return std::future::pending().await;
            }
            let mut answer = Rehearsal.ask(request, hear).await?;
            answer.provider = self.provider.clone();
            match said {
                Some(Says::Words(words)) => answer.text = words,
                Some(Says::Made(make)) => answer.text = make(request),
                Some(Says::With(name, value)) => {
                    let mut said: Value = serde_json::from_str(&answer.text).unwrap();
                    said[name] = value;
                    answer.text = said.to_string();
                }
                Some(Says::Each(names, text)) => {
                    let mut said: Value = serde_json::from_str(&answer.text).unwrap();
                    for name in names {
                        if said[name].is_string() {
                            said[name] = text.into();
                        }
                    }
                    answer.text = said.to_string();
                }
                _ => {}
            }
            Ok(answer)
        })
    }
}

/// Voices of one play, each under its own name.
#[derive(Debug)]
struct Cast {
    line: Opaque,
    /// Providers that never answer.
    dead: Vec<String>,
    budget: Budget,
}

#[derive(Clone)]
struct Opaque(Arc<Line>, Arc<Mutex<Vec<ModelRequest>>>);

impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a play")
    }
}

impl Voices for Cast {
    fn choose(&self, named: Option<String>) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async move { Ok(named.unwrap_or_else(|| "usual".to_owned())) })
    }

    fn voice(&self, provider: &str) -> Result<Voice, Failure> {
        let line = match self.dead.iter().any(|dead| dead == provider) {
            true => Arc::new(|_: &Cue| Some(Says::Fails(FailureKind::Refused))) as Arc<Line>,
            false => Arc::clone(&self.line.0),
        };
        let play = Play { provider: provider.to_owned(), line, asked: Arc::clone(&self.line.1) };
        Ok(Voice { model: Arc::new(play), price: None, max_tokens: folkmoot_llm::request::MAX_TOKENS })
    }

    fn prompts(&self) -> Result<Arc<Prompts>, Failure> {
        Ok(Arc::clone(&PROMPTS))
    }

    fn budget(&self) -> Budget {
        self.budget
    }
}

/// What is played.
pub struct Stage {
    debating: DebateConfig,
    line: Arc<Line>,
    dead: Vec<String>,
    budget: Budget,
    effects: Arc<dyn Effects>,
    decide: Arc<Decide>,
    answer: Arc<Reply>,
    asked: Arc<Mutex<Vec<ModelRequest>>>,
    resumes: u32,
}

impl Stage {
    /// A debate as the rehearsal plays it; people approve everything.
    pub fn new(debating: &DebateConfig) -> Self {
        Self {
            debating: debating.clone(),
            line: Arc::new(|_| None),
            dead: Vec::new(),
            budget: Budget::default(),
            effects: Arc::new(Recorded),
            decide: Arc::new(|_| Some(Choice::Approve.into())),
            answer: Arc::new(|_| Some("yes".into())),
            asked: Arc::default(),
            resumes: 0,
        }
    }

    /// How often people resume it where it stops.
    pub fn resume(mut self, times: u32) -> Self {
        self.resumes = times;
        self
    }

    /// What is said instead, where this says something.
    pub fn says(mut self, line: impl Fn(&Cue) -> Option<Says> + Send + Sync + 'static) -> Self {
        self.line = Arc::new(line);
        self
    }

    /// A provider that never answers.
    pub fn dead(mut self, provider: &str) -> Self {
        self.dead.push(provider.to_owned());
        self
    }

    /// What a debate that does not say may spend.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Who executes.
    pub fn effects(mut self, effects: Arc<dyn Effects>) -> Self {
        self.effects = effects;
        self
    }

    /// What people say to gates.
    pub fn decide(mut self, decide: impl Fn(&Gate) -> Option<SimulatedDecision> + Send + Sync + 'static) -> Self {
        self.decide = Arc::new(decide);
        self
    }

    /// What people say to questions.
    pub fn answer(
        mut self,
        answer: impl Fn(&folkmoot_core::Question) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        self.answer = Arc::new(answer);
        self
    }

    /// As it is simulated.
    pub fn scenario(&self) -> Scenario {
        let cast = Cast {
            line: Opaque(Arc::clone(&self.line), Arc::clone(&self.asked)),
            dead: self.dead.clone(),
            budget: self.budget,
        };
        let debater = Debater { voices: Arc::new(cast), effects: Arc::clone(&self.effects) };
        let (decide, answer) = (Arc::clone(&self.decide), Arc::clone(&self.answer));
        Scenario::new(debater.join(Workflows::new()), WORKFLOW, &self.debating)
            .decide(move |gate| decide(gate))
            .answer(move |question| answer(question))
            .resume(self.resumes)
    }

    /// Plays it.
    pub fn play(self) -> Played {
        let report = sim::simulate(&self.scenario(), Crash::Never);
        let told = report.told.iter().filter_map(|(kind, payload)| read(kind, payload)).collect();
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        Played { report, told, asked }
    }
}

/// An event of a debate. What Folkmoot says beside, which rows were kept, is none of it.
fn read(kind: &str, payload: &str) -> Option<DebateEvent> {
    let mut payload: Value = serde_json::from_str(payload).ok()?;
    payload.as_object_mut()?.remove("records");
    DebateEvent::read(kind, &payload.to_string())
}

/// How it went.
pub struct Played {
    pub report: SimulationReport,
    pub told: Vec<DebateEvent>,
    pub asked: Vec<ModelRequest>,
}

/// A turn, as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ATurn {
    pub agent: Name,
    pub part: String,
    pub round: u32,
    pub state: TurnState,
    pub why: String,
    pub provider: String,
    pub tool_calls: u32,
}

impl Played {
    pub fn debated(&self) -> DebateOutcome {
        serde_json::from_value(self.report.outcome.clone().unwrap()).unwrap()
    }

    pub fn verdict(&self) -> DebateVerdict {
        self.debated().verdict
    }

    /// Why nothing was decided.
    pub fn undecided(&self) -> NoDecision {
        let verdict = self.verdict();
        assert_eq!((&verdict.winner, &verdict.decided_by), (&None, &None), "{verdict:?}");
        assert_ne!(verdict.reason, "", "it says why");
        verdict.no_decision.expect("nothing was decided")
    }

    pub fn failure(&self) -> Failure {
        self.report.outcome.clone().unwrap_err()
    }

    /// The turns for these parts; all where none is named.
    pub fn turns(&self, parts: &[&str]) -> Vec<ATurn> {
        let turn = |told: &DebateEvent| match told {
            DebateEvent::Turn { agent, part, round, state, why, provider, tool_calls, .. } => Some(ATurn {
                agent: agent.clone(),
                part: part.clone(),
                round: *round,
                state: *state,
                why: why.clone(),
                provider: provider.clone(),
                tool_calls: *tool_calls,
            }),
            _ => None,
        };
        let is_meant = |turn: &ATurn| parts.is_empty() || parts.contains(&turn.part.as_str());
        self.told.iter().filter_map(turn).filter(is_meant).collect()
    }

    /// What somebody was asked for a part, each time. What they said themselves in between is
    /// theirs.
    pub fn prompts(&self, part: &str) -> Vec<(String, String)> {
        let of = |request: &ModelRequest| {
            let cue = request.cue.as_ref().unwrap();
            (cue.part == part).then(|| (cue.agent.clone(), asked(request)))
        };
        self.asked.iter().filter_map(of).collect()
    }

    /// All that anybody was ever told.
    pub fn all_prompts(&self) -> Vec<String> {
        self.asked
            .iter()
            .map(|request| format!("{}\n\n{}", request.system.as_deref().unwrap(), asked(request)))
            .collect()
    }

    /// Payloads of events of one type.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        let of_kind = self.report.told.iter().filter(|(name, _)| name == kind);
        of_kind.map(|(_, payload)| serde_json::from_str(payload).unwrap()).collect()
    }

    /// What went wrong without ending it.
    pub fn errors(&self) -> Vec<String> {
        let message = |told: &DebateEvent| match told {
            DebateEvent::Error { message, .. } => Some(message.clone()),
            _ => None,
        };
        self.told.iter().filter_map(message).collect()
    }

    /// Who was left out.
    pub fn left_out(&self) -> Vec<String> {
        let who = |told: &DebateEvent| match told {
            DebateEvent::Rebalanced { agent, .. } => Some(agent.to_string()),
            _ => None,
        };
        self.told.iter().filter_map(who).collect()
    }

    /// What phases came to, as `round phase: note`.
    pub fn notes(&self) -> Vec<String> {
        let note = |told: &DebateEvent| match told {
            DebateEvent::PhaseCompleted { phase, round, note, .. } => Some(format!("{round} {phase}: {note}")),
            _ => None,
        };
        self.told.iter().filter_map(note).collect()
    }

    /// Phases in the order in which they began, as `round phase`.
    pub fn phases(&self) -> Vec<String> {
        let phase = |told: &DebateEvent| match told {
            DebateEvent::PhaseStarted { phase, round, .. } => Some(format!("{round} {phase}")),
            _ => None,
        };
        self.told.iter().filter_map(phase).collect()
    }
}

fn asked(request: &ModelRequest) -> String {
    let said = request.messages.iter().filter(|message| message.speaker == Speaker::User);
    said.map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// A prompt without what is fenced in it: what stands there is the template's own. A text that
/// closes its fence would be there too.
pub fn outside(prompt: &str) -> String {
    let mut outside = String::new();
    let mut rest = prompt;
    while let Some((before, after)) = rest.split_once("[[data ") {
        outside.push_str(before);
        let label = after.split_once("]]\n").and_then(|(label, inner)| Some((label.rsplit_once(' ')?.1, inner)));
        // The instructions say what a fence looks like, too.
        let Some((mark, inner)) = label.filter(|(mark, _)| mark.len() == 16) else {
            rest = after;
            continue;
        };
        let (_, after) = inner.split_once(&format!("\n[[end {mark}]]")).expect("a fence is closed");
        rest = after;
    }
    outside.push_str(rest);
    outside
}
