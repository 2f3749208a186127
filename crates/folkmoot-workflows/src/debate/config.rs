//! The configuration of a debate: its topic, team, course and gates. All of it is recorded when the
//! run starts.

use folkmoot_core::{Name, Refusal, Timeout, gate::OnTimeout, text};
use folkmoot_debate::{
    Agent, Course, Phases, Switch,
    agent::{DebatePhase, Domain, Share, Team, team::AGENTS_MAX},
    planning::Style,
    topology::Topology,
    voting::{Fallback, TieBreak, VotingMethod},
};
use folkmoot_llm::budget::Budget;
use folkmoot_tools::{jail::ProgramLanguage, project::Hook};
use serde::{Deserialize, Serialize};

/// The longest topic. Longer texts belong in a repository.
pub const TOPIC_BYTES_MAX: usize = 64 * 1024;
/// What voters vote for who want none of the answers.
pub(super) const NOBODY: &str = "none";
/// How often a phase is repeated at most because people want it.
pub const RETRIES_MAX: u32 = 3;

/// The highest `max_tokens`: more than any model writes at once.
pub(crate) const MAX_TOKENS_MAX: u32 = 1_000_000;

/// The longest id of an agent. The names of some steps contain it twice.
const AGENT_ID_BYTES_MAX: usize = 64;

folkmoot_core::vocabulary! {
    /// A ready-made kind of debate.
    pub enum Preset {
        /// All phases.
        Full = "full",
        /// Spends only on disagreement: the debate ends if the first answers agree, else there are
        /// a critique and a vote.
        Economy = "economy",
        /// Answers and a vote.
        Quick = "quick",
    }
}

folkmoot_core::vocabulary! {
    /// Who answers the questions about what is unclear before a debate.
    pub enum Instructor {
        /// The agent that leads.
        Agent = "agent",
        /// A person, through the question queue.
        Person = "person",
    }
}

