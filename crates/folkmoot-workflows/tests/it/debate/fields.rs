//! Each field of what a debate is to be changes what happens: two debates that differ in it alone,
//! and in what one can see.

use std::sync::{Arc, Mutex};

use folkmoot_core::{
    Timeout,
    gate::{Choice, Gate, GateKind, OnTimeout},
    journal::EntryKind,
};
use folkmoot_debate::{
    DebateEvent, DecidedBy, NoDecision, Phases,
    agent::{
        DebatePhase::{self, *},
        Share, ToolKind,
    },
    planning::Style,
    topology::Topology,
    voting::{Fallback, TieBreak, VotingMethod, VotingReason},
};
use folkmoot_engine::sim::SimulatedDecision;
use folkmoot_llm::{Cue, ModelRequest, budget::Budget};
use folkmoot_tools::{
    ToolCall,
    git::Author,
    jail::ProgramLanguage,
    project::Hook,
    testing::{Solution, Suite, TestRun},
    tool::ToolOffer,
};
use folkmoot_workflows::debate::{
    Branch, DebateConfig, Effects, Gates, Instructor, OnRejected, Preset, ProjectCommandRun, RETRIES_MAX, ToolContext,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{
    CODE, debating, gates,
    recorded::Recorded,
    stage::{Played, Says, Stage},
};

const WORDS: &str = "Should we write tests first?";

fn of(phases: &[DebatePhase], agents: usize) -> DebateConfig {
    DebateConfig { phases: Phases::only(phases), max_rounds: 1, ..debating(Preset::Full, WORDS, agents) }
}

fn voted() -> DebateConfig {
    of(&[Proposal, Convergence], 5)
}

fn share(hundredths: u8) -> Share {
    Share::hundredths(hundredths).unwrap()
}

fn play(debating: DebateConfig) -> Played {
    Stage::new(&debating).play()
}

fn position(position: &str) -> Says {
    Says::Words(
        json!({ "summary": format!("I am for {position}."), "position": position, "confidence": 0.9 }).to_string(),
    )
}

/// Groups of those who spoke in a phase, by their sizes.
fn groups(played: &Played, of: DebatePhase) -> Vec<usize> {
    let groups = |told: &DebateEvent| match told {
        DebateEvent::PhaseStarted { phase, speakers, .. } if *phase == of => {
            Some(speakers.iter().map(Vec::len).collect())
        }
        _ => None,
    };
    played.told.iter().find_map(groups).unwrap()
}

fn messages(played: &Played, of: DebatePhase) -> u32 {
    let messages = |told: &DebateEvent| match told {
        DebateEvent::PhaseCompleted { phase, messages, .. } if *phase == of => Some(*messages),
        _ => None,
    };
    played.told.iter().find_map(messages).unwrap()
}

#[test]
fn topology_says_who_reads_whom_who_speaks_together_and_what_that_takes() {
    let seen = |topology| {
        let played = play(DebateConfig { topology, answers: 6, ..of(&[Proposal, Critique, Convergence], 6) });
        let read: usize =
            played.prompts("critique").iter().map(|(_, prompt)| prompt.matches("[[data answer ").count()).sum();
        (read, groups(&played, Convergence), messages(&played, Convergence))
    };
    let (mesh, star, chain, tree) =
        (seen(Topology::GraphMesh), seen(Topology::Star), seen(Topology::Chain), seen(Topology::Tree));
    assert!(chain.0 < tree.0 || tree.0 < mesh.0, "{chain:?} {tree:?} {mesh:?}");
    assert_eq!(chain.0 * 5, mesh.0, "in a chain each reads the one before");
    assert_eq!(chain.1, [1; 6], "one after another");
    assert!(star.2 > mesh.2 && chain.2 > star.2, "{} {} {}", mesh.2, star.2, chain.2);
}

#[test]
fn planning_says_whether_one_plans_for_all() {
    for (planning, plans) in [(Style::Cpde, 1), (Style::Dpde, 0)] {
        let played = play(DebateConfig { planning, ..voted() });
        assert_eq!(played.turns(&["plan"]).len(), plans);
        let planned = |(_, prompt): &(String, String)| prompt.contains("[[data plan ");
        assert!(played.prompts("proposal").iter().all(|prompt| planned(prompt) == (plans == 1)));
    }
}

/// A ballot of these answers, in this order, wherever they stand in the prompt.
fn ranks(request: &ModelRequest, order: &[&str]) -> String {
    let prompt = &request.messages[0].text;
    let number = |position: &&str| {
        let (before, _) = prompt.split_once(&format!("]]\n{position}\n\nI am for {position}."))?;
        let label = before.rsplit_once("[[data answer ")?.1;
        label.split(' ').next().map(str::to_owned)
    };
    let ranking: Vec<String> = order.iter().filter_map(number).collect();
    let sure = if request.cue.as_ref().unwrap().agent == "moderator-1" { 0.95 } else { 0.9 };
    json!({ "ranking": ranking, "confidence": sure, "evidence": "", "objection": "" }).to_string()
}

/// Proposer, critic and reviewer stand for a, b and c, and everybody loses to somebody.
fn in_a_circle(cue: &Cue) -> Option<Says> {
    let stands = match cue.agent.as_str() {
        "proposer-1" => "a",
        "critic-1" => "b",
        _ => "c",
    };
    match cue.part.as_str() {
        "proposal" => Some(position(stands)),
        "ballot" => Some(Says::Made(|request| match request.cue.as_ref().unwrap().agent.as_str() {
            "moderator-1" => ranks(request, &["a", "b", "c"]),
            "optimizer-1" => ranks(request, &["b", "c", "a"]),
            "proposer-1" => ranks(request, &["b", "c"]),
            "critic-1" => ranks(request, &["c", "a"]),
            _ => ranks(request, &["a", "b"]),
        })),
        _ => None,
    }
}

#[test]
fn voting_and_its_fallback_say_how_ballots_are_counted() {
    let verdict = |voting, voting_fallback| {
        let counted = DebateConfig { voting: Some(voting), voting_fallback, ..voted() };
        Stage::new(&counted).says(in_a_circle).play().verdict()
    };
    for method in VotingMethod::ALL {
        let verdict = verdict(*method, Fallback::Schulze);
        assert_eq!(verdict.voting_method, Some(*method));
        let undecided = verdict.elected.unwrap().undecided;
        match method {
            VotingMethod::Majority => assert_eq!(undecided, Some(VotingReason::NoMajority)),
            VotingMethod::Unanimous => assert_eq!(undecided, Some(VotingReason::NotUnanimous)),
            _ => assert_eq!(undecided, None, "{method}"),
        }
        assert_eq!(verdict.winner.is_none(), undecided.is_some());
    }
    for fallback in Fallback::ALL {
        let elected = verdict(VotingMethod::Condorcet, *fallback).elected.unwrap();
        assert_eq!((elected.fallback, elected.fallback_reason), (Some(*fallback), Some(VotingReason::CondorcetCycle)));
    }
}

/// Two answers, and as many for the one as for the other.
fn in_halves(cue: &Cue) -> Option<Says> {
    let first = ["proposer-1", "moderator-1"].contains(&cue.agent.as_str());
    match cue.part.as_str() {
        "proposal" => Some(position(if first { "a" } else { "b" })),
        "ballot" => Some(Says::Made(|request| {
            let first = ["proposer-1", "moderator-1"].contains(&request.cue.as_ref().unwrap().agent.as_str());
            ranks(request, if first { &["a", "b"] } else { &["b", "a"] })
        })),
        _ => None,
    }
}

#[test]
fn tie_break_tells_apart_who_is_first_together_or_leaves_a_tie() {
    let verdict = |tie_break| {
        let four = DebateConfig {
            tie_break,
            answers: 2,
            voting: Some(VotingMethod::Plurality),
            ..of(&[Proposal, Convergence], 4)
        };
        Stage::new(&four).says(in_halves).play().verdict()
    };
    let tie = verdict(None);
    assert_eq!(
        (tie.no_decision, tie.elected.unwrap().undecided),
        (Some(NoDecision::Undecided), Some(VotingReason::Tie))
    );
    for rule in TieBreak::ALL {
        let elected = verdict(Some(*rule)).elected.unwrap();
        // A rule that cannot tell them apart leaves it a tie.
        assert_eq!(elected.first.len(), 2, "{rule}");
        assert!(
            elected.tie_break == Some(*rule) || elected.undecided == Some(VotingReason::Tie),
            "{rule}: {elected:?}"
        );
    }
    let surest = verdict(Some(TieBreak::HighestConfidence)).winner.unwrap();
    assert_eq!(surest.as_str(), "proposer-1", "the moderator is surest, and votes for it");
}

#[test]
fn minimum_votes_says_how_many_must_vote() {
    let verdict = |minimum_votes| {
        let played = Stage::new(&DebateConfig { minimum_votes, ..voted() })
            .says(|cue| (cue.part == "ballot" && cue.agent == "critic-1").then(|| Says::Words("?".to_owned())))
            .play();
        played.verdict()
    };
    assert!(verdict(None).winner.is_some() && verdict(Some(4)).winner.is_some());
    assert_eq!(verdict(Some(5)).elected.unwrap().undecided, Some(VotingReason::TooFewVotes));
    assert!(DebateConfig { minimum_votes: Some(6), ..voted() }.check().is_err());
}

#[test]
fn rounds_end_by_their_number_by_agreement_or_not_before_the_last() {
    for (max_rounds, min_consensus, early_exit, rounds) in
        [(1, 100, true, 1), (3, 100, true, 3), (3, 0, true, 1), (2, 0, false, 2)]
    {
        let min_consensus = share(min_consensus);
        let played = play(DebateConfig { max_rounds, min_consensus, early_exit, ..of(&[Proposal, Convergence], 3) });
        assert_eq!(played.verdict().rounds, rounds, "{max_rounds} {min_consensus} {early_exit}");
    }
}

#[test]
fn early_agreement_ends_it_where_the_first_answers_are_the_same_and_asks_before_that() {
    let agree = |cue: &Cue| (cue.part == "proposal").then(|| position("tests first"));
    let agreed =
        |early_agreement, gates: Gates| Stage::new(&DebateConfig { early_agreement, gates, ..voted() }).says(agree);
    let by = |played: &Played| played.verdict().decided_by;
    let early = agreed(true, Gates::default()).play();
    assert_eq!((by(&early), early.phases().len()), (Some(DecidedBy::Agreement), 1));
    let late = agreed(false, Gates::default()).play();
    assert_eq!((by(&late), late.phases().len()), (Some(DecidedBy::Vote), 2));
    // The gate before what is final is not passed by.
    let asked = agreed(true, gates(&[Convergence])).play();
    assert_eq!((by(&asked), asked.events("gate.opened").len()), (Some(DecidedBy::Agreement), 1));
    let refused = agreed(true, gates(&[Convergence])).decide(|_| Some(Choice::Reject.into())).play();
    assert_eq!(refused.failure().code, "gate_rejected");
    // Who wants more than that has it debated.
    let retry = Gates { on_rejected: OnRejected::Retry, ..gates(&[Convergence]) };
    let first = Mutex::new(true);
    let more = agreed(true, retry).decide(move |_| {
        let first = std::mem::replace(&mut *first.lock().unwrap(), false);
        Some(if first { Choice::Reject } else { Choice::Approve }.into())
    });
    let more = more.play();
    assert_eq!((by(&more), more.events("gate.opened").len()), (Some(DecidedBy::Vote), 2));
}

#[test]
fn numbers_say_how_many_answer_and_how_many_speak_together() {
    for answers in [1, 2, 4] {
        let played = play(DebateConfig { answers, ..voted() });
        assert_eq!(played.turns(&["proposal"]).len(), answers as usize);
    }
    for (max_parallel, sizes) in [(1, vec![1; 5]), (2, vec![2, 2, 1])] {
        let played = play(DebateConfig { max_parallel, topology: Topology::GraphMesh, ..voted() });
        assert!(groups(&played, Convergence).iter().all(|size| *size <= max_parallel as usize));
        assert!(groups(&played, Convergence).len() >= sizes.len());
    }
}

/// Somebody for whom nothing is ever clear.
fn unsure(cue: &Cue) -> Option<Says> {
    let question = json!({ "question": "Why?", "category": "requirements", "priority": 1 });
    (cue.part == "clarify").then(|| Says::Words(json!({ "questions": [question], "confidence": 0.1 }).to_string()))
}

#[test]
fn what_is_unclear_is_asked_so_often_and_answered_by_whom_one_says() {
    let asked = |clarification_rounds, instructor| {
        let unclear =
            DebateConfig { clarification_rounds, instructor, ..of(&[Dehallucination, Proposal, Convergence], 3) };
        Stage::new(&unclear).says(unsure).answer(|_| Some("Because of the bugs.".into())).play()
    };
    for rounds in [1, 3] {
        let played = asked(rounds, Instructor::Agent);
        assert_eq!(played.turns(&["clarify"]).len(), rounds as usize);
        assert_eq!(played.turns(&["clarify_answer"]).len(), rounds as usize);
        assert_eq!(played.events("question.asked").len(), 0);
    }
    let person = asked(2, Instructor::Person);
    assert_eq!(person.turns(&["clarify_answer"]).len(), 0);
    assert_eq!(person.report.told.iter().filter(|(kind, _)| kind.starts_with("question.")).count(), 4);
    assert!(person.prompts("proposal").iter().all(|(_, prompt)| prompt.contains("Because of the bugs.")));
}

const WRONG: &str = "def double(n):\n    return 4\n";
const SIX: &str = "from solution import double\nassert double(3) == 6\n";

/// Code that never gets better.
fn hopeless(cue: &Cue) -> Option<Says> {
    let writes = ["draft", "refine", "proposal", "optimization", "defence"].contains(&cue.part.as_str());
    let answer = json!({
        "summary": "It doubles.", "code": WRONG, "tests": [{ "name": cue.agent, "code": SIX }], "confidence": 0.9,
    });
    writes.then(|| Says::Words(answer.to_string()))
}

#[test]
fn attempts_say_how_often_something_is_tried_again() {
    let code = |phases: &[DebatePhase]| DebateConfig { language: Some(ProgramLanguage::Python), ..of(phases, 3) };
    for self_evolvement_iterations in [0, 2] {
        let evolving = DebateConfig { self_evolvement_iterations, ..code(&[SelfEvolvement, Convergence]) };
        let played = Stage::new(&evolving).says(hopeless).play();
        assert_eq!(played.turns(&["refine"]).len(), 3 * self_evolvement_iterations as usize);
    }
    // The tests of others fail on what the optimizer sends, and are not suspect: their authors' own
    // code passes them.
    for reflexion_attempts in [1, 3] {
        let improving = DebateConfig { reflexion_attempts, answers: 2, ..code(&[Proposal, Optimization, Convergence]) };
        let played = Stage::new(&improving)
            .says(|cue| match cue.part.as_str() {
                "proposal" => Some(Says::Words(
                    json!({
                        "summary": "It doubles.", "code": format!("def double(n):\n    return 2 * n # {}\n", cue.agent),
                        "tests": [{ "name": cue.agent, "code": SIX }], "confidence": 0.9,
                    })
                    .to_string(),
                )),
                _ => hopeless(cue),
            })
            .play();
        let improved = played.turns(&["optimization"]);
        let who: std::collections::BTreeSet<_> = improved.iter().map(|turn| turn.agent.clone()).collect();
        assert_eq!(improved.len(), who.len() * reflexion_attempts as usize);
        assert_eq!(played.turns(&["reflect"]).len(), who.len() * (reflexion_attempts as usize - 1));
        assert!(played.errors().iter().any(|error| error.contains("is not taken")), "what breaks more is not taken");
    }
    for adversarial_rounds in [1, 3] {
        let attacked = DebateConfig { adversarial_rounds, ..of(&[Proposal, Adversarial, Convergence], 3) };
        let always_new = |cue: &Cue| {
            const HOLES: [&str; 3] = ["Nobody says who pays", "Slow machines starve", "It breaks in winter"];
            let title = HOLES[cue.attempt as usize % 3];
            let finding = json!({ "title": title, "severity": "high", "description": "It does." });
            (cue.part == "attack").then(|| Says::Words(json!({ "findings": [finding] }).to_string()))
        };
        let played = Stage::new(&attacked).says(always_new).play();
        assert_eq!(played.turns(&["attack"]).len(), adversarial_rounds as usize);
    }
}

/// Hands that write down what they are asked to do.
#[derive(Clone, Debug, Default)]
struct Doing(Arc<Mutex<Vec<String>>>, /** Whether its tool may change something. */ bool);

impl Doing {
    fn did(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

impl Effects for Doing {
    fn test(&self, solution: Solution, suite: Suite) -> BoxFuture<'_, Result<TestRun, String>> {
        Recorded.test(solution, suite)
    }

    fn offers(&self, _: ToolContext, _: Vec<ToolKind>) -> BoxFuture<'_, Vec<ToolOffer>> {
        self.note("offers".to_owned());
        let (name, description) = ("look".to_owned(), "Looks.".to_owned());
        let offer = ToolOffer { name, description, arguments: json!({}), effects: self.1 };
        Box::pin(async { vec![offer] })
    }

    fn call(
        &self,
        _: ToolContext,
        _: Vec<ToolKind>,
        tool: String,
        arguments: Value,
        approved: bool,
    ) -> BoxFuture<'_, ToolCall> {
        assert_eq!(approved, self.1, "somebody was asked where it may change something");
        self.note(format!("call {tool}"));
        Box::pin(async { ToolCall { tool, arguments, result: Ok(json!("nothing")), elapsed_ms: 1 } })
    }

    fn commit(&self, branch: Branch, file: String, _: String, _: Author) -> BoxFuture<'_, Result<String, String>> {
        self.note(format!("commit {file} in {}", branch.repository));
        Box::pin(async { Ok("c0ffee".to_owned()) })
    }

    fn hook(&self, _: Branch, hook: Hook) -> BoxFuture<'_, Result<Vec<ProjectCommandRun>, String>> {
        self.note(format!("hook {hook}"));
        let ran = |command: &str, output: &str, executed| ProjectCommandRun {
            command: command.to_owned(),
            passed: false,
            output: output.to_owned(),
            executed,
        };
        let ran = vec![ran("make lint", "line 3 is too long", true), ran("typecheck", "there is no mypy here", false)];
        Box::pin(async { Ok(ran) })
    }

    fn clean(&self, _: String, branch: Option<Branch>) -> BoxFuture<'_, Result<(), String>> {
        self.note(format!("clean {}", branch.is_some()));
        Box::pin(async { Ok(()) })
    }
}

