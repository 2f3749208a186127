use proptest::prelude::*;

use super::{
    super::memory::{
        FailureSource,
        tests::{episode, results},
    },
    *,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn start() -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000)
}

fn run(id: &str) -> RunId {
    id.parse().unwrap()
}

fn learn(episodes: &[Episode]) -> Vec<Lesson> {
    extract(
        episodes,
        LessonOrigin {
            debate: &run("d1"),
            topic: "Count the words",
            domain: Domain::Code,
            language: Some("Rust"),
            now: start(),
        },
    )
}

/// Each lesson as `text confidence episodes`.
fn check(episodes: &[Episode], expected: &[&str]) {
    let lessons = learn(episodes);
    let told: Vec<String> = lessons
        .iter()
        .map(|lesson| format!("{} {} {}", lesson.text, lesson.confidence, lesson.episodes.join(",")))
        .collect();
    assert_eq!(told, expected);
}

fn mended(id: &str, cause: &str) -> Episode {
    Episode { next: Some(results(3, 0)), ..episode(id, "p", "t", cause) }
}

#[test]
fn the_same_root_cause_twice_is_a_lesson_and_once_is_none() {
    check(&[episode("a", "p", "t", "off by one")], &[]);
    check(&[episode("a", "p", "t", "off by one"), episode("b", "q", "u", "no lock")], &[]);
    check(
        &[episode("a", "p", "t", "off by one"), episode("b", "q", "u", "Off by ONE.")],
        &["mind: Off by ONE. 0.70 a,b"],
    );
    let similar = [episode("a", "p", "t", "the index was off by one"), episode("b", "p", "t", "index was off by one")];
    check(&similar, &["mind: index was off by one 0.70 a,b"]);
}

#[test]
fn one_episode_is_a_lesson_where_the_next_attempt_passed_its_tests() {
    check(&[mended("a", "off by one")], &["mind: off by one 0.80 a"]);
    let untested = Episode { next: Some(results(0, 0)), ..mended("a", "off by one") };
    check(&[untested], &[]);
    let failed = Episode { next: Some(results(2, 1)), ..mended("a", "off by one") };
    check(&[failed], &[]);
}

#[test]
fn what_helped_is_told_rather_than_what_was_said_last() {
    let mut helped = mended("a", "off by one");
    helped.reflection.what_to_change = "count from zero".to_owned();
    check(&[helped, episode("b", "p", "t", "off by one")], &["count from zero 0.85 a,b"]);
    let many: Vec<Episode> = (0..9).map(|number| mended(&number.to_string(), "off by one")).collect();
    assert_eq!(learn(&many)[0].confidence, Share::of(95));
}

#[test]
fn an_opinion_teaches_nothing() {
    let opinion = |id: &str| Episode { cause: FailureSource::Opinion, ..mended(id, "bad style") };
    check(&[opinion("a"), opinion("b")], &[]);
    check(&[opinion("a"), episode("b", "p", "t", "bad style")], &[]);
    for cause in FailureSource::ALL {
        let lessons = learn(&[Episode { cause: *cause, ..mended("a", "bad style") }]);
        assert_eq!(lessons.len(), usize::from(cause.is_outside()), "{cause}");
    }
}

#[test]
fn what_says_nothing_is_no_lesson() {
    check(&[mended("a", " ")], &[]);
    let mut silent = mended("a", "off by one");
    silent.reflection.what_to_change = " ".to_owned();
    check(std::slice::from_ref(&silent), &[]);
    silent.improvement = "count from zero".to_owned();
    check(&[silent], &["count from zero 0.80 a"]);
    let endless = learn(&[mended("a", &"x".repeat(10_000))]);
    assert_eq!((endless[0].root_cause.len(), endless[0].text.len()), (BYTES_MAX, BYTES_MAX));
}

