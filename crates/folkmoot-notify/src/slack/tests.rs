use super::*;

fn message() -> Notification {
    Notification {
        id: "d-1".into(),
        kind: "gate.opened".into(),
        at: "2026-01-31T12:00:00Z".into(),
        data: Value::Null,
        title: "Deploy <!channel> & go\nnow".into(),
        text: "See <https://evil.example|https://good.example> *and* <@U123>".into(),
        facts: vec![("Risk".into(), "high".into()), ("Asked by".into(), "bot\n<!here>".into())],
        link: Some(NotificationLink::Page("https://folkmoot.example.org/gates/g|1>".into())),
        thread: None,
    }
}

#[test]
fn agents_text_mentions_nobody_and_forges_no_link() {
    let told = blocks(&message());
    assert_eq!(told["text"], "Deploy &lt;!channel&gt; &amp; go now");
    let mut of_markup = Vec::new();
    fn collect(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "mrkdwn") => {
                found.push(fields["text"].as_str().expect("text").to_owned());
            }
            Value::Object(fields) => fields.values().for_each(|value| collect(value, found)),
            Value::Array(items) => items.iter().for_each(|value| collect(value, found)),
            _ => {}
        }
    }
    collect(&told["blocks"], &mut of_markup);
    assert_eq!(
        of_markup,
        ["<https://folkmoot.example.org/gates/g%7C1&gt;|Open in Folkmoot>"],
        "only our own link is markup"
    );
    let fields = &told["blocks"][2]["fields"];
    assert_eq!(fields[1], serde_json::json!({"type": "plain_text", "text": "Asked by\nbot <!here>", "emoji": false}));
}

#[test]
fn long_text_stays_within_what_slack_takes() {
    let long = "x".repeat(10_000);
    let mut message = message();
    (message.title, message.text) = (long.clone(), long.clone());
    message.facts = (0..30).map(|at| (format!("fact {at}"), long.clone())).collect();
    message.link = Some(NotificationLink::Command("folkmoot approve g-1".into()));
    let told = blocks(&message);
    let chars = |value: &Value| value.as_str().expect("text").chars().count();
    assert!(chars(&told["blocks"][0]["text"]["text"]) <= 150);
    assert!(chars(&told["blocks"][1]["text"]["text"]) <= 3000);
    let fields = told["blocks"][2]["fields"].as_array().expect("fields");
    assert!(fields.len() <= 10 && fields.iter().all(|field| chars(&field["text"]) <= 2000));
    assert_eq!(told["blocks"][3]["text"]["text"], "In a terminal: folkmoot approve g-1");
}
