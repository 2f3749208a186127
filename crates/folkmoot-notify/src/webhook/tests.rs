use super::*;

/// The example of the format's own documentation.
#[test]
fn a_signature_is_the_one_that_the_format_shows() {
    let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a secret");
    let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
    assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

#[test]
fn a_secret_is_read_as_it_is_written_and_never_printed() {
    let secret = WebhookSecret::new([7; 32]);
    let written = secret.reveal();
    assert_eq!(WebhookSecret::parse(&format!(" {written}\n")).expect("the same").0, secret.0);
    assert_eq!(format!("{secret:?}"), "…");
    for wrong in [
        "",
        "whsec_",
        "whsec_AAAA",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_!!!!",
        &format!("whsec_{}", "A".repeat(100)),
    ] {
        assert!(WebhookSecret::parse(wrong).expect_err(wrong).contains("openssl rand"));
    }
}
