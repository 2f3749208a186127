use proptest::prelude::*;

use super::*;

pub(crate) fn results(passed: u32, failed: u32) -> TestResults {
    let failure = |number| TestFailure { test: format!("test_{number}"), message: String::new() };
    TestResults { passed, failures: (0..failed).map(failure).collect() }
}

pub(crate) fn episode(id: &str, agent: &str, task: &str, root_cause: &str) -> Episode {
    Episode {
        id: id.to_owned(),
        session_id: "s1".parse().unwrap(),
        turn_id: format!("turn-{id}"),
        agent_id: agent.parse().unwrap(),
        task_description: task.to_owned(),
        attempt_number: 1,
        code: "fn main() {}".to_owned(),
        test_results: results(1, 1),
        cause: FailureSource::Tests,
        failure_analysis: String::new(),
        reflection: Reflection {
            root_cause: root_cause.to_owned(),
            what_went_wrong: "it failed".to_owned(),
            what_to_change: format!("mind: {root_cause}"),
            confidence: Share::of(80),
        },
        improvement: String::new(),
        confidence: Share::of(60),
        timestamp: Timestamp::from_micros(0),
        next: None,
    }
}

fn ids<'a>(episodes: impl IntoIterator<Item = &'a Episode>) -> String {
    episodes.into_iter().map(|episode| episode.id.as_str()).collect::<Vec<_>>().join(" ")
}

fn memory(max: usize, episodes: impl IntoIterator<Item = Episode>) -> EpisodicMemory {
    let mut memory = EpisodicMemory::new(max);
    episodes.into_iter().for_each(|episode| drop(memory.remember(episode)));
    memory
}

#[test]
fn no_tests_have_passed_nothing() {
    assert!(results(2, 0).all_passed());
    assert!(!results(0, 0).all_passed());
    assert!(!results(2, 1).all_passed());
    assert_eq!(results(0, 0).pass_rate(), None);
    assert_eq!(results(2, 1).pass_rate(), Some(Share::of(66)));
}

#[test]
fn a_failure_that_says_nothing_is_told() {
    let mut both = results(0, 2);
    both.failures[1].message = "  expected 4\n".to_owned();
    assert_eq!(both.told(), ["test_0: failed without a message", "test_1: expected 4"]);
}

#[test]
fn whoever_came_first_is_forgotten_first() {
    let mut memory = EpisodicMemory::new(2);
    assert_eq!(memory.remember(episode("a", "p", "t", "c")), None);
    assert_eq!(memory.remember(episode("b", "p", "t", "c")), None);
    assert_eq!(memory.remember(episode("c", "p", "t", "c")).map(|gone| gone.id), Some("a".to_owned()));
    assert_eq!(ids(memory.episodes()), "b c");
    assert_eq!(memory.remember(episode("b", "q", "t", "c")), None, "it is there");
    assert_eq!(ids(memory.episodes()), "b c");
    assert_eq!(ids(memory.of_agent(&"q".parse().unwrap())), "b");
    assert_eq!(ids(EpisodicMemory::new(0).remember(episode("a", "p", "t", "c")).iter()), "", "one at least");
}

#[test]
fn episodes_are_found_by_agent_and_by_session() {
    let elsewhere = Episode { session_id: "s2".parse().unwrap(), ..episode("c", "p", "t", "c") };
    let memory = memory(9, [episode("a", "p", "t", "c"), episode("b", "q", "t", "c"), elsewhere]);
    assert_eq!(ids(memory.of_agent(&"p".parse().unwrap())), "a c");
    assert_eq!(ids(memory.of_session(&"s1".parse().unwrap())), "a b");
    assert_eq!(ids(memory.of_session(&"s3".parse().unwrap())), "");
}

#[test]
fn episodes_are_found_by_the_words_that_they_share() {
    let memory = memory(
        9,
        [
            episode("a", "p", "Write a parser for dates", "leap years were forgotten"),
            episode("b", "p", "Write a cache", "no lock around the cache"),
            episode("c", "p", "Write a parser for numbers", "empty input"),
        ],
    );
    assert_eq!(ids(memory.similar("a PARSER of dates", 9)), "a c");
    assert_eq!(ids(memory.similar("Parser", 9)), "c a", "of equals the newest");
    assert_eq!(ids(memory.similar("leap seconds", 9)), "a", "by what was learned, too");
    assert_eq!(ids(memory.similar("write", 2)), "c b");
    assert_eq!(ids(memory.similar("a of to", 9)), "", "words of two letters say nothing");
    assert_eq!(ids(memory.similar("the lot", 9)), "", "nor do those that every text has");
}

#[test]
fn the_newest_reflections_on_a_task_are_shown_in_order() {
    let opinion = Episode { cause: FailureSource::Opinion, ..episode("e", "p", "t", "opinion") };
    let memory = memory(
        9,
        [
            episode("a", "p", "t", "one"),
            episode("b", "p", "t", "two"),
            episode("x", "q", "t", "another agent's"),
            episode("y", "p", "u", "of another task"),
            episode("c", "p", "t", "three"),
            episode("d", "p", "t", "four"),
            opinion,
        ],
    );
    let shown = |max| -> Vec<&str> {
        let shown = memory.reflections(&"p".parse().unwrap(), "t", max);
        shown.into_iter().map(|reflection| reflection.root_cause.as_str()).collect()
    };
    assert_eq!(shown(3), ["two", "three", "four"]);
    assert_eq!(shown(usize::MAX), ["one", "two", "three", "four"], "and never a mere opinion");
    assert_eq!(shown(0), [""; 0]);
}

#[test]
fn an_episode_is_mended_when_tests_then_passed_that_were_run() {
    let mut memory = memory(9, [episode("a", "p", "t", "c")]);
    let mut mended = |next| memory.followed_by("a", next).map(Episode::was_mended);
    assert_eq!(mended(results(0, 0)), Some(false));
    assert_eq!(mended(results(3, 1)), Some(false));
    assert_eq!(mended(results(3, 0)), Some(true));
    assert_eq!(memory.followed_by("b", results(1, 0)), None);
    let opinion = Episode { cause: FailureSource::Opinion, next: Some(results(3, 0)), ..episode("a", "p", "t", "c") };
    assert!(!opinion.was_mended(), "nothing outside had failed");
}

proptest! {
    #[test]
    fn a_memory_holds_the_newest_and_what_was_written_of_it_is_it(
        max in 1..8usize,
        written in prop::collection::vec((0..20u8, "[a-c]", "[a-d]{3}( [a-d]{3}){0,3}"), 0..40),
    ) {
        let mut memory = EpisodicMemory::new(max);
        let mut kept: VecDeque<String> = VecDeque::new();
        for (id, agent, task) in written {
            let id = id.to_string();
            let gone = memory.remember(episode(&id, &agent, &task, "cause")).map(|gone| gone.id);
            let expected = if kept.contains(&id) {
                None
            } else {
                kept.push_back(id);
                if kept.len() > max { kept.pop_front() } else { None }
            };
            prop_assert_eq!(gone, expected);
        }
        prop_assert_eq!(ids(memory.episodes()), Vec::from(kept).join(" "));
        let found = memory.similar("aaa bbb", 3);
        prop_assert!(found.len() <= 3);
        let json = serde_json::to_string(&memory).unwrap();
        prop_assert_eq!(serde_json::from_str::<EpisodicMemory>(&json).unwrap(), memory);
    }
}
