use proptest::prelude::*;

use super::*;

/// `severity category: title`, and the code of a test after `|` where there is one.
fn finding(said: &str) -> Finding {
    let (said, test) = said.split_once(" | ").map_or((said, None), |(said, test)| (said, Some(test)));
    let (head, title) = said.split_once(": ").unwrap();
    let (severity, category) = head.split_once(' ').unwrap();
    Finding {
        category: category.to_owned(),
        severity: severity.parse().unwrap(),
        title: title.to_owned(),
        detail: String::new(),
        test: test.map(test_digest),
    }
}

fn found(said: &[&str]) -> RedTeamReport {
    RedTeamReport::Found(said.iter().map(|said| finding(said)).collect())
}

/// `new / repeated verdict`, by titles.
fn check(known: &[&str], reports: Vec<RedTeamReport>, expected: &str) {
    let known: Vec<Finding> = known.iter().map(|said| finding(said)).collect();
    let attack = Attack::of(&known, reports);
    let titles = |findings: &[Finding]| findings.iter().map(|f| f.title.as_str()).collect::<Vec<_>>().join(", ");
    let told = format!("{} / {} {}", titles(&attack.new), titles(&attack.repeated), attack.verdict());
    assert_eq!(told, expected);
}

#[test]
fn only_what_is_new_counts() {
    let known = ["high injection: SQL in the name of a user"];
    check(
        &known,
        vec![found(&["low injection: sql in the NAME of a user!"])],
        " / sql in the NAME of a user! nothing_new",
    );
    check(&known, vec![found(&["high injection: SQL in the name of a group"])], "SQL in the name of a group /  found");
    check(&known, vec![found(&["high injection: SQL in the name of user"])], " / SQL in the name of user nothing_new");
    check(&known, vec![found(&["high injection: HTML in a comment"])], "HTML in a comment /  found");
    check(&known, vec![found(&["high race: SQL in the name of a user"])], "SQL in the name of a user /  found");
    check(&[], vec![found(&["high race: one"]), found(&["low Race: One."])], "one / One. found");
}

#[test]
fn tests_tell_findings_apart_and_words_do_where_there_are_none() {
    let known = ["high race: two writers | assert a"];
    check(&known, vec![found(&["high other: in other words | assert a\n"])], " / in other words nothing_new");
    check(&known, vec![found(&["high race: two writers | assert b"])], "two writers /  found");
    check(&known, vec![found(&["high race: two writers"])], " / two writers nothing_new");
}

#[test]
fn a_report_that_could_not_be_read_is_never_nothing_found() {
    check(&[], vec![found(&[])], " /  nothing_new");
    check(&[], vec![RedTeamReport::Unread], " /  unknown");
    check(&[], vec![found(&[]), RedTeamReport::Unread], " /  unknown");
    check(&[], vec![], " /  unknown");
    check(&[], vec![RedTeamReport::Unread, found(&["low race: one"])], "one /  found");
}

#[test]
fn titles_without_words_are_compared_as_they_are() {
    check(&["low a: ???"], vec![found(&["low a: ???"])], " / ??? nothing_new");
    check(&["low a: ???"], vec![found(&["low a: !!!"])], "!!! /  found");
}

#[test]
fn a_test_is_the_same_with_other_empty_lines() {
    assert_eq!(test_digest("a\n  b\n"), test_digest("\na  \n\n  b"));
    assert_ne!(test_digest("a\n  b\n"), test_digest("a\nb\n"), "indentation can mean something");
}

#[test]
fn risk_is_what_each_finding_leaves() {
    let risk = |said: &str| {
        let findings: Vec<Finding> =
            said.split_whitespace().map(|severity| finding(&format!("{severity} race: one"))).collect();
        risk(&findings).to_string()
    };
    assert_eq!(risk(""), "0.00");
    assert_eq!(risk("low"), "0.20");
    assert_eq!(risk("medium"), "0.40");
    assert_eq!(risk("high"), "0.70");
    assert_eq!(risk("critical"), "1.00");
    assert_eq!(risk("low low"), "0.36");
    assert_eq!(risk("low medium"), "0.52");
    assert_eq!(risk("high medium low"), "0.86", "0.856, rounded up");
    assert_eq!(risk("high critical low"), "1.00");
}

#[test]
fn an_attack_is_what_was_written_of_it() {
    let attack =
        Attack::of(&[], vec![found(&["high race: two writers | assert a", "low x: y"]), RedTeamReport::Unread]);
    let json = serde_json::to_string(&attack).unwrap();
    assert_eq!(serde_json::from_str::<Attack>(&json).unwrap(), attack);
    assert!(serde_json::from_str::<Finding>(r#"{"category":"a","severity":"awful","title":"t"}"#).is_err());
}

fn any_finding() -> impl Strategy<Value = Finding> {
    let test = prop::option::of("[xy]");
    (prop::sample::select(Severity::ALL), "[ab]", "[a-c]( [a-c]){0,3}", test).prop_map(
        |(severity, category, title, test)| Finding {
            category,
            severity,
            title,
            detail: String::new(),
            test: test.as_deref().map(test_digest),
        },
    )
}

proptest! {
    #[test]
    fn the_same_report_again_finds_nothing_new(findings in prop::collection::vec(any_finding(), 0..12)) {
        let first = Attack::of(&[], vec![RedTeamReport::Found(findings.clone())]);
        prop_assert_eq!(first.new.len() + first.repeated.len(), findings.len(), "no finding is lost");
        prop_assert!(findings.is_empty() || !first.new.is_empty());
        let again = Attack::of(&findings, vec![RedTeamReport::Found(findings.clone())]);
        prop_assert_eq!(again.verdict(), AttackOutcome::NothingNew);
    }

    #[test]
    fn sameness_has_no_direction(one in any_finding(), two in any_finding()) {
        prop_assert!(one.is_the_same(&one));
        prop_assert_eq!(one.is_the_same(&two), two.is_the_same(&one));
    }

    #[test]
    fn risk_grows_with_what_stands_and_not_with_its_order(
        (findings, shuffled) in prop::collection::vec(any_finding(), 1..12)
            .prop_flat_map(|findings| (Just(findings.clone()), Just(findings).prop_shuffle())),
    ) {
        prop_assert_eq!(risk(&findings), risk(&shuffled));
        prop_assert!(risk(&findings[1..]) <= risk(&findings));
        let worst = findings.iter().map(|finding| finding.severity.weight()).max().unwrap();
        prop_assert!(risk(&findings) >= worst);
    }
}
