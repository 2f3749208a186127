use crate::transcript::check;

#[test]
fn a_deadline_moves_later_and_never_earlier() {
    check(
        "
        09:00 bot opens a               → pending
        09:10 bot extends by=20m        → refused: deadline_not_later
        09:10 bot extends by=1s         → refused: deadline_not_later
        09:10 bot extends by=0s         → refused: invalid timeout_ms
        timer                           → 09:30:00
        09:10 bot extends by=1h         → pending
        timer                           → 10:10:00
        09:40 system expires            → unchanged: pending
        09:41 alice extends by=never    → pending
        timer                           → none
        09:42 ada extends by=never      → refused: deadline_not_later
        23:00 alice approves            → approved by alice, proceed
        log                             → opened, extended, extended, decided
        ",
    );
}

#[test]
fn whoever_opened_it_or_may_decide_gives_it_time() {
    check(
        "
        09:00 bot opens a            → pending
        09:01 elf extends by=1h      → refused: unknown_gate
        09:02 vera extends by=1h     → refused: role_may_not extend
        09:03 system extends by=1h   → refused: role_may_not extend a gate
        09:04 ada extends by=1h      → pending
        ",
    );
}

#[test]
fn what_is_over_gets_no_more_time() {
    check(
        "
        09:00 bot opens a            → pending
        09:30 alice extends by=1h    → refused: gate_overdue
        09:31 system expires         → timed_out by timeout, stop
        09:32 alice extends by=1h    → refused: gate_decided by timeout
        ",
    );
}

#[test]
fn votes_stay_when_a_gate_gets_more_time() {
    check(
        "
        09:00 bot opens a quorum=2   → pending
        09:01 alice approves         → pending, alice approve
        09:02 bot extends by=1h      → pending, alice approve
        10:01 bob approves           → approved by bob, proceed
        ",
    );
}
