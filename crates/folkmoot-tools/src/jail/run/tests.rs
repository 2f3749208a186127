use super::*;

#[test]
fn root_becomes_somebody_whom_no_account_owns() {
    let whole = "         0          0 4294967295\n";
    let user = |id| Some(User { uid: id, gid: id });
    assert_eq!(choose_user(whole, "root:x:0:0::/:/bin/sh", 4711), Ok(user(FIRST_ID + 4711)));
    assert_eq!(
        choose_user(whole, &format!("a:x:{}:0::/:/bin/sh", FIRST_ID + 4711), 4711),
        Ok(user(FIRST_ID_SMALL + 711))
    );
    assert_eq!(choose_user("0 100000 65536", "", 4711), Ok(user(FIRST_ID_SMALL + 711)));
}

#[test]
fn who_is_root_only_by_name_stays_who_it_is_and_real_root_never_does() {
    assert_eq!(choose_user("0 1000 1", "", 7), Ok(None));
    assert!(matches!(choose_user("0 0 1", "", 7), Err(JailError::NoJail(_))));
    assert!(matches!(choose_user("", "", 7), Err(JailError::NoJail(_))));
}

fn ended(code: Option<i32>, signal: Option<i32>) -> Ended {
    Ended {
        code,
        signal,
        cpu_us: 0,
        peak_bytes: 0,
        reached: Vec::new(),
        stopped: None,
        disk_full: false,
        kept: Vec::new(),
        changed: Vec::new(),
        removed: Vec::new(),
    }
}

#[test]
fn every_end_is_told_as_what_it_was() {
    let none = BTreeSet::new();
    let full = BTreeSet::from([Limit::Disk, Limit::Memory]);
    for (code, signal, reached, stopped, end) in [
        (Some(0), None, &none, None, End::Exited(0)),
        (Some(3), None, &none, None, End::Exited(3)),
        (None, Some(11), &none, None, End::Signalled(11)),
        (Some(0), None, &full, None, End::Exited(0)),
        (Some(1), None, &full, None, End::Limited(Limit::Memory)),
        (None, Some(9), &full, None, End::Limited(Limit::Memory)),
        (Some(0), None, &none, Some(Limit::Wall), End::Limited(Limit::Wall)),
    ] {
        assert_eq!(judge(Some(&ended(code, signal)), reached, stopped), Ok(end));
    }
    assert_eq!(judge(None, &full, None), Ok(End::Limited(Limit::Memory)));
    assert!(judge(None, &none, None).is_err());
}

#[test]
fn a_signal_of_a_limit_is_evidence_of_it() {
    let evidence = |signal| reached(Some(&ended(None, Some(signal))), &Taken::default(), None);
    assert_eq!(evidence(nix::libc::SIGXFSZ), BTreeSet::from([Limit::Disk]));
    assert_eq!(evidence(nix::libc::SIGXCPU), BTreeSet::from([Limit::Cpu]));
    assert_eq!(evidence(nix::libc::SIGSYS), BTreeSet::from([Limit::Syscall]));
    assert_eq!(evidence(nix::libc::SIGTERM), BTreeSet::new());
}
