//! What a debate must not do: each test is a defect that was found elsewhere, by its behaviour.

use std::collections::BTreeSet;

use folkmoot_debate::{
    DebateEvent, DecidedBy, NoDecision, Phases, TurnState,
    agent::{
        DebatePhase::{self, *},
        ModelName, Team,
    },
    topology::Topology,
};
use folkmoot_llm::{Cue, FailureKind};
use folkmoot_tools::jail::ProgramLanguage;
use folkmoot_workflows::debate::{DebateConfig, Preset};
use serde_json::{Value, json};

use super::{
    CODE, debating,
    stage::{Played, Says, Stage},
};

const WORDS: &str = "Should we write tests first?";
const ALL_BUT_FIRST: [DebatePhase; 6] = [Proposal, Critique, Review, Optimization, Adversarial, Convergence];

fn of(phases: &[DebatePhase], agents: usize) -> DebateConfig {
    DebateConfig { phases: Phases::only(phases), max_rounds: 1, ..debating(Preset::Full, WORDS, agents) }
}

fn position(summary: &str, position: &str, confidence: f64) -> Says {
    let answer = json!({ "summary": summary, "position": position, "confidence": confidence });
    Says::Words(answer.to_string())
}

/// Answers that no name of an agent is in; the rehearsal's have its own.
fn unsigned(cue: &Cue) -> Option<Says> {
    let number = cue.agent.bytes().map(u32::from).sum::<u32>() + 7 * u32::try_from(cue.agent.len()).unwrap();
    match cue.part.as_str() {
        "proposal" => Some(position(&format!("Because of reason {number}."), &format!("stand {number}"), 0.8)),
        "optimization" | "defence" => Some(position(&format!("Better by {number}."), &format!("stand {number}"), 0.8)),
        _ => None,
    }
}

#[test]
fn the_topic_is_in_every_prompt_and_nothing_in_one_is_left_to_fill_in() {
    let played = Stage::new(&of(&[Dehallucination, Proposal, Critique, Review, Convergence], 5)).play();
    for prompt in played.asked.iter().map(|request| &request.messages[0].text) {
        assert!(prompt.contains(WORDS), "{prompt}");
        assert!(!prompt.contains("{{") && !prompt.contains("{%"), "{prompt}");
    }
    assert!(played.asked.len() > 10);
}

#[test]
fn where_nobody_votes_nothing_is_decided_and_nobody_is_called_unanimous() {
    let played = Stage::new(&of(&[Proposal, Convergence], 5))
        .says(|cue| (cue.part == "ballot").then(|| Says::Words("I abstain.".to_owned())))
        .play();
    assert_eq!(played.undecided(), NoDecision::TooFewResponses);
    let verdict = played.verdict();
    assert_eq!((verdict.label.as_str(), verdict.consensus, verdict.confidence), ("", None, None));
    assert_eq!(verdict.ballots.len(), 5, "who was asked is in the verdict");
    assert!(verdict.ballots.iter().all(|cast| cast.refused.is_some()));
    // What was paid for is there all the same.
    let debated = played.debated();
    assert_eq!((debated.answer.as_str(), debated.undecided.len()), ("", played.turns(&["proposal"]).len()));
    assert!(debated.undecided.iter().all(|answer| !answer.answer.is_empty()));
    let none = Stage::new(&DebateConfig { phases: Phases::only(&[Proposal]), ..of(&[Proposal], 3) }).play();
    assert_eq!(none.undecided(), NoDecision::NoConvergence);
}

#[test]
fn a_winner_whom_all_voters_reject_is_not_called_unanimous() {
    let two = of(&[Proposal, Convergence], 2);
    let played =
        Stage::new(&two).says(|cue| (cue.part == "endorse").then_some(Says::With("endorse", json!(false)))).play();
    assert_eq!(played.undecided(), NoDecision::Undecided);
    assert_eq!(played.verdict().label, "");
    // Also where executed tests leave one: they are an agent's tests, and whoever wants none of
    // what is left need not have it.
    let played = in_code(&[Proposal, Convergence])
        .says(|cue| match (cue.part.as_str(), cue.agent.as_str()) {
            ("endorse", _) => Some(Says::With("endorse", json!(false))),
            _ => one_is_right(cue, "proposer-1"),
        })
        .play();
    let verdict = played.verdict();
    assert_eq!((verdict.winner, verdict.no_decision), (None, Some(NoDecision::Undecided)));
    assert_eq!((verdict.label.as_str(), verdict.dissent.len()), ("", 3));
}