#[test]
fn tool_calls_max_says_how_many_tools_an_agent_calls_in_a_turn() {
    for tool_calls_max in [0, 1, 3] {
        let effects = Doing::default();
        let played = Stage::new(&DebateConfig { tool_calls_max, answers: 3, ..voted() })
            .effects(Arc::new(effects.clone()))
            .says(|cue| {
                let curious = cue.part == "proposal" && cue.agent == "proposer-1";
                curious.then(|| Says::Words(json!({ "tool": "look", "arguments": {} }).to_string()))
            })
            .play();
        let called = effects.did().iter().filter(|did| *did == "call look").count();
        assert_eq!(called, tool_calls_max as usize);
        assert_eq!(effects.did().contains(&"offers".to_owned()), tool_calls_max > 0);
        let turns = played.turns(&["proposal"]);
        let turn = turns.iter().find(|turn| turn.agent.as_str() == "proposer-1").unwrap();
        assert_eq!((turn.tool_calls, turn.state.word()), (tool_calls_max, "unparsed"), "it calls tools for ever");
        assert!(played.verdict().winner.is_some());
    }
}

#[test]
fn a_tool_that_may_change_something_is_called_once_and_only_where_a_person_approved_the_call() {
    for choice in [Choice::Approve, Choice::Reject] {
        let effects = Doing(Arc::default(), true);
        let gates = Arc::new(Mutex::new(Vec::new()));
        let seen = gates.clone();
        let played = Stage::new(&DebateConfig { tool_calls_max: 1, answers: 3, ..voted() })
            .effects(Arc::new(effects.clone()))
            .says(|cue| {
                let curious = cue.part == "proposal" && cue.agent == "proposer-1";
                curious.then(|| Says::Words(json!({ "tool": "look", "arguments": {} }).to_string()))
            })
            .decide(move |gate| {
                seen.lock().unwrap().push((gate.content.kind, gate.content.title.clone()));
                Some(choice.into())
            })
            .play();
        let called = effects.did().iter().filter(|did| *did == "call look").count();
        assert_eq!(called, usize::from(choice == Choice::Approve));
        let gates = gates.lock().unwrap();
        assert_eq!(*gates, [(GateKind::Tool, "proposer-1 wants to call look".to_owned())]);
        let once = played.report.kinds.values().filter(|kind| **kind == EntryKind::Once).count();
        assert_eq!(once, called, "a crash does not repeat it");
    }
}

