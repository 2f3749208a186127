use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::RetryAdvice;

fn read(text: &str) -> Result<Channels, String> {
    #[derive(serde::Deserialize)]
    struct File {
        #[serde(default)]
        notify: Notify,
        #[serde(default)]
        channels: BTreeMap<String, settings::ChannelSettings>,
    }
    let file: File = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    let programs: Arc<dyn Programs> = Arc::new(crate::desktop::tests::Tools);
    Channels::new(&file.notify, &file.channels, &programs)
}

#[test]
fn a_mistake_is_said_with_the_channel_and_what_to_do() {
    for (text, why) in [
        ("kind = \"pigeon\"", "is not one of webhook, slack, mail, desktop"),
        ("kind = \"slack\"\ncolour = 1", "unknown field `colour`"),
        ("kind = \"slack\"", "[channels.ops]: `url_env` or `url_file` is missing"),
        (
            "kind = \"slack\"\nurl = \"https://hooks.slack.com/services/T0/B0/geheim\"",
            "[channels.ops]: Slack's `url` is a secret",
        ),
        ("kind = \"slack\"\nurl_env = \"A\"\nurl_file = \"b\"", "keep one of them"),
        ("kind = \"slack\"\nurl_env = \"A\"\nto = [\"a@example.org\"]", "`to` is for the kind \"mail\""),
        ("kind = \"webhook\"\nsecret_env = \"A\"", "`url` is missing"),
        ("kind = \"webhook\"\nurl = \"https://example.org\"", "`secret_env` or `secret_file` is missing"),
        ("kind = \"webhook\"\nurl = \"https://example.org\"\nsecret = \"geheim\"", "`secret` has no place in a file"),
        ("kind = \"webhook\"\nurl = \"https://127.0.0.1/\"\nsecret_env = \"A\"", "127.0.0.1 is a loopback address"),
        ("kind = \"mail\"\nfrom = \"a@example.org\"\nto = [\"b@example.org\"]", "`server` is missing"),
        (
            "kind = \"mail\"\nserver = \"smtp:99999\"\nfrom = \"a@example.org\"\nto = [\"b@example.org\"]",
            "is no mail server",
        ),
        (
            "kind = \"mail\"\nserver = \"s\"\nfrom = \"nobody\"\nto = [\"b@example.org\"]",
            "`from`: \"nobody\" is no mail address",
        ),
        ("kind = \"mail\"\nserver = \"s\"\nfrom = \"a@example.org\"", "`to` is missing"),
        (
            "kind = \"mail\"\nserver = \"s\"\nfrom = \"a@example.org\"\nto = [\"b\\r\\nBcc: c@example.org\"]",
            "is no mail address",
        ),
        (
            "kind = \"mail\"\nserver = \"s\"\nfrom = \"a@example.org\"\nto = [\"b@example.org\"]\nusername = \"x\"",
            "`password_env` or",
        ),
        (
            "kind = \"mail\"\nserver = \"s\"\nfrom = \"a@example.org\"\nto = [\"b@example.org\"]\npassword = \"geheim\"",
            "`password` has no place",
        ),
        ("kind = \"desktop\"\nevents = [\"Gate Opened\"]", "is no type of events"),
        ("kind = \"desktop\"\nevents = [\"gate\"]", "is no type of events"),
        ("kind = \"desktop\"\nevents = [\"gate.open\"]", "there are gate.opened, "),
    ] {
        let said = read(&format!("[channels.ops]\n{text}")).expect_err(text);
        assert!(said.contains(why) && !said.contains("geheim"), "{text:?} gave {said:?}");
    }
    for (text, why) in [
        ("allow = [\"10.0.0.0/40\"]", "[notify]: `allow`"),
        ("public_url = \"folkmoot.example.org\"", "[notify]: `public_url`"),
        ("ca_file = \"/nowhere/ca.pem\"", "cannot be used as ca_file"),
    ] {
        let said = read(&format!("[notify]\n{text}")).expect_err(text);
        assert!(said.contains(why), "{text:?} gave {said:?}");
    }
}

#[tokio::test]
async fn a_secret_that_is_not_there_stops_the_channel_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let exposed = folder.path().join("secret");
    std::fs::write(&exposed, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    std::fs::set_permissions(&exposed, std::fs::Permissions::from_mode(0o644)).unwrap();
    let text = format!(
        "[channels.a]\nkind = \"slack\"\nurl_env = \"FOLKMOOT_TEST_NOT_SET\"\nevents = [\"gate.*\"]\n
         [channels.b]\nkind = \"webhook\"\nurl = \"https://example.org/\"\nsecret_file = {exposed:?}\nevents = [\"gate.opened\", \"question.asked\"]\n"
    );
    let channels = read(&text).expect("the configuration is right");
    let problems: Vec<_> = channels.list().into_iter().map(|listed| listed.problem.expect("a problem")).collect();
    assert!(problems[0].contains("FOLKMOOT_TEST_NOT_SET") && problems[1].contains("chmod 600"), "{problems:?}");
    let message = Notification {
        id: "d-1".into(),
        kind: "gate.opened".into(),
        at: String::new(),
        data: serde_json::Value::Null,
        title: String::new(),
        text: String::new(),
        facts: Vec::new(),
        link: None,
        thread: None,
    };
    let now = Timestamp::from_micros(0);
    assert_eq!(channels.send("a", &message, now).await.expect_err("no secret").again, RetryAdvice::Later);
    let unknown = channels.send("nobody", &message, now).await.expect_err("no such channel");
    assert_eq!((unknown.again, unknown.reason.contains("[channels.nobody]")), (RetryAdvice::Never, true));
    let subscriptions = channels.subscriptions();
    let events = |at: usize| subscriptions[at].events.iter().map(|pattern| pattern.as_str()).collect::<Vec<_>>();
    assert_eq!((subscriptions[0].channel.as_str(), events(0)), ("a", vec!["gate.*"]));
    assert_eq!((subscriptions[1].channel.as_str(), events(1)), ("b", vec!["gate.opened", "question.asked"]));
}