#[test]
fn failed_calls_are_in_no_measure_of_agreement() {
    let agreed = |cue: &Cue| match cue.part.as_str() {
        "ballot" => Some(Says::Words(
            json!({ "ranking": ["1"], "confidence": 0.8, "evidence": "", "objection": "" }).to_string(),
        )),
        "endorse" => Some(Says::With("confidence", json!(0.8))),
        "proposal" => Some(position("Tests first, because of facts.", "tests first", 0.8)),
        _ => None,
    };
    let calm = Stage::new(&of(&[Proposal, Convergence], 5)).says(agreed).play().verdict();
    let lost = Stage::new(&of(&[Proposal, Convergence], 5))
        .says(move |cue| match (cue.part.as_str(), cue.agent.as_str()) {
            ("endorse", "critic-1") => Some(Says::Fails(FailureKind::Refused)),
            ("endorse", "optimizer-1") => Some(Says::Words("Error: rate limited".to_owned())),
            _ => agreed(cue),
        })
        .play()
        .verdict();
    assert_eq!((lost.turns.failed, lost.turns.unparsed), (1, 1));
    assert_eq!(lost.elected.unwrap().counted, 3);
    assert_eq!((lost.consensus, lost.confidence), (calm.consensus, calm.confidence));
}

#[test]
fn what_comes_before_a_debate_comes_once() {
    let rounds = DebateConfig { max_rounds: 2, early_exit: false, ..of(DebatePhase::ALL, 3) };
    let played =
        Stage::new(&DebateConfig { topic: CODE.to_owned(), language: Some(ProgramLanguage::Python), ..rounds }).play();
    let phases = played.phases();
    let count = |phase: &str| phases.iter().filter(|began| began.ends_with(phase)).count();
    assert_eq!((count("dehallucination"), count("self_evolvement"), count("proposal")), (1, 1, 2));
    assert_eq!(played.turns(&["clarify"]).len(), 2, "it asks, is answered, and asks whether something is left");
    assert_eq!(played.turns(&["clarify_answer"]).len(), 1);
    // Its own machinery runs: drafts are executed, failures are reflected on, and what is mended is
    // executed again.
    let (drafts, refined) = (played.turns(&["draft"]).len(), played.turns(&["refine"]).len());
    let before = tested(&played, SelfEvolvement);
    assert!(drafts == 3 && refined > 0, "{drafts} {refined}");
    assert_eq!(before.len(), drafts + refined, "each is executed, the last refinement too");
    assert!(before.iter().any(|(_, passed, of)| passed < of) && before.iter().any(|(_, passed, of)| passed == of));
    let reflected = played.told.iter().filter(|told| matches!(told, DebateEvent::Reflected { .. })).count();
    assert!(reflected >= refined && !played.turns(&["reflect"]).is_empty());
    assert!(played.prompts("refine").iter().all(|(_, prompt)| prompt.contains("[[data reflection ")));
}

/// Whose code passed how many of how many, in a phase.
fn tested(played: &Played, in_phase: DebatePhase) -> Vec<(String, u32, u32)> {
    let of = |told: &DebateEvent| match told {
        DebateEvent::Tested { author, phase, passed, of, .. } if *phase == in_phase => {
            Some((author.to_string(), *passed, *of))
        }
        _ => None,
    };
    played.told.iter().filter_map(of).collect()
}