#[test]
fn repository_and_hooks_say_where_code_goes_and_what_is_run_there() {
    let committed = |repository: Option<&str>, hooks: Vec<Hook>| {
        let effects = Doing::default();
        let debating = DebateConfig {
            topic: CODE.to_owned(),
            language: Some(ProgramLanguage::Python),
            tool_calls_max: 0,
            repository: repository.map(str::to_owned),
            hooks,
            ..of(&[Proposal, Critique, Convergence], 3)
        };
        let played = Stage::new(&debating).effects(Arc::new(effects.clone())).play();
        assert!(played.verdict().winner.is_some());
        (effects.did(), played)
    };
    assert_eq!(committed(None, Vec::new()).0, Vec::<String>::new());
    let (did, played) = committed(Some("somewhere"), Vec::new());
    assert!(did.iter().filter(|did| *did == "commit solution.py in somewhere").count() >= 1, "{did:?}");
    assert_eq!(did.last().unwrap(), "clean true", "nothing is left lying about");
    assert!(!played.prompts("critique").iter().any(|(_, prompt)| prompt.contains("line 3 is too long")));
    let (did, played) = committed(Some("somewhere"), vec![Hook::PostProposal]);
    assert_eq!(did.iter().filter(|did| did.starts_with("hook")).collect::<Vec<_>>(), ["hook post_proposal"]);
    assert!(played.prompts("critique").iter().all(|(_, prompt)| prompt.contains("line 3 is too long")));
}