#[test]
fn a_lesson_says_where_it_is_from() {
    let lesson = learn(&[mended("a", "off by one")]).remove(0);
    assert_eq!((lesson.debate.clone(), lesson.domain, lesson.learned_at), (run("d1"), Domain::Code, start()));
    assert_eq!(lesson.language.as_deref(), Some("rust"));
    assert_eq!(lesson.id.len(), "lesson-".len() + 32);
    assert_eq!(lesson, learn(&[mended("a", "off by one")]).remove(0), "the same again is the same");
    let json = serde_json::to_string(&lesson).unwrap();
    assert_eq!(serde_json::from_str::<Lesson>(&json).unwrap(), lesson);
}

fn lesson(id: &str, text: &str) -> Lesson {
    Lesson {
        id: id.to_owned(),
        domain: Domain::Code,
        language: None,
        root_cause: String::new(),
        text: text.to_owned(),
        confidence: Share::of(80),
        debate: run("d1"),
        episodes: Vec::new(),
        tags: Vec::new(),
        learned_at: start(),
    }
}

fn ids<'a>(lessons: impl IntoIterator<Item = &'a Lesson>) -> String {
    lessons.into_iter().map(|lesson| lesson.id.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_known_is_not_learned_again() {
    let known = [lesson("k", "always check the bounds first")];
    let again = lesson("a", "Always check the bounds, first!");
    let close = lesson("b", "check the bounds first");
    let other = lesson("c", "check the locks first");
    let rust = Lesson { language: Some("rust".to_owned()), ..lesson("d", "always check the bounds first") };
    let found = vec![again, close, other.clone(), other, rust];
    assert_eq!(ids(&new_ones(&known, found)), "c d");
}

fn told(lessons: &[Lesson], topic: &str) -> String {
    ids(relevant(lessons, LessonSearch { topic, domain: Domain::General, language: None, now: start() }))
}

#[test]
fn lessons_are_ranked_by_what_they_share_with_the_topic() {
    let lessons = [
        lesson("a", "parse dates with leap years in mind"),
        lesson("b", "parse numbers strictly"),
        lesson("c", "lock the cache"),
        lesson("d", "dates: parse leap years of dates, test dates"),
    ];
    assert_eq!(told(&lessons, "How should one parse DATES?"), "d a b", "a rare word says more than a frequent one");
    assert_eq!(told(&lessons, "cache"), "c");
    assert_eq!(told(&lessons, "something else"), "");
    assert_eq!(told(&lessons, ""), "");
    assert_eq!(told(&[], "cache"), "");
    let long = [lesson("long", &format!("cache {}", "other words ".repeat(30))), lesson("short", "cache locks")];
    assert_eq!(told(&long, "cache"), "short long", "what says little else is about it");
}

#[test]
fn at_most_five_are_told_and_equals_by_foundation_age_and_id() {
    let mut lessons: Vec<Lesson> = ["g", "f", "e", "d", "c", "b", "a"].map(|id| lesson(id, "lock the cache")).into();
    assert_eq!(told(&lessons, "cache"), "a b c d e");
    lessons[0].confidence = Share::of(90);
    lessons[1].learned_at = start().plus(DAY);
    assert_eq!(told(&lessons, "cache"), "g f a b c");
}

#[test]
fn the_domain_helps_and_another_language_excludes() {
    let security = Lesson { domain: Domain::Security, ..lesson("s", "lock the cache") };
    let rust = Lesson { language: Some("rust".to_owned()), ..lesson("r", "lock the cache") };
    let lessons = [lesson("a", "lock the cache"), rust, security];
    let told =
        |domain, language| ids(relevant(&lessons, LessonSearch { topic: "cache", domain, language, now: start() }));
    assert_eq!(told(Domain::Security, Some("Rust")), "s a r");
    assert_eq!(told(Domain::Code, Some("python")), "a s");
    assert_eq!(told(Domain::General, None), "a r s");
}

#[test]
fn a_lesson_is_told_for_ninety_days() {
    let lessons = [lesson("a", "lock the cache")];
    let told_after = |age: Duration| {
        let now = start().plus(age);
        ids(relevant(&lessons, LessonSearch { topic: "cache", domain: Domain::Code, language: None, now }))
    };
    assert_eq!(told_after(90 * DAY), "a");
    assert_eq!(told_after(90 * DAY + Duration::from_micros(1)), "");
}

#[test]
fn logarithms_are_what_they_are() {
    assert_eq!(log2(1, 1), 0);
    assert_eq!(log2(8, 1), 3 << 16);
    assert_eq!(log2(1, 2), 0);
    assert_eq!(log2(1, 0), 0);
    for (over, under) in [(3u32, 2u32), (10, 3), (20_002, 1), (1_000_001, 1_000_000)] {
        let exact = (f64::from(over) / f64::from(under)).log2() * 65536.0;
        let ours = log2(over.into(), under.into()) as f64;
        assert!((exact - ours).abs() <= 2.0, "{over}/{under}: {exact} {ours}");
    }
}

/// BM25 as the books write it.
fn textbook(texts: &[BTreeMap<String, u128>], asked: &BTreeSet<String>) -> Vec<f64> {
    let n = texts.len() as f64;
    let length = |text: &BTreeMap<String, u128>| text.values().sum::<u128>() as f64;
    let mean = texts.iter().map(length).sum::<f64>() / n;
    let score = |text: &BTreeMap<String, u128>| {
        let word = |word: &String| {
            let with = texts.iter().filter(|text| text.contains_key(word)).count() as f64;
            let f = text.get(word).copied().unwrap_or(0) as f64;
            let idf = (1.0 + (n - with + 0.5) / (with + 0.5)).ln();
            idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * length(text) / mean))
        };
        asked.iter().map(word).sum()
    };
    texts.iter().map(score).collect()
}

