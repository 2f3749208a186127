use crate::transcript::check;

#[test]
fn no_agent_asks_for_consent_by_silence() {
    check(
        "
        09:00 bot opens a on_timeout=approve     → refused: weakens_policy on_timeout
        09:01 alice opens b on_timeout=approve   → pending
        policy on_timeout=approve
        09:02 bot opens c                        → pending
        09:03 bot opens d on_timeout=fail        → pending
        09:04 bot opens e on_timeout=escalate    → pending
        ",
    );
}

#[test]
fn where_silence_consents_no_agent_shortens_the_wait() {
    check(
        "
        policy on_timeout=approve
        09:00 bot opens a timeout=29m                     → refused: weakens_policy timeout_ms
        09:01 bot opens b timeout=30m                     → pending
        09:02 bot opens c timeout=2h                      → pending
        09:03 bot opens d timeout=never                   → pending
        09:04 bot opens e timeout=1m on_timeout=fail      → pending
        09:05 alice opens f timeout=1m                    → pending
        policy on_timeout=approve timeout=never
        09:06 bot opens g timeout=2h                      → refused: weakens_policy timeout_ms
        policy
        09:07 bot opens h timeout=1m                      → pending
        ",
    );
}

#[test]
fn agents_choose_reviewers_from_the_policys() {
    check(
        "
        policy reviewers=alice,bob
        09:00 bot opens a reviewers=carol           → refused: weakens_policy reviewers
        09:01 bot opens b reviewers=alice,carol     → refused: weakens_policy reviewers
        09:02 bot opens c reviewers=                → refused: weakens_policy reviewers
        09:03 bot opens d reviewers=bob             → pending
        09:04 alice approves                        → refused: not_a_reviewer
        09:05 bot opens e                           → pending
        09:06 carol approves                        → refused: not_a_reviewer
        09:07 carol opens f reviewers=dave          → pending
        policy
        09:08 bot opens g reviewers=carol           → pending
        ",
    );
}

#[test]
fn agents_only_raise_the_quorum() {
    check(
        "
        policy quorum=2
        09:00 bot opens a quorum=1     → refused: weakens_policy quorum
        09:01 bot opens b quorum=3     → pending
        09:02 alice opens c quorum=1   → pending
        ",
    );
}

#[test]
fn agents_only_lower_the_number_of_rejections() {
    check(
        "
        policy reject_quorum=2
        09:00 bot opens a reject_quorum=3     → refused: weakens_policy reject_quorum
        09:01 bot opens b reject_quorum=1     → pending
        09:02 alice opens c reject_quorum=3   → pending
        ",
    );
}

#[test]
fn agents_only_deny_self_review() {
    check(
        "
        policy self_review=deny
        09:00 bot opens a self_review=allow                   → refused: weakens_policy self_review
        09:01 alice opens b self_review=allow                 → pending
        policy
        09:02 bot opens c self_review=allow                   → pending
        09:03 bot opens d self_review=deny                    → pending
        09:04 bot opens e self_review=allow risk=critical     → refused: weakens_policy self_review
        policy self_review=allow
        09:05 bot opens f self_review=allow risk=critical     → pending
        ",
    );
}

#[test]
fn a_policy_that_changes_does_not_reach_a_gate_that_stands() {
    check(
        "
        policy quorum=2 reviewers=alice,bob
        09:00 bot opens a               → pending
        policy on_timeout=approve
        09:01 carol approves            → refused: not_a_reviewer
        09:02 alice approves            → pending, alice approve
        09:30 system expires            → timed_out by timeout, stop
        ",
    );
}

#[test]
fn numbers_with_which_nobody_could_win_are_refused() {
    check(
        "
        09:00 alice opens a quorum=0                                           → refused: invalid quorum
        09:00 alice opens b reject_quorum=0                                    → refused: invalid reject_quorum
        09:00 bot opens c quorum=3 reviewers=alice,bob                         → refused: invalid quorum
        09:00 bot opens d quorum=2 reviewers=alice,alice                       → refused: invalid quorum
        09:00 alice opens e quorum=2 reject_quorum=2 reviewers=bob,carol       → refused: invalid quorum
        09:00 alice opens f quorum=2 reject_quorum=2 reviewers=bob,carol,dave  → pending
        09:00 alice opens g quorum=4294967295 reject_quorum=4294967295         → pending
        policy quorum=2 reviewers=alice                                        → refused: invalid quorum
        policy quorum=0                                                        → refused: invalid quorum
        policy on_timeout=retry                                                → refused: invalid on_timeout
        ",
    );
}

