use super::{PREVIOUS_FOR, URL_BYTES_MAX, check_url};
use crate::{
    Timestamp,
    transcript::{check, play},
};

#[test]
fn only_admins_make_change_and_remove_webhooks() {
    check(
        "
        09:00 bot hooks ops events=gate.*              → refused: role_may_not manage webhooks
        09:00 alice hooks ops events=gate.*            → refused: role_may_not manage webhooks
        09:00 ada hooks ops events=gate.*              → ops at https://example.com wants gate.*, secret 1
        09:01 alice rehooks ops url=https://b.example  → refused: role_may_not manage webhooks
        09:01 vera unhooks ops                         → refused: role_may_not manage webhooks
        09:01 vera unhooks unknown                     → refused: role_may_not manage webhooks
        09:02 ada rehooks ops url=https://b.example    → ops at https://b.example wants gate.*, secret 1
        09:04 ada rehooks ops disabled=true events=*   → ops at https://b.example wants *, secret 1, disabled
        09:05 ada rehooks ops disabled=true            → unchanged: ops at https://b.example wants *, secret 1, disabled
        09:06 ada unhooks ops                          → ops at https://b.example wants *, secret 1, disabled, removed
        09:07 ada unhooks ops                          → unchanged: ops at https://b.example wants *, secret 1, disabled, removed
        09:08 ada rehooks ops disabled=false           → refused: unknown_webhook
        09:08 ada unhooks another                      → refused: unknown_webhook
        ",
    );
}

#[test]
fn for_a_day_after_a_rotation_the_secret_before_counts_too() {
    check(
        "
        00:00 ada hooks ops events=*                  → ops at https://example.com wants *, secret 1
        00:00:01 ada rehooks ops rotate=key-1         → ops at https://example.com wants *, secret 2 and 1
        12:00 ada rehooks ops events=gate.*           → ops at https://example.com wants gate.*, secret 2 and 1
        13:00 ada rehooks ops rotate=key-1            → ops at https://example.com wants gate.*, secret 3 and 2
        14:00 alice rehooks ops rotate=key-1          → refused: role_may_not manage webhooks
        ",
    );
    let world = play("09:00 ada hooks ops events=*\n09:01 ada rehooks ops rotate=key-1");
    let webhook = world.webhooks.values().next().unwrap();
    let until = world.log[1].fact.at.plus(PREVIOUS_FOR);
    let signed_at =
        |micros: i64| webhook.generations(Timestamp::from_micros(until.as_micros() + micros)).collect::<Vec<_>>();
    assert_eq!((signed_at(-1), signed_at(0)), (vec![2, 1], vec![2]));
}

#[test]
fn a_secret_is_of_the_key_of_whoever_made_it_and_changes_it_with_a_rotation_alone() {
    check(
        "
        09:00 ada hooks ops events=* key=key-2        → ops at https://example.com wants *, secret 1 of key-2
        09:01 ada rehooks ops events=gate.*           → ops at https://example.com wants gate.*, secret 1 of key-2
        09:02 ada rehooks ops rotate=key-3            → ops at https://example.com wants gate.*, secret 2 of key-3
        09:03 ada rehooks ops rotate=key-3            → ops at https://example.com wants gate.*, secret 3 and 2 of key-3
        ",
    );
}

#[test]
fn of_the_channels_that_stand_one_has_a_name() {
    check(
        "
        channel mail
        09:00 ada hooks ops events=*             → ops at https://example.com wants *, secret 1
        09:01 ada hooks ops id=second events=*   → refused: channel_taken
        09:01 ada hooks mail events=*            → refused: channel_taken
        09:01 ada hooks system events=*          → refused: invalid name
        09:02 ada unhooks ops                    → ops at https://example.com wants *, secret 1, removed
        09:03 ada hooks ops id=second events=*   → ops at https://example.com wants *, secret 1
        ",
    );
}

#[test]
fn nobody_waits_for_events_that_there_are_not() {
    check(
        "
        09:00 ada hooks ops events=gate.opened,gate.open   → refused: invalid events
        09:00 ada hooks ops events=gate.opened             → ops at https://example.com wants gate.opened, secret 1
        09:01 ada rehooks ops events=halt.raise            → refused: invalid events
        09:01 ada rehooks ops events=halt.raised           → ops at https://example.com wants halt.raised, secret 1
        ",
    );
}

#[test]
fn each_change_is_in_the_log_as_the_webhook_then_is() {
    let world = play(
        "
        09:00 ada hooks ops events=*
        09:01 ada rehooks ops rotate=key-1
        09:02 ada unhooks ops
        ",
    );
    let webhook = world.webhooks.values().next().unwrap();
    let said = world.stream(&webhook.stream());
    let kinds: Vec<_> = said.iter().map(|event| (event.fact.stream_seq, &*event.fact.kind)).collect();
    assert_eq!(kinds, [(1, "webhook.created"), (2, "webhook.changed"), (3, "webhook.removed")]);
    assert_eq!(serde_json::from_str::<super::LoggedWebhook>(&said[2].fact.payload).unwrap(), webhook.logged());
}

#[test]
fn the_log_has_the_host_of_an_address_and_not_the_rest() {
    let world = play("09:00 ada hooks ops events=* url=https://hooks.example:8443/T0/secret?token=secret");
    let payload = &world.log[0].fact.payload;
    assert!(payload.contains(r#""host":"hooks.example:8443""#) && !payload.contains("secret"), "{payload}");
    assert!(world.webhooks.values().next().unwrap().url.ends_with("token=secret"), "the row has it all");
}

#[test]
fn an_address_is_one_that_can_be_spoken_to_and_holds_no_password() {
    let good = [
        "https://example.com",
        "http://127.0.0.1:8080/hook?x=1#y",
        "HTTPS://Example.com:1/",
        "http://[::1]:9000/hook",
        "https://user.example.com/a@b",
        "https://bücher.example/x",
    ];
    for url in good {
        assert_eq!(check_url(url), Ok(()), "{url}");
    }
    let bad = [
        "",
        "example.com",
        "ftp://example.com",
        "https://",
        "https:///path",
        "https://:80",
        "https://alice:secret@example.com",
        "https://alice@example.com",
        "https://example.com:0",
        "https://example.com:99999",
        "https://example.com:+80",
        "https://example.com:",
        "https://exa mple.com",
        "https://example.com/\n",
        "https://example.com\\@evil.example",
        "http://[::1",
        "http://[nothing]/",
        "http://[::1]x/",
        "https://%65xample.com",
    ];
    for url in bad {
        assert!(check_url(url).is_err(), "{url:?}");
    }
    let long = format!("https://example.com/{}", "x".repeat(URL_BYTES_MAX));
    assert!(check_url(&long).is_err() && check_url(&long[..URL_BYTES_MAX]).is_ok());
}