#[test]
fn lessons_are_kept_where_one_wants_them() {
    let kept = |lessons| {
        let taught =
            DebateConfig { topic: CODE.to_owned(), lessons, ..of(&[SelfEvolvement, Proposal, Convergence], 3) };
        let played = play(DebateConfig { language: Some(ProgramLanguage::Python), ..taught });
        played.report.kept.iter().filter(|line| line.starts_with("lessons ")).count()
    };
    assert!(kept(true) > 0);
    assert_eq!(kept(false), 0);
}

#[test]
fn language_and_provider_say_what_is_written_and_who_is_asked() {
    let code =
        play(DebateConfig { topic: CODE.to_owned(), language: Some(ProgramLanguage::Python), ..voted() }).debated();
    let words = play(DebateConfig { topic: CODE.to_owned(), language: None, ..voted() }).debated();
    assert_eq!((code.code.is_some(), code.language.as_deref()), (true, Some("python")));
    assert_eq!((words.code, words.language), (None, None));
    let named = play(DebateConfig { provider: Some("mine".to_owned()), ..voted() });
    assert!(named.turns(&[]).iter().all(|turn| turn.provider == "mine"));
    assert_eq!(named.debated().providers, ["mine"]);
}

/// Approves what the budget is asked about, and nothing else is open.
fn spends(_: &Gate) -> Option<SimulatedDecision> {
    Some(Choice::Approve.into())
}

