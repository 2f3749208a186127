use super::*;

fn by(role: Role) -> Actor {
    Actor::Principal(Principal::new("somebody".parse().unwrap(), role))
}

#[test]
fn agents_have_limits_and_people_have_none() {
    let quota = Quota { pending_gates: Some(2), pending_bytes: Some(10), open_questions: Some(1), ..Quota::default() };
    let usage = |gates, bytes, questions| QuotaUsage { gates, bytes, questions, ..QuotaUsage::default() };
    let too_many = |what, limit| Err(Refusal::TooManyOpen { what, limit });
    assert_eq!(quota.allows_gate(&by(Role::Agent), usage(1, 4, 9), 6), Ok(()));
    assert_eq!(quota.allows_gate(&by(Role::Agent), usage(2, 0, 0), 0), too_many("pending gates", 2));
    assert_eq!(quota.allows_gate(&by(Role::Agent), usage(1, 5, 0), 6), too_many("bytes in pending gates", 10));
    // Whoever has too much already may still ask without adding to it.
    assert_eq!(quota.allows_gate(&by(Role::Agent), usage(1, 50, 0), 0), Ok(()));
    assert_eq!(quota.allows_question(&by(Role::Agent), usage(9, 9, 0)), Ok(()));
    assert_eq!(quota.allows_question(&by(Role::Agent), usage(0, 0, 1)), too_many("open questions", 1));
    let quota = Quota { open_runs: Some(3), ..quota };
    assert_eq!(quota.allows_run(&by(Role::Agent), QuotaUsage { runs: 2, ..usage(9, 9, 9) }), Ok(()));
    let three = QuotaUsage { runs: 3, ..QuotaUsage::default() };
    assert_eq!(quota.allows_run(&by(Role::Agent), three), too_many("runs that are not over", 3));
    let (quota, two) = (Quota { standing_halts: Some(2), ..quota }, QuotaUsage { halts: 2, ..QuotaUsage::default() });
    for role in [Role::Agent, Role::Reviewer, Role::Viewer] {
        assert_eq!(quota.allows_halt(&by(role), QuotaUsage { halts: 1, ..two }), Ok(()));
        assert_eq!(quota.allows_halt(&by(role), two), too_many("standing halts", 2));
    }
    assert_eq!(quota.allows_halt(&by(Role::Admin), two), Ok(()));
    for role in [Role::Reviewer, Role::Admin] {
        assert_eq!(quota.allows_gate(&by(role), usage(9, 99, 9), 99), Ok(()));
        assert_eq!(quota.allows_question(&by(role), usage(9, 99, 9)), Ok(()));
        assert_eq!(quota.allows_run(&by(role), three), Ok(()));
    }
    assert_eq!(Quota::default().allows_gate(&by(Role::Agent), usage(9, 99, 9), 99), Ok(()));
    assert_eq!(Quota::default().of_gates(&by(Role::Agent)), None, "nothing needs to be counted");
}