#[test]
fn no_tests_is_no_pass() {
    let code =
        DebateConfig { language: Some(ProgramLanguage::Python), ..of(&[SelfEvolvement, Proposal, Convergence], 3) };
    let played = Stage::new(&code).says(|cue| doubles(cue, RIGHT, &[])).play();
    assert_eq!(played.notes()[0], "1 self_evolvement: 0 of 3 agents' code passes their own tests");
    let with = Stage::new(&code).says(|cue| doubles(cue, RIGHT, &[FOUR])).play();
    assert_eq!(with.notes()[0], "1 self_evolvement: 3 of 3 agents' code passes their own tests");
}

#[test]
fn how_sure_somebody_is_does_not_come_from_how_much_they_write() {
    let verdict = |summary: String| {
        let says = move |cue: &Cue| (cue.part == "proposal").then(|| position(&summary, "tests first", 0.4));
        let played = Stage::new(&of(&[Proposal, Convergence], 3)).says(says).play();
        let verdict = played.verdict();
        (verdict.confidence, verdict.consensus)
    };
    assert_eq!(verdict("Yes. stop".to_owned()), verdict("Because of many facts. ".repeat(500)));
}

#[test]
fn a_provider_that_fails_is_replaced_by_nobody_whom_the_agent_does_not_name() {
    let models: Vec<ModelName> =
        ["dead", "alive"].map(|provider| ModelName { provider: provider.to_owned(), model: None }).to_vec();
    let mut mixed = of(&[Proposal, Convergence], 4);
    mixed.agents = Team::build(4, folkmoot_debate::Domain::General, &models).unwrap();
    let played = Stage::new(&mixed).dead("dead").play();
    let turns = played.turns(&[]);
    assert!(turns.iter().all(|turn| turn.provider == "dead" || turn.provider == "alive"), "{turns:?}");
    assert!(turns.iter().all(|turn| (turn.state == TurnState::Answered) == (turn.provider == "alive")), "{turns:?}");
}

#[test]
fn whoever_gives_no_answer_is_left_out_and_the_debate_goes_on() {
    for topology in Topology::ALL {
        for who in ["moderator-1", "critic-1", "proposer-1", "optimizer-1", "reviewer-1"] {
            // Only in a topology where they lead, and once for each of the others.
            let leads = matches!((topology, who), (Topology::Star | Topology::Tree, "moderator-1"));
            if !leads && *topology != Topology::GraphMesh && (*topology, who) != (Topology::Tree, "proposer-1") {
                continue;
            }
            let dead = DebateConfig { topology: *topology, ..of(&ALL_BUT_FIRST, 5) };
            let played = Stage::new(&dead)
                .says(move |cue| (cue.agent == who).then_some(Says::Fails(FailureKind::Refused)))
                .play();
            assert_eq!(played.left_out(), [who], "{topology}");
            let verdict = played.verdict();
            assert!(verdict.winner.is_some(), "{topology}, without {who}: {}", verdict.reason);
            assert_eq!(verdict.turns.failed, 1, "{topology}: nobody asks {who} twice");
            assert!(verdict.ballots.iter().all(|cast| cast.voter.as_str() != who || cast.refused.is_some()));
        }
    }
}

#[test]
fn whoever_asks_plans_or_attacks_is_replaced_where_they_fail() {
    for part in ["clarify", "clarify_answer", "plan", "attack", "critique", "review", "optimization"] {
        let all = DebateConfig { adversarial_rounds: 1, ..of(DebatePhase::ALL, 5) };
        let first = std::sync::Mutex::new(None);
        let played = Stage::new(&all)
            .says(move |cue| {
                // Whoever is asked first.
                let mut first = first.lock().unwrap();
                let is_first = cue.part == part && *first.get_or_insert_with(|| cue.agent.clone()) == cue.agent;
                is_first.then_some(Says::Fails(FailureKind::Refused))
            })
            .play();
        let turns = played.turns(&[part]);
        assert_eq!(turns[0].state, TurnState::Failed, "{part}");
        assert!(turns[1..].iter().any(|turn| turn.state == TurnState::Answered), "{part}: {turns:?}");
        assert!(played.verdict().winner.is_some(), "{part}: {}", played.verdict().reason);
    }
}