#[test]
fn a_budget_asks_where_people_are_asked_and_else_ends_the_debate() {
    let budget = Budget { tokens: Some(6_000), usd_micros: None };
    let ended = play(DebateConfig { budget: Some(budget), ..voted() });
    assert_eq!(ended.failure().code, "budget_exceeded");
    let asked = Stage::new(&DebateConfig { budget: Some(budget), gates: gates(&[]), ..voted() }).decide(spends).play();
    assert!(asked.verdict().winner.is_some());
    assert!(!asked.events("gate.opened").is_empty());
    let refused = Stage::new(&DebateConfig { budget: Some(budget), gates: gates(&[]), ..voted() });
    assert_eq!(refused.decide(|_| Some(Choice::Reject.into())).play().failure().code, "budget_exceeded");
    // What the configuration allows holds where the debate says nothing.
    let configured = Stage::new(&voted()).budget(budget).play();
    assert_eq!(configured.failure().code, "budget_exceeded");
}

#[test]
fn gates_open_where_one_says_and_nowhere_else() {
    for (enabled, points, opened) in
        [(false, &[][..], 0), (true, &[][..], 0), (true, &[Proposal][..], 1), (true, &[Proposal, Convergence][..], 2)]
    {
        let gates = Gates { enabled, ..gates(points) };
        assert_eq!(play(DebateConfig { gates, ..voted() }).events("gate.opened").len(), opened);
    }
    // A vote that another round follows is not final, and nobody is asked about it.
    let rounds = DebateConfig { max_rounds: 2, early_exit: false, gates: gates(&[Convergence]), ..voted() };
    assert_eq!(play(rounds).events("gate.opened").len(), 1);
    assert!(DebateConfig { gates: Gates { enabled: false, ..gates(&[Proposal]) }, ..voted() }.check().is_err());
    assert!(DebateConfig { gates: gates(&[Review]), ..voted() }.check().is_err(), "it has no review");
}

