use super::*;

fn refused(kind: token::Kind, claimed: Option<Presence>, demanded: Option<Presence>) -> Option<Presence> {
    match Shown::new(kind, claimed).must_decide(demanded) {
        Ok(()) => None,
        Err(Refusal::PresenceRequired { demanded, .. }) => Some(demanded),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_personal_token_decides_only_at_a_terminal() {
    assert_eq!(refused(token::Kind::Personal, None, None), Some(Presence::Terminal));
    assert_eq!(refused(token::Kind::Personal, Some(Presence::Terminal), None), None);
    assert_eq!(refused(token::Kind::Minted, None, None), None, "a script decides with a token that was made for it");
}

#[test]
fn nobody_claims_more_than_a_terminal() {
    for claimed in [Presence::Page, Presence::Passphrase, Presence::Passkey] {
        assert_eq!(Shown::new(token::Kind::Minted, Some(claimed)).presence(), Presence::Token);
        assert_eq!(refused(token::Kind::Personal, Some(claimed), None), Some(Presence::Terminal));
    }
    assert_eq!(Shown::new(token::Kind::Protected, None).presence(), Presence::Passphrase);
}

#[test]
fn what_the_configuration_demands_binds_every_kind_of_token() {
    let demanded = Some(Presence::Passphrase);
    for kind in [token::Kind::Minted, token::Kind::Personal] {
        assert_eq!(refused(kind, Some(Presence::Terminal), demanded), demanded);
    }
    assert_eq!(refused(token::Kind::Protected, None, demanded), None);
    // A demand never makes it easier than the kind of token does.
    assert_eq!(refused(token::Kind::Personal, None, Some(Presence::Token)), Some(Presence::Terminal));
}

#[test]
fn a_token_that_only_reads_does_nothing_else() {
    let reading = Shown::new(token::Kind::Reading, Some(Presence::Terminal));
    assert_eq!(refused(token::Kind::Reading, Some(Presence::Terminal), None), Some(Presence::Passphrase));
    let cancel = Action::CancelRun { run: "run-1".parse().unwrap(), reason: String::new() };
    assert!(reading.must_allow(&cancel).is_err());
}