#[test]
fn first_answers_are_given_blindly_but_in_a_chain() {
    for topology in Topology::ALL {
        let played =
            Stage::new(&DebateConfig { topology: *topology, ..of(&[Proposal, Convergence], 5) }).says(unsigned).play();
        let prompts = played.prompts("proposal");
        let seen = prompts.iter().filter(|(_, prompt)| prompt.contains("Because of reason")).count();
        let read = played.prompts("ballot").iter().filter(|(_, prompt)| prompt.contains("Because of reason")).count();
        assert_eq!(seen > 0, *topology == Topology::Chain, "{topology}: {seen} of {}", prompts.len());
        assert_eq!(read, 5, "voters read them");
    }
}

#[test]
fn authors_are_hidden_and_everybody_reads_in_an_order_of_their_own() {
    let played = Stage::new(&of(&[Proposal, Critique, Review, Convergence], 6)).says(unsigned).play();
    let mut orders = BTreeSet::new();
    for part in ["critique", "review", "ballot"] {
        for (_, prompt) in played.prompts(part) {
            for agent in of(&[Proposal], 6).agents.agents() {
                assert!(!prompt.contains(agent.id.as_str()), "{part} names {}: {prompt}", agent.id);
            }
            let reasons: Vec<&str> = prompt.lines().filter(|line| line.starts_with("Because of reason")).collect();
            orders.insert(reasons.join(" "));
        }
    }
    // Some read all three, some all but their own.
    assert!(orders.len() >= 4, "{orders:?}");
}

#[test]
fn nobody_votes_for_their_own_answer_from_three_answers_on() {
    let played = Stage::new(&of(&[Proposal, Convergence], 5)).says(unsigned).play();
    let verdict = played.verdict();
    let authors: BTreeSet<&str> = verdict.elected.as_ref().unwrap().points.keys().map(|name| name.as_str()).collect();
    assert_eq!(authors.len(), 3);
    for cast in &verdict.ballots {
        assert!(!cast.ranking.contains(&cast.voter), "{cast:?}");
        let own = authors.contains(cast.voter.as_str());
        assert_eq!(cast.ranking.len(), if own { 2 } else { 3 }, "{cast:?}");
    }
}

#[test]
fn two_agents_can_hold_a_debate() {
    let verdict = Stage::new(&of(&ALL_BUT_FIRST, 2)).play().verdict();
    assert_eq!((verdict.label.as_str(), verdict.ballots.len()), ("unanimous", 2));
    let one = Stage::new(&of(&[Proposal, Convergence], 1)).play().verdict();
    assert_eq!(one.ballots.len(), 1);
}

#[test]
fn who_changes_an_answer_without_new_evidence_keeps_the_earlier_one() {
    let rounds = DebateConfig { max_rounds: 2, early_exit: false, ..of(&[Proposal, Critique, Convergence], 3) };
    let revised = |evidence: &'static str| {
        Stage::new(&rounds)
            .says(move |cue| match (cue.part.as_str(), cue.agent.as_str()) {
                ("proposal", _) => Some(position(&format!("{} says so.", cue.agent), &cue.agent.clone(), 0.9)),
                ("revise", "proposer-1") => Some(Says::Words(
                    json!({ "summary": "Changed.", "position": "as all say", "confidence": 0.9, "evidence": evidence })
                        .to_string(),
                )),
                // The others leave theirs.
                ("revise", _) => Some(Says::Words(
                    json!({ "summary": "The same.", "position": cue.agent, "confidence": 0.9, "evidence": "" })
                        .to_string(),
                )),
                _ => None,
            })
            .play()
    };
    let state = |played: &Played| {
        let turns = played.turns(&["revise"]);
        turns.into_iter().find(|turn| turn.agent.as_str() == "proposer-1").unwrap()
    };
    for swayed in ["", "the others disagree", "point 99", "own 1"] {
        let played = revised(swayed);
        assert_eq!(state(&played).state, TurnState::Refused, "{swayed:?}");
        assert!(state(&played).why.contains("the earlier answer stands"));
        let last = played.prompts("ballot").pop().unwrap().1;
        assert!(!last.contains("Changed."), "{last}");
    }
    // The label of something that it was shown: it may.
    let shown = revised("").prompts("revise").into_iter().find(|(agent, _)| agent == "proposer-1").unwrap().1;
    let label = shown.lines().find_map(|line| line.strip_prefix("[[data point ")).unwrap();
    let label = format!("point {}", label.split(' ').next().unwrap());
    let played = revised(label.leak());
    assert_eq!(state(&played).state, TurnState::Answered, "{}", state(&played).why);
}