folkmoot_core::vocabulary! {
    /// What happens if somebody rejects the result of a phase.
    pub enum OnRejected {
        /// The debate fails.
        Fail = "fail",
        /// The phase is repeated with what was said, at most three times.
        Retry = "retry",
        /// The debate goes on, with what was said.
        Continue = "continue",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebateConfig {
    pub topic: String,
    pub agents: Team,
    /// The preset that this was made from.
    pub preset: Preset,
    /// Who hears whom.
    pub topology: Topology,
    pub planning: Style,
    /// How ballots are counted; `None` lets the number of agents decide.
    pub voting: Option<VotingMethod>,
    /// How Condorcet voting decides if no candidate beats every other one.
    pub voting_fallback: Fallback,
    /// How a tie for the first place is broken; `None` leaves it a tie.
    pub tie_break: Option<TieBreak>,
    /// How many must vote. By default the number that the phase requires, or all voters if they are
    /// fewer.
    pub minimum_votes: Option<u32>,
    pub max_rounds: u32,
    /// This much agreement ends the debate.
    pub min_consensus: Share,
    pub phases: Phases,
    /// Whether agreement ends the debate before its last round.
    pub early_exit: bool,
    /// Whether the debate ends if the first answers, given without seeing each other, are the same.
    pub early_agreement: bool,
    /// How many agents write answers.
    pub answers: u32,
    /// How many agents speak at the same time.
    pub max_parallel: u32,
    /// The language of the code; `None` for a topic that is not about code.
    pub language: Option<ProgramLanguage>,
    /// The most rounds of questions about what is unclear.
    pub clarification_rounds: u32,
    /// Who answers these questions.
    pub instructor: Instructor,
    /// How often an agent repairs its own draft before others see it.
    pub self_evolvement_iterations: u32,
    /// How often an agent tries to improve the best answer, reflecting on failures in between.
    pub reflexion_attempts: u32,
    /// How many of its earlier reflections, the newest, an agent is shown when it tries again.
    #[serde(default = "reflections_max")]
    pub reflections_max: u32,
    /// How often the red team attacks.
    pub adversarial_rounds: u32,
    /// How many tools an agent may call in a turn; 0 for none.
    pub tool_calls_max: u32,
    /// Whether lessons of earlier debates are shown, and new ones are stored.
    pub lessons: bool,
    /// Where people are asked.
    pub gates: Gates,
    /// The model to ask: `provider` or `provider/model`. By default an available one is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The longest answer of a turn, in tokens; by default what the provider's configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// What it may spend; the configured budget by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// A repository of the user. Code is committed there, on a branch of the debate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// When the project's commands are run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
}

/// Where people are asked, and what happens if they do not decide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gates {
    /// Whether people are asked at all.
    pub enabled: bool,
    /// A gate follows each of these phases.
    pub gate_points: Vec<DebatePhase>,
    /// How long a gate waits; by default as the policy says.
    #[serde(default, rename = "timeout_ms", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeout>,
    /// What a timeout does; by default as the policy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<OnTimeout>,
    /// What a rejection does.
    #[serde(default)]
    pub on_rejected: OnRejected,
    /// Channels through which gates are announced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notification_channels: Vec<String>,
    /// Who may decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Vec<Name>>,
}

impl Default for OnRejected {
    /// A rejection is final unless the configuration says otherwise.
    fn default() -> Self {
        Self::Fail
    }
}

impl Gates {
    /// Whether people are asked after this phase. If not, nothing is prepared for a gate.
    #[inline]
    pub fn ask_after(&self, phase: DebatePhase) -> bool {
        self.enabled && self.gate_points.contains(&phase)
    }
}

impl Preset {
    /// How many agents its team has.
    pub const fn agents(self) -> usize {
        match self {
            Preset::Full => 5,
            Preset::Economy | Preset::Quick => 3,
        }
    }

    /// The configuration of such a debate.
    pub fn debate(self, topic: String, agents: Team) -> DebateConfig {
        use DebatePhase::{Convergence, Critique, Proposal};
        let language = ProgramLanguage::ALL.iter().copied().find(|language| names(&topic, language.word()));
        let (phases, max_rounds, answers) = match self {
            Preset::Full => (Phases::all(), 3, 3),
            Preset::Economy => (Phases::only(&[Proposal, Critique, Convergence]), 2, 2),
            Preset::Quick => (Phases::only(&[Proposal, Convergence]), 1, 3),
        };
        DebateConfig {
            topic,
            agents,
            preset: self,
            topology: Topology::GraphMesh,
            planning: Style::Adaptive,
            voting: None,
            voting_fallback: Fallback::Schulze,
            tie_break: Some(TieBreak::HighestConfidence),
            minimum_votes: None,
            max_rounds,
            min_consensus: Share::hundredths(75).expect("it is below one"),
            phases,
            early_exit: true,
            early_agreement: self == Preset::Economy,
            answers,
            max_parallel: 8,
            language,
            clarification_rounds: 3,
            instructor: Instructor::Agent,
            self_evolvement_iterations: 2,
            reflexion_attempts: 3,
            reflections_max: reflections_max(),
            adversarial_rounds: 3,
            tool_calls_max: tool_calls(language),
            lessons: true,
            gates: Gates::default(),
            provider: None,
            max_tokens: None,
            budget: None,
            repository: None,
            hooks: Vec::new(),
        }
    }
}

/// All of them by default: nobody tries more than ten times.
fn reflections_max() -> u32 {
    10
}

/// The default number of tool calls in a turn. Agents that write no code need none.
fn tool_calls(language: Option<ProgramLanguage>) -> u32 {
    if language.is_some() { 4 } else { 0 }
}

/// Whether a topic says that it is about code in this language.
fn names(topic: &str, language: &str) -> bool {
    let code =
        matches!(Domain::guess(topic).domain, Domain::Code | Domain::Debug | Domain::Optimization | Domain::Security);
    code && topic.split(|c: char| !c.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case(language))
}

impl DebateConfig {
    /// The topic, in one line that fits into a list.
    pub fn title(&self) -> String {
        text::headline(&self.topic)
    }

    /// The same debate with code in this language, or without code.
    #[must_use]
    pub fn written_in(self, language: Option<ProgramLanguage>) -> Self {
        Self { language, tool_calls_max: tool_calls(language), ..self }
    }

    /// The course of the debate. `auto` says whether automatic phases are in, as the estimate
    /// decides.
    pub fn course(&self, auto: bool) -> Result<Course, Refusal> {
        // A phase with a gate after it always runs.
        let mut phases = self.phases.clone();
        for point in self.gates.gate_points.iter().filter(|point| self.phases.switch(**point) == Switch::Auto) {
            phases = phases.with(*point, Switch::On);
        }
        Course::new(&phases, auto, self.max_rounds, self.min_consensus, self.early_exit)
    }

    /// How its ballots are counted.
    pub fn method(&self) -> VotingMethod {
        self.voting.unwrap_or_else(|| VotingMethod::for_voters(self.agents.agents().len()))
    }

    /// Refuses a configuration that cannot be debated, before anything is started.
    pub fn check(&self) -> Result<(), Refusal> {
        text::check_filled("topic", &self.topic, TOPIC_BYTES_MAX)?;
        self.course(true)?;
        self.course(false)?;
        let agents = self.agents.agents().len();
        let within = |field: &'static str, given: u32, least: u32, most: u32| match (least..=most).contains(&given) {
            true => Ok(()),
            false => Err(Refusal::invalid(field, format!("is {given}; ask for {least} to {most}"))),
        };
        within("answers", self.answers, 1, u32::try_from(AGENTS_MAX).unwrap_or(u32::MAX))?;
        within("max_parallel", self.max_parallel, 1, 64)?;
        within("clarification_rounds", self.clarification_rounds, 1, 10)?;
        within("self_evolvement_iterations", self.self_evolvement_iterations, 0, 10)?;
        within("reflexion_attempts", self.reflexion_attempts, 1, 10)?;
        within("reflections_max", self.reflections_max, 1, 100)?;
        within("adversarial_rounds", self.adversarial_rounds, 1, 10)?;
        within("tool_calls_max", self.tool_calls_max, 0, 32)?;
        if let Some(max_tokens) = self.max_tokens {
            within("max_tokens", max_tokens, 1, MAX_TOKENS_MAX)?;
        }
        if self.agents.agents().iter().any(|agent| agent.id.as_str() == NOBODY) {
            let problem =
                format!("one is called {NOBODY:?}, which is what a vote against all answers says; call it otherwise");
            return Err(Refusal::invalid("agents", problem));
        }
        if let Some(id) =
            self.agents.agents().iter().map(|agent| &agent.id).find(|id| id.as_str().len() > AGENT_ID_BYTES_MAX)
        {
            let problem =
                format!("has the id {id}, which is longer than {AGENT_ID_BYTES_MAX} bytes; choose a shorter one");
            return Err(Refusal::invalid("agents", problem));
        }
        let voters = agents.min(DebatePhase::Convergence.rule().max_parallel);
        if let Some(votes) = self.minimum_votes
            && (votes == 0 || usize::try_from(votes).is_ok_and(|votes| votes > voters))
        {
            let problem = format!("is {votes}, and {voters} agents vote; ask for 1 to {voters}");
            return Err(Refusal::invalid("minimum_votes", problem));
        }
        // Drafts are code. They become answers if there are no others.
        if self.phases.switch(DebatePhase::Proposal) == Switch::Off && self.language.is_none() {
            return Err(Refusal::invalid("phases", "leave nobody who answers: switch `proposal` on"));
        }
        if self.budget.is_some_and(|budget| budget.tokens == Some(0) || budget.usd_micros == Some(0)) {
            return Err(Refusal::invalid("budget", "is 0, which is enough for no call; give more, or leave it out"));
        }
        if !self.gates.enabled && !self.gates.gate_points.is_empty() {
            let problem = "has gate_points, and is not enabled: say `\"enabled\": true`, or leave them out";
            return Err(Refusal::invalid("gates", problem));
        }
        if let Some(off) = self.gates.gate_points.iter().find(|phase| self.phases.switch(**phase) == Switch::Off) {
            let problem = format!("are to open after {off}, which this debate does not have; switch it on in `phases`");
            return Err(Refusal::invalid("gates", problem));
        }
        if !self.hooks.is_empty() && self.repository.is_none() {
            return Err(Refusal::invalid("hooks", "run a project's commands; say in which `repository`"));
        }
        if self.repository.is_some() && self.language.is_none() {
            return Err(Refusal::invalid("repository", "is where code goes; say in which `language` it is"));
        }
        Ok(())
    }

    /// An agent of the team.
    pub fn agent(&self, id: &Name) -> Option<&Agent> {
        self.agents.agent(id)
    }
}
