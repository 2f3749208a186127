use super::*;

fn read(text: &str) -> Result<ModelSettings, String> {
    let settings: ModelSettings = toml::from_str(text).map_err(|error| error.to_string())?;
    settings.check().map(|()| settings)
}

#[test]
fn everything_that_can_be_said() {
    let settings = read(
        r#"
        provider = "work"

        [providers.work]
        kind = "openai"
        base_url = "https://models.example.com/v1"
        key_env = "WORK_KEY"
        model = "large"
        fallback = ["local/small", "rehearsal"]
        concurrency = 2
        attempts = 1
        timeout_ms = 60000
        silence_ms = 20000
        answer_bytes = 100000

        [providers.local]
        kind = "ollama"

        [providers.cli]
        kind = "command"
        command = ["claude", "-p"]
        environment = ["ANTHROPIC_API_KEY"]

        [models.large]
        input_usd = 2.5
        output_usd = 10

        [budget]
        tokens = 1000000
        usd = 5.5
        "#,
    )
    .unwrap();
    assert_eq!(settings.providers["work"].patience().concurrency, 2);
    assert_eq!(settings.budget.budget(), Ok(Budget { tokens: Some(1_000_000), usd_micros: Some(5_500_000) }));
}

#[test]
fn what_is_wrong_says_what_to_do() {
    let cases = [
        (
            "[providers.a]\nkind = 'openai'\nkey = 'sk-secret'",
            "[providers.a] has a `key`; a key does not belong in this file",
        ),
        (
            "[providers.a]\nkind = 'openai'\nkey_env = 'A'\nkey_file = 'b'",
            "[providers.a] has both `key_env` and `key_file`",
        ),
        (
            "[providers.a]\nkind = 'openai'\nkey_env = 'sk-secret'",
            "[providers.a] has a `key_env` that is no name of a variable",
        ),
        ("[providers.a]\nkind = 'rehearsal'\nbase_url = 'http://x'", "which means nothing for the kind `rehearsal`"),
        ("[providers.a]\nkind = 'openai'\ncommand = ['x']", "`command`, which means nothing for the kind `openai`"),
        ("[providers.a]\nkind = 'command'", "needs `command`"),
        ("[providers.a]\nkind = 'replay'", "needs `file`"),
        ("[providers.a]\nkind = 'openai'\nbase_url = 'example.com'", "neither http:// nor https://"),
        ("[providers.a]\nkind = 'openai'\nattempts = 0", "attempts = 0"),
        ("[providers.a]\nkind = 'opnai'", "\"opnai\" is not one of openai, anthropic, gemini"),
        ("[providers.'a b']\nkind = 'openai'", "a name has at most 64 letters"),
        ("[budget]\nusd = -1.0", "[budget] usd is -1"),
        ("[models.m]\ninput_usd = nan\noutput_usd = 1.0", "input_usd is NaN"),
        ("[providers.a]\nkind = 'openai'\nmodle = 'x'", "unknown field `modle`"),
    ];
    for (text, expected) in cases {
        let error = read(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("sk-secret"), "{error}");
    }
}

#[tokio::test]
async fn no_time_is_so_long_that_no_clock_shows_it() {
    let of = |field: &str| read(&format!("[providers.p]\nkind = \"rehearsal\"\n{field} = {}", i64::MAX));
    for field in ["timeout_ms", "silence_ms"] {
        let why = of(field).unwrap_err();
        assert!(why.contains(&format!("has {field} = {}; at most 86400000, a day", i64::MAX)), "{why}");
    }
    // And who makes one without the configuration waits for as long as there are clocks.
    let patience = crate::guard::RetryPolicy { total: Duration::MAX, ..Default::default() };
    let guard = crate::guard::Guard::new("p", patience);
    let model = crate::guard::GuardedModel {
        model: std::sync::Arc::new(crate::Rehearsal),
        name: "p".to_owned(),
        guard,
        price: None,
    };
    assert!(crate::Model::ask(&model, &crate::ModelRequest::new("?"), &mut ()).await.is_ok());
}