const RIGHT: &str = "def double(n):\n    return 2 * n\n";
const WRONG: &str = "def double(n):\n    return 4\n";
const FOUR: (&str, &str) = ("four", "from solution import double\nassert double(2) == 4\n");
const SIX: (&str, &str) = ("six", "from solution import double\nassert double(3) == 6\n");

fn in_code(phases: &[DebatePhase]) -> Stage {
    Stage::new(&DebateConfig { language: Some(ProgramLanguage::Python), ..of(phases, 3) })
}

/// This code and these tests wherever an answer is asked for.
fn doubles(cue: &Cue, code: &str, tests: &[(&str, &str)]) -> Option<Says> {
    let writes = ["draft", "refine", "proposal", "revise", "optimization", "defence"].contains(&cue.part.as_str());
    let tests: Vec<Value> = tests.iter().map(|(name, code)| json!({ "name": name, "code": code })).collect();
    let answer = json!({ "summary": "It doubles.", "code": code, "tests": tests, "confidence": 0.9 });
    writes.then(|| Says::Words(answer.to_string()))
}

/// One passes all tests, and each of the others fails another one.
fn one_is_right(cue: &Cue, right: &str) -> Option<Says> {
    match cue.agent.as_str() {
        agent if agent == right => doubles(cue, RIGHT, &[FOUR, SIX]),
        "moderator-1" => doubles(cue, WRONG, &[FOUR]),
        _ => doubles(cue, "def double(n):\n    return 6\n", &[SIX]),
    }
}

#[test]
fn executed_tests_come_before_ballots() {
    let played = in_code(&[Proposal, Convergence]).says(|cue| one_is_right(cue, "critic-1")).play();
    let verdict = played.verdict();
    assert_eq!((verdict.winner.unwrap().as_str(), verdict.decided_by), ("critic-1", Some(DecidedBy::Tests)));
    let (passed, of) = verdict.tests.unwrap();
    assert!(passed == of && of > 0);
}

#[test]
fn whoever_alone_wrote_tests_is_not_out_for_it() {
    let played = in_code(&[Proposal, Convergence])
        .says(|cue| match cue.agent.as_str() {
            "critic-1" => doubles(cue, RIGHT, &[FOUR, SIX]),
            "proposer-1" => doubles(cue, WRONG, &[]),
            _ => doubles(cue, "def double(n):\n    return n + n\n", &[]),
        })
        .play();
    let verdict = played.verdict();
    let stood: Vec<&str> = verdict.elected.as_ref().unwrap().points.keys().map(|name| name.as_str()).collect();
    assert_eq!(stood, ["critic-1", "moderator-1"], "the one that fails is out, and nobody else");
}

#[test]
fn a_test_that_most_others_fail_says_little() {
    let played = in_code(&[Proposal, Convergence])
        .says(|cue| match cue.agent.as_str() {
            "proposer-1" => doubles(
                cue,
                "def double(n):\n    return 2 * n\nMINE = 1\n",
                &[("mine", "import solution\nassert solution.MINE\n")],
            ),
            "critic-1" => doubles(cue, RIGHT, &[FOUR]),
            _ => doubles(cue, "def double(n):\n    return n + n\n", &[FOUR]),
        })
        .play();
    assert!(tested(&played, Proposal).iter().all(|(_, passed, of)| passed == of), "{:?}", tested(&played, Proposal));
    assert_eq!(played.verdict().elected.unwrap().points.len(), 3, "nobody is out for it");
}

