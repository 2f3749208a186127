use super::*;

fn refused(kind: TokenKind, claimed: Option<Presence>, demanded: Option<Presence>) -> Option<Presence> {
    match PresenceClaim::new(kind, claimed).must_decide(demanded) {
        Ok(()) => None,
        Err(Refusal::PresenceRequired { demanded, .. }) => Some(demanded),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_personal_token_decides_only_at_a_terminal() {
    assert_eq!(refused(TokenKind::Personal, None, None), Some(Presence::Terminal));
    assert_eq!(refused(TokenKind::Personal, Some(Presence::Terminal), None), None);
    assert_eq!(refused(TokenKind::Minted, None, None), None, "a script decides with a token that was made for it");
}

#[test]
fn nobody_claims_more_than_a_terminal() {
    for claimed in [Presence::Page, Presence::Passphrase, Presence::Passkey] {
        assert_eq!(PresenceClaim::new(TokenKind::Minted, Some(claimed)).presence(), Presence::Token);
        assert_eq!(refused(TokenKind::Personal, Some(claimed), None), Some(Presence::Terminal));
    }
    assert_eq!(PresenceClaim::new(TokenKind::Protected, None).presence(), Presence::Passphrase);
}

#[test]
fn what_the_configuration_demands_binds_every_kind_of_token() {
    let demanded = Some(Presence::Passphrase);
    for kind in [TokenKind::Minted, TokenKind::Personal] {
        assert_eq!(refused(kind, Some(Presence::Terminal), demanded), demanded);
    }
    assert_eq!(refused(TokenKind::Protected, None, demanded), None);
    // A demand never makes it easier than the kind of token does.
    assert_eq!(refused(TokenKind::Personal, None, Some(Presence::Token)), Some(Presence::Terminal));
}

#[test]
fn a_token_that_only_reads_does_nothing_else() {
    let reading = PresenceClaim::new(TokenKind::Reading, Some(Presence::Terminal));
    assert_eq!(refused(TokenKind::Reading, Some(Presence::Terminal), None), Some(Presence::Passphrase));
    let cancel = Action::Run(crate::run::Action::Cancel { run: "run-1".parse().unwrap(), reason: String::new() });
    assert!(reading.must_allow(&cancel).is_err());
}