#[test]
fn a_gate_says_who_decides_who_is_told_and_what_silence_means() {
    let asked = Gates {
        timeout: Some(Timeout::After(std::time::Duration::from_secs(60))),
        reviewers: Some(vec!["bob".parse().unwrap()]),
        notification_channels: vec!["ops".to_owned()],
        ..gates(&[Proposal])
    };
    let with = |gates: &Gates| Stage::new(&DebateConfig { gates: gates.clone(), ..voted() });
    // Whoever approves in a simulation is not bob.
    let played = with(&asked).play();
    assert_eq!(played.failure().code, "gate_timed_out");
    let opened = played.events("gate.opened").remove(0).to_string();
    for said in ["bob", "ops", "proposal"] {
        assert!(opened.contains(said), "{opened}");
    }
    // Silence is no consent, unless the policy says so: an agent only tightens it.
    for (on_timeout, code) in [
        (OnTimeout::Fail, "gate_timed_out"),
        (OnTimeout::Reject, "gate_timed_out"),
        (OnTimeout::Approve, "weakens_policy"),
    ] {
        let silent = Gates { on_timeout: Some(on_timeout), reviewers: None, ..asked.clone() };
        assert_eq!(with(&silent).decide(|_| None).play().failure().code, code, "{on_timeout}");
    }
    // Who decides before that is heard.
    assert!(with(&Gates { reviewers: None, ..asked }).play().verdict().winner.is_some());
}