/// Whoever is shown wrong once is not right a round later because nobody repeats the test.
#[test]
fn a_test_stays_whatever_its_author_says_later() {
    let code = DebateConfig { language: Some(ProgramLanguage::Python), ..of(&[Proposal, Convergence], 3) };
    let twice = DebateConfig { max_rounds: 2, early_exit: false, ..code };
    let played = Stage::new(&twice)
        .says(|cue| match (cue.agent.as_str(), cue.part.as_str()) {
            ("critic-1", "proposal") => doubles(cue, RIGHT, &[SIX]),
            ("critic-1", _) => doubles(cue, RIGHT, &[]),
            ("proposer-1", _) => doubles(cue, WRONG, &[]),
            _ => doubles(cue, "def double(n):\n    return n + n\n", &[]),
        })
        .play();
    let wrong: Vec<_> = tested(&played, Proposal).into_iter().filter(|(author, ..)| author == "proposer-1").collect();
    assert_eq!(wrong, [("proposer-1".to_owned(), 0, 1), ("proposer-1".to_owned(), 0, 1)]);
    assert_ne!(played.verdict().winner.unwrap().as_str(), "proposer-1");
}

/// The one that leads is broken, and nobody mends it: others pass the attack, so it is out.
#[test]
fn an_attack_that_nobody_mended_counts_against_whoever_it_broke() {
    let played = in_code(&[Proposal, Adversarial, Convergence])
        .says(|cue| match (cue.part.as_str(), cue.agent.as_str()) {
            ("attack", _) => {
                let test = json!({ "name": SIX.0, "code": SIX.1 });
                let finding = json!({ "title": "Three", "severity": "high", "description": "Four.", "test": test });
                Some(Says::Words(json!({ "findings": [finding] }).to_string()))
            }
            ("defence", _) | (_, "critic-1") => doubles(cue, WRONG, &[]),
            (_, "moderator-1") => doubles(cue, "def double(n):\n    return n + n\n", &[]),
            _ => doubles(cue, RIGHT, &[]),
        })
        .play();
    let verdict = played.verdict();
    assert_eq!(verdict.tests, Some((1, 1)), "{:?}", tested(&played, Adversarial));
    let elected = verdict.elected.unwrap();
    assert!(!elected.points.keys().any(|name| name.as_str() == "critic-1"), "{:?}", elected.points);
}

#[test]
fn attacks_end_when_nothing_new_is_found_and_a_defence_counts_if_the_attack_fails_on_it() {
    let attack = |cue: &Cue| {
        (cue.part == "attack").then(|| {
            let test = json!({ "name": SIX.0, "code": SIX.1 });
            let finding = json!({ "title": "Three", "severity": "high", "description": "It says four.", "test": test });
            Says::Words(json!({ "findings": [finding] }).to_string())
        })
    };
    let note = |played: &Played| {
        let note = played.notes().into_iter().find(|note| note.contains("adversarial"));
        note.unwrap_or_else(|| panic!("{:?} {:?}", played.notes(), played.report.outcome))
    };
    let phases = [Proposal, Adversarial, Convergence];
    let mended = in_code(&phases).says(move |cue| match cue.part.as_str() {
        "defence" => doubles(cue, RIGHT, &[]),
        _ => attack(cue).or_else(|| doubles(cue, WRONG, &[])),
    });
    let mended = mended.play();
    assert_eq!(note(&mended), "1 adversarial: 1 attacks held, 1 were mended; nothing new was found");
    assert_eq!(mended.turns(&["attack"]).len(), 2, "what was mended is attacked again, and the same is nothing new");
    let claimed = in_code(&phases).says(move |cue| match cue.part.as_str() {
        "defence" => doubles(cue, "# Now it is safe.\ndef double(n):\n    return 4\n", &[]),
        _ => attack(cue).or_else(|| doubles(cue, WRONG, &[])),
    });
    assert!(note(&claimed.play()).starts_with("1 adversarial: 1 attacks held, 0 were mended"));
    let withstood = in_code(&phases).says(move |cue| attack(cue).or_else(|| doubles(cue, RIGHT, &[])));
    assert_eq!(note(&withstood.play()), "1 adversarial: 0 attacks held, 0 were mended; no new attack held");
}