#[test]
fn a_reviewer_who_may_not_decide_on_this_gate_does_not_make_the_quorum_reachable() {
    check(
        "
        09:00 alice opens a reviewers=alice                                 → refused: invalid quorum
        09:00 alice opens b reviewers=alice,bob quorum=2                    → refused: invalid quorum
        09:00 alice opens d reviewers=alice,bob                             → pending
        09:00 alice opens e run=run-1 reviewers=bob self_review=deny        → pending
        09:00 bob opens f run=run-1 reviewers=alice self_review=deny        → refused: invalid quorum
        09:00 bob opens g run=run-1 reviewers=alice                         → pending
        ",
    );
}

#[test]
fn a_wait_is_a_whole_number_of_milliseconds() {
    check(
        "
        09:00 bot opens a timeout=0s                       → refused: invalid timeout_ms
        09:00 bot opens b timeout=1500us                   → refused: invalid timeout_ms
        09:00 bot opens c timeout=9223372036854775807ms    → refused: invalid timeout_ms
        09:00 bot opens d timeout=9223372036854775806ms    → pending
        09:00 bot opens e timeout=1ms                      → pending
        timer                                              → 09:00:00.001000Z
        policy timeout=0s                                  → refused: invalid timeout_ms
        ",
    );
}

/// What is said before anything is started is what its gates would be told: nothing weaker by an
/// agent, and nothing impossible.
#[test]
fn what_gates_would_be_refused_for_is_refused_beforehand() {
    use crate::{
        Principal, Role, Timeout,
        gate::{GatePolicy, GatePreferences, OnTimeout, SelfReview},
    };
    let name = |text: &str| text.parse::<crate::Name>().expect("a name");
    let agent = Principal::new(name("bot"), Role::Agent);
    let reviewer = Principal::new(name("alice"), Role::Reviewer);
    let approves = GatePreferences { on_timeout: Some(OnTimeout::Approve), ..GatePreferences::default() };
    let of = |reviewers: &[&str]| GatePreferences {
        reviewers: Some(reviewers.iter().map(|text| name(text)).collect()),
        ..GatePreferences::default()
    };
    let policy = GatePolicy::default();
    let code = |policy: &GatePolicy, wanted: &GatePreferences, by: &Principal| {
        policy.must_allow(wanted, by).map_err(|refusal| refusal.code()).err()
    };
    assert_eq!(code(&policy, &GatePreferences::default(), &agent), None);
    assert_eq!(code(&policy, &approves, &agent), Some("weakens_policy"));
    assert_eq!(code(&policy, &approves, &reviewer), None);
    // Only our own runs can ask again, and this is about those.
    let again = GatePreferences { on_timeout: Some(OnTimeout::Retry), ..GatePreferences::default() };
    assert_eq!(code(&policy, &again, &agent), None);
    let named = GatePolicy { reviewers: vec![name("alice"), name("bob")], quorum: 2, ..GatePolicy::default() };
    assert_eq!(code(&named, &of(&["alice", "bob"]), &agent), None);
    assert_eq!(code(&named, &of(&["alice", "mallory"]), &agent), Some("weakens_policy"));
    assert_eq!(code(&named, &of(&["alice"]), &reviewer), Some("invalid"), "two of one person cannot be had");
    assert_eq!(code(&named, &of(&["alice", "alice"]), &reviewer), Some("invalid"));
    let strict = GatePolicy { self_review: Some(SelfReview::Deny), ..GatePolicy::default() };
    assert_eq!(code(&strict, &of(&["alice"]), &reviewer), Some("invalid"), "nobody is left who may");
    let never =
        GatePreferences { timeout: Some(Timeout::After(std::time::Duration::ZERO)), ..GatePreferences::default() };
    assert_eq!(code(&policy, &never, &reviewer), Some("invalid"));
    let told = GatePreferences { notification_channels: vec!["c".to_owned(); 17], ..GatePreferences::default() };
    assert_eq!(code(&policy, &told, &reviewer), Some("invalid"));
}