proptest! {
    #[test]
    fn the_integers_come_to_what_the_textbook_says(
        texts in prop::collection::vec("[abc]{3}( [abc]{3}){0,8}", 1..8),
        topic in "[abc]{3}( [abc]{3}){0,3}",
    ) {
        let texts: Vec<BTreeMap<String, u128>> = texts.iter().map(|text| counted(&lesson("x", text))).collect();
        let asked: BTreeSet<String> = keywords(&topic).collect();
        for (ours, theirs) in bm25(&texts, &asked).into_iter().zip(textbook(&texts, &asked)) {
            let ours = ours as f64 / 65536.0 * std::f64::consts::LN_2;
            prop_assert!((ours - theirs).abs() < 0.001, "{ours} {theirs}");
        }
    }

    #[test]
    fn ranking_does_not_depend_on_the_order_in_which_lessons_are_kept(
        (lessons, shuffled) in prop::collection::vec("[ab]{3}( [ab]{3}){0,4}", 0..12).prop_flat_map(|texts| {
            let lessons: Vec<Lesson> =
                texts.iter().enumerate().map(|(number, text)| lesson(&format!("l{number}"), text)).collect();
            (Just(lessons.clone()), Just(lessons).prop_shuffle())
        }),
        topic in "[ab]{3}( [ab]{3}){0,2}",
    ) {
        let ranked = told(&lessons, &topic);
        prop_assert_eq!(&ranked, &told(&shuffled, &topic));
        prop_assert!(ranked.split_whitespace().count() <= LESSONS_TOLD);
    }

    #[test]
    fn what_was_learned_once_is_not_new(causes in prop::collection::vec("[a-e]{3}( [a-e]{3}){0,3}", 0..10)) {
        let episodes: Vec<Episode> =
            causes.iter().enumerate().map(|(number, cause)| mended(&number.to_string(), cause)).collect();
        let lessons = learn(&episodes);
        prop_assert_eq!(lessons.is_empty(), episodes.is_empty());
        prop_assert_eq!(new_ones(&lessons, lessons.clone()), []);
        prop_assert!(lessons.iter().all(|lesson| lesson.confidence >= Share::of(70)));
    }
}

#[test]
fn a_like_task_finds_a_lesson_by_the_words_of_the_task_that_taught_it() {
    let lessons = learn(&[mended("e1", "the loop ends one too early")]);
    assert_eq!(lessons[0].tags, ["count", "words"]);
    let question = |topic| LessonSearch { topic, domain: Domain::General, language: Some("rust"), now: start() };
    assert_eq!(relevant(&lessons, question("Count all words in a file")).len(), 1);
    assert!(relevant(&lessons, question("Bake a cake")).is_empty());
}