fn finding(title: &str, test: Option<&str>) -> Says {
    let test = test.map(|code| json!({ "name": "shown", "code": code }));
    let finding = json!({ "title": title, "severity": "high", "description": title, "test": test });
    Says::Words(json!({ "findings": [finding] }).to_string())
}

fn adversarial_note(played: &Played) -> String {
    let notes = played.notes();
    notes.iter().find(|note| note.contains("adversarial")).cloned().unwrap_or_else(|| panic!("{notes:?}"))
}

#[test]
fn a_test_that_cannot_show_anything_is_no_attack() {
    let broken =
        ["this is not python (", "undefined_name()", "from solution import nothing_like_it", "import sys; sys.exit(0)"];
    for test in broken {
        let played = in_code(&[Proposal, Adversarial, Convergence]).says(move |cue| match cue.part.as_str() {
            "attack" => Some(finding("It breaks", Some(test))),
            _ => doubles(cue, RIGHT, &[]),
        });
        assert!(adversarial_note(&played.play()).contains(" 0 attacks held, 0 were mended"), "{test}");
    }
}

#[test]
fn an_attack_without_words_and_a_defence_that_changes_nothing_count_for_nothing() {
    let phases = [Proposal, Adversarial, Convergence];
    for blank in [" ", ".", "\u{200b}"] {
        let played = Stage::new(&of(&phases, 3)).says(move |cue| match cue.part.as_str() {
            "attack" => Some(finding(blank, None)),
            _ => unsigned(cue),
        });
        assert!(adversarial_note(&played.play()).contains(" 0 attacks held, 0 were mended"), "{blank:?}");
    }
    for unseen in ["", " ", "\u{200b}"] {
        let played = Stage::new(&of(&phases, 3)).says(move |cue| match cue.part.as_str() {
            "attack" => Some(finding(&format!("Weakness {}", cue.attempt), None)),
            "proposal" | "defence" => Some(position(&format!("The same words{unseen}"), "yes", 0.8)),
            _ => unsigned(cue),
        });
        let played = played.play();
        let note = adversarial_note(&played);
        assert!(note.contains(" attacks held, 0 were mended") && !note.contains(" 0 attacks"), "{note}");
        let ballots = played.prompts("ballot").into_iter().chain(played.prompts("endorse"));
        let told = ballots.filter(|(_, prompt)| prompt.contains("Weakness 0")).count();
        assert!(told > 0, "voters read what nobody mended");
    }
}

#[test]
fn in_a_debate_in_words_each_attack_meets_what_the_last_defence_made_and_so_do_voters() {
    let config = DebateConfig { adversarial_rounds: 3, ..of(&[Proposal, Optimization, Adversarial, Convergence], 3) };
    let played = Stage::new(&config).says(|cue| match cue.part.as_str() {
        "attack" => {
            Some(finding(&format!("Weakness number {}", ["one", "two", "three"][cue.attempt as usize % 3]), None))
        }
        "optimization" => Some(position("Optimised words", "yes", 0.8)),
        "defence" => Some(position(&format!("Mended words {}", cue.attempt), "yes", 0.8)),
        _ => unsigned(cue),
    });
    let played = played.play();
    let attacks = played.prompts("attack");
    assert!(attacks[0].1.contains("Optimised words"), "{}", attacks[0].1);
    assert!(attacks[1].1.contains("Mended words 0") && attacks[2].1.contains("Mended words 1"));
    let votes = played.prompts("ballot").into_iter().chain(played.prompts("endorse")).collect::<Vec<_>>();
    assert!(votes.iter().any(|(_, prompt)| prompt.contains("Mended words 2")), "{votes:?}");
    assert!(!votes.iter().any(|(_, prompt)| prompt.contains("Optimised words")));
}