#[test]
fn on_rejected_says_whether_it_fails_is_done_again_or_goes_on() {
    let say = |choice| SimulatedDecision {
        feedback: Some("Think of the ovens.".to_owned()),
        ..SimulatedDecision::from(choice)
    };
    let rejected = |on_rejected, times: usize| {
        let gates = Gates { on_rejected, ..gates(&[Proposal]) };
        let said = Mutex::new(0);
        Stage::new(&DebateConfig { gates, ..voted() })
            .decide(move |_| {
                let mut said = said.lock().unwrap();
                *said += 1;
                Some(say(if *said <= times { Choice::Reject } else { Choice::Approve }))
            })
            .play()
    };
    let fails = rejected(OnRejected::Fail, 1);
    assert_eq!((fails.failure().code.as_str(), fails.events("gate.opened").len()), ("gate_rejected", 1));
    let again = rejected(OnRejected::Retry, 2);
    assert!(again.verdict().winner.is_some());
    assert_eq!(again.events("gate.opened").len(), 3);
    let heard = again.prompts("proposal").iter().filter(|(_, prompt)| prompt.contains("Think of the ovens.")).count();
    assert_eq!((again.turns(&["proposal"]).len(), heard), (9, 6), "what was said reaches who does it again");
    let enough = rejected(OnRejected::Retry, 99);
    assert_eq!(enough.failure().code, "gate_rejected");
    assert_eq!(enough.events("gate.opened").len(), 1 + RETRIES_MAX as usize);
    let approved = rejected(OnRejected::Fail, 0);
    assert!(approved.prompts("ballot").iter().all(|(_, prompt)| prompt.contains("Think of the ovens.")), "advice too");
    let goes_on = rejected(OnRejected::Continue, 1);
    assert_eq!(goes_on.events("gate.opened").len(), 1);
    assert!(goes_on.prompts("ballot").iter().all(|(_, prompt)| prompt.contains("Think of the ovens.")));
}

