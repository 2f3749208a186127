use crate::{
    CommandId, GateId, Name, Phase, RunId, SessionId, Timestamp, TokenId,
    text::{REASON_BYTES_MAX, SUMMARY_BYTES_MAX, TITLE_BYTES_MAX},
    transcript::check,
};

#[test]
fn no_field_takes_what_postgresql_cannot_store() {
    check(
        r#"
        09:00 bot opens a "x{nul}"                                → refused: invalid summary
        09:00 bot opens a title=x{nul}                            → refused: invalid title
        09:00 bot opens a artifacts=x{nul}:content                → refused: invalid artifacts.name
        09:00 bot opens a artifacts=x:content media_type=x{nul}   → refused: invalid artifacts.media_type
        09:00 bot opens a key=x{nul}                              → refused: invalid dedupe_key
        09:00 bot opens a tell=x{nul}                             → refused: invalid notification_channels
        09:00 bot opens a kind=proposal                           → pending
        09:00 bot amends "x{nul}"                                 → refused: invalid summary
        09:00 bot amends title=x{nul}                             → refused: invalid title
        09:00 bot amends artifacts=x{nul}:content                 → refused: invalid artifacts.name
        09:00 alice approves "x{nul}"                             → refused: invalid reason
        09:00 alice adjusts feedback=x{nul}                       → refused: invalid feedback
        09:00 alice adjusts edited=x{nul}                         → refused: invalid edited
        09:00 bot cancels "x{nul}"                                → refused: invalid reason
        "#,
    );
}

#[test]
fn no_field_takes_more_than_its_limit() {
    let title = TITLE_BYTES_MAX + 1;
    let summary = SUMMARY_BYTES_MAX + 1;
    let reason = REASON_BYTES_MAX + 1;
    check(&format!(
        r#"
        09:00 bot opens a "{{{summary}}}"                                → refused: invalid summary
        09:00 bot opens a title={{{title}}}                              → refused: invalid title
        09:00 bot opens a artifacts={{{title}}}:content                  → refused: invalid artifacts.name
        09:00 bot opens a artifacts=x:content media_type={{{title}}}     → refused: invalid artifacts.media_type
        09:00 bot opens a key={{{title}}}                                → refused: invalid dedupe_key
        09:00 bot opens a tell={{{title}}}                               → refused: invalid notification_channels
        09:00 bot opens a kind=proposal                                  → pending
        09:00 bot amends "{{{summary}}}"                                 → refused: invalid summary
        09:00 bot amends title={{{title}}}                               → refused: invalid title
        09:00 alice approves "{{{reason}}}"                              → refused: invalid reason
        09:00 alice adjusts feedback={{{reason}}}                        → refused: invalid feedback
        09:00 alice adjusts edited={{{summary}}}                         → refused: invalid edited
        09:00 bot cancels "{{{reason}}}"                                 → refused: invalid reason
        "#
    ));
    check(
        r#"
        09:00 bot opens a "{262144}" title={300} key={300} tell={300} artifacts={300}:content   → pending
        09:01 alice rejects "{16384}"                                                           → rejected by alice, stop
        "#,
    );
}

#[test]
fn no_text_that_must_say_something_is_empty() {
    check(
        r#"
        09:00 bot opens a " {nl} "                             → refused: invalid summary
        09:00 bot opens a title=                               → refused: invalid title
        09:00 bot opens a artifacts=:content                   → refused: invalid artifacts.name
        09:00 bot opens a artifacts=x:content media_type=      → refused: invalid artifacts.media_type
        09:00 bot opens a key=                                 → refused: invalid dedupe_key
        09:00 bot opens a                                      → pending
        09:00 bot amends " "                                   → refused: invalid summary
        "#,
    );
}

#[test]
fn a_gate_carries_at_most_64_artifacts() {
    let names = |n: usize| (0..n).map(|n| format!("{n}:x")).collect::<Vec<_>>().join(",");
    check(&format!(
        "
        09:00 bot opens a artifacts={}   → refused: invalid artifacts
        09:00 bot opens a artifacts={}   → pending
        ",
        names(65),
        names(64)
    ));
}

#[test]
fn a_gate_tells_at_most_16_channels_with_those_of_the_policy() {
    let names = |n: usize| (0..n).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
    let (fifteen, sixteen, seventeen) = (names(15), names(16), names(17));
    check(&format!(
        "
        09:00 bot opens a tell={seventeen}              → refused: invalid notification_channels
        09:00 bot opens a tell={sixteen}                → pending
        09:00 bot opens b tell={sixteen},{sixteen}      → pending
        policy tell=ops
        09:00 bot opens c tell={sixteen}                → refused: invalid notification_channels
        09:00 bot opens c tell={fifteen}                → pending
        09:00 bot opens d tell={fifteen},ops            → pending
        policy tell={sixteen} escalate_to={sixteen}
        09:00 bot opens e                               → pending
        policy tell={seventeen}                         → refused: invalid notification_channels
        policy escalate_to={seventeen}                  → refused: invalid escalate_to
        "
    ));
}

#[test]
fn ids_are_safe_in_a_url_and_in_a_path() {
    for bad in
        ["", ".", "..", "...", "a/b", "../x", "a b", "a\0", "a\n", "é", "a%2f", "a?b", "a#b", "\"", "<b>", "a\\b"]
    {
        assert!(bad.parse::<RunId>().is_err(), "{bad:?}");
        assert!(serde_json::from_value::<Name>(bad.into()).is_err(), "{bad:?}");
    }
    for good in ["a", "A-Z_0.9:@", "..a", "run-1", "agent@host:7"] {
        assert_eq!(good.parse::<RunId>().map(String::from), Ok(good.to_owned()));
    }
}

#[test]
fn ids_have_a_length() {
    fn longest<T: std::str::FromStr>() -> usize {
        (1..400).take_while(|n| "x".repeat(*n).parse::<T>().is_ok()).count()
    }
    let ids = (longest::<GateId>(), longest::<RunId>(), longest::<SessionId>(), longest::<CommandId>());
    assert_eq!(ids, (320, 128, 128, 64));
    assert_eq!((longest::<TokenId>(), longest::<Name>(), longest::<Phase>()), (64, 128, 64));
}

#[test]
fn a_refused_id_is_named_and_cut() {
    let error = format!("{}/", "é".repeat(200)).parse::<Phase>().unwrap_err();
    let shown = "é".repeat(80);
    assert_eq!(
        error.to_string(),
        format!("{shown:?} is no phase: use 1 to 64 of the characters A-Z a-z 0-9 . _ : @ -")
    );
}

#[test]
fn a_gates_id_tells_its_run_phase_and_time_and_is_always_an_id() {
    let phase: Phase = "merge".parse().unwrap();
    let now = Timestamp::from_micros(1_769_850_000_123_456);
    let id = GateId::new(Some(&"run-1".parse().unwrap()), &phase, now, 0xbeef);
    assert_eq!(id.as_str(), "gate-run-1-merge-1769850000123-000000000000beef");
    assert_eq!(GateId::new(None, &phase, now, 1).as_str(), "gate-external-merge-1769850000123-0000000000000001");

    let longest = (RunId::try_from("r".repeat(128)).unwrap(), Phase::try_from("p".repeat(64)).unwrap());
    let id = GateId::new(Some(&longest.0), &longest.1, Timestamp::from_micros(i64::MAX), u64::MAX);
    assert_eq!(id.as_str().parse(), Ok(id));
}