#[test]
fn words_of_a_message_reach_whom_they_are_for_over_every_hop() {
    let messages = |topology| {
        let played =
            Stage::new(&DebateConfig { topology, ..of(&[Proposal, Critique, Convergence], 5) }).says(unsigned).play();
        let of = |told: &DebateEvent| match told {
            DebateEvent::PhaseCompleted { phase: Convergence, messages, .. } => Some(*messages),
            _ => None,
        };
        let read = played.prompts("ballot").iter().all(|(_, prompt)| prompt.contains("Because of reason"));
        assert!(read, "every voter reads answers");
        played.told.iter().find_map(of).unwrap()
    };
    let (mesh, star) = (messages(Topology::GraphMesh), messages(Topology::Star));
    assert!(star > mesh, "what goes over a moderator takes a hop more: {mesh} {star}");
}

#[test]
fn a_phase_ends_where_the_only_author_left_cannot_speak_in_place_of_a_critic_who_failed() {
    for part in ["critique", "review"] {
        let one = DebateConfig { answers: 1, gates: super::gates(&[]), ..debating(Preset::Economy, WORDS, 3) };
        let played =
            Stage::new(&one).says(move |cue| (cue.part == part).then_some(Says::Fails(FailureKind::Refused))).play();
        assert!(played.report.outcome.is_ok(), "{part}: {:?}", played.report.outcome);
        // Everybody is asked once at most in each round.
        let mut asked: Vec<_> = played.turns(&[part]).iter().map(|turn| (turn.round, turn.agent.clone())).collect();
        let turns = asked.len();
        asked.sort();
        asked.dedup();
        assert_eq!(asked.len(), turns, "{part}");
    }
}

#[test]
fn a_reviewer_who_cannot_be_read_is_replaced_or_done_without() {
    for part in ["review", "critique", "optimization", "clarify", "attack"] {
        let all = DebateConfig { adversarial_rounds: 1, ..of(DebatePhase::ALL, 4) };
        let played = Stage::new(&all).says(move |cue| (cue.part == part).then(|| Says::Words("Hm.".to_owned()))).play();
        let verdict = played.verdict();
        assert!(verdict.winner.is_some(), "{part}: {}", verdict.reason);
        assert!(verdict.turns.unparsed > 0, "{part}");
    }
}

#[test]
fn a_provider_that_is_away_costs_a_debate_time_and_nothing_else() {
    let away = std::sync::Mutex::new(std::collections::BTreeMap::new());
    let played = Stage::new(&of(&ALL_BUT_FIRST, 4))
        .says(move |cue| {
            let mut away = away.lock().unwrap();
            let times = away.entry((cue.part.clone(), cue.agent.clone())).or_insert(0);
            *times += 1;
            (*times <= 2).then_some(Says::Fails(FailureKind::Unavailable))
        })
        .play();
    let verdict = played.verdict();
    assert!(verdict.winner.is_some(), "{}", verdict.reason);
    assert_eq!((verdict.turns.failed, played.left_out()), (0, Vec::new()));
    let outages = |payload: &Value| payload["outages"][0]["provider"] == "usual";
    assert!(played.events("run.parked").iter().any(outages));
}

#[test]
fn a_vote_whose_models_fail_stops_the_debate_and_is_held_again_when_it_is_resumed() {
    let ballots = |times: usize| {
        let asked = std::sync::Mutex::new(0);
        move |cue: &Cue| {
            let mut asked = asked.lock().unwrap();
            *asked += usize::from(cue.part == "ballot");
            (cue.part == "ballot" && *asked <= times).then_some(Says::Fails(FailureKind::Refused))
        }
    };
    let vote = of(&[Proposal, Convergence], 4);
    let stopped = Stage::new(&vote).says(ballots(4)).play().failure();
    assert!(stopped.code == "too_few_responses" && stopped.message.contains("resume this run"), "{stopped}");
    let played = Stage::new(&vote).says(ballots(4)).resume(1).play();
    assert!(played.verdict().winner.is_some());
    assert_eq!(played.verdict().ballots.iter().filter(|cast| cast.refused.is_none()).count(), 4);
}