#[test]
fn an_agent_is_not_called_as_a_vote_against_all_is() {
    let mut agents = voted().agents.agents().to_vec();
    agents[0].id = "none".parse().unwrap();
    let named = DebateConfig { agents: folkmoot_debate::agent::Team::of(agents).unwrap(), ..voted() };
    assert!(named.check().unwrap_err().to_string().contains("none"));
    assert!(voted().check().is_ok());
}

#[test]
fn what_could_not_be_executed_is_told_to_nobody_as_evidence() {
    let effects = Doing::default();
    let hooked = DebateConfig {
        repository: Some("/somewhere".to_owned()),
        hooks: vec![Hook::PostProposal],
        ..debating(Preset::Full, CODE, 5)
    };
    let played = Stage::new(&hooked).effects(Arc::new(effects)).play();
    let prompts = played.all_prompts().join("\n");
    assert!(prompts.contains("line 3 is too long"), "what was executed is told");
    assert!(!prompts.contains("there is no mypy here"), "what was not is no evidence");
    let errors = played.errors().join("\n");
    assert!(errors.contains("typecheck could not be executed: there is no mypy here"), "{errors}");
    let hooks = played.events("debate.hook");
    assert_eq!((&hooks[0]["passed"], &hooks[0]["of"]), (&json!(0), &json!(1)), "{hooks:?}");
}

#[test]
fn the_record_says_who_of_a_large_team_does_not_speak() {
    let played = play(DebateConfig { max_rounds: 1, ..debating(Preset::Quick, "Should we write tests first?", 12) });
    let left = |told: &DebateEvent| match told {
        DebateEvent::PhaseStarted { phase, speakers, left_out, .. } => {
            Some((*phase, speakers.iter().flatten().count(), left_out.len()))
        }
        _ => None,
    };
    let left: Vec<_> = played.told.iter().filter_map(left).collect();
    assert_eq!(left, [(DebatePhase::Proposal, 3, 9), (DebatePhase::Convergence, 8, 4)]);
}

#[test]
fn reflections_max_says_how_many_reflections_whoever_tries_again_is_shown() {
    let shown = |reflections_max| {
        let stubborn = DebateConfig { reflexion_attempts: 5, reflections_max, ..debating(Preset::Full, CODE, 5) };
        let played = Stage::new(&DebateConfig { max_rounds: 1, ..stubborn })
            .says(|cue| {
                (cue.part == "optimization").then(|| Says::With("code", json!("def parse_duration(s): return 0")))
            })
            .play();
        let prompts = played.prompts("optimization");
        prompts.iter().map(|(_, prompt)| prompt.matches("What to change: ").count()).max().unwrap_or(0)
    };
    assert_eq!((shown(2), shown(10)), (2, 4), "all of them, unless fewer are asked for");
}

#[test]
fn what_stays_unclear_is_kept() {
    let asked = DebateConfig {
        phases: Phases::only(DebatePhase::ALL),
        max_rounds: 1,
        ..debating(Preset::Full, "Should we write tests first?", 5)
    };
    let played = Stage::new(&asked)
        .says(|cue| match cue.part.as_str() {
            "clarify" => Some(Says::With("confidence", json!(0.9))),
            "clarify_answer" => Some(Says::With("remaining_ambiguities", json!(["how large the team is"]))),
            _ => None,
        })
        .play();
    assert_eq!(played.turns(&["clarify"]).len(), 2, "0.90 is not above 0.90, so it is asked again");
    let note = played.notes().into_iter().find(|note| note.contains("dehallucination")).unwrap();
    assert!(note.contains("still unclear: 1"), "{note}");
}
