use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

use super::*;
use crate::{FailureKind, ModelRequest};

fn no_command(name: &str, _: &ProviderSettings) -> Result<Arc<dyn Model>, ModelFailure> {
    Err(ModelFailure::new(name, FailureKind::Misconfigured, "not here"))
}

fn models(text: &str, variables: &[(&str, &str)]) -> Result<Models, String> {
    let variables: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let settings = toml::from_str(text).map_err(|error: toml::de::Error| error.to_string())?;
    let variable = |name: &str| match name {
        "OLLAMA_HOST" => Some(variables.get(name).cloned().unwrap_or_else(|| "127.0.0.1:1".to_owned())),
        name => variables.get(name).cloned(),
    };
    Models::new(settings, variable, no_command)
}

fn chosen(text: &str, variables: &[(&str, &str)], named: Option<&str>) -> String {
    models(text, variables).unwrap().choose(named).unwrap().provider
}

#[test]
fn whoever_is_named_first_is_asked() {
    let key = ("OPENAI_API_KEY", "sk-something-secret");
    let work = "provider = 'work'\n[providers.work]\nkind = 'rehearsal'";
    assert_eq!(chosen("", &[], None), "rehearsal");
    assert_eq!(chosen("", &[("GEMINI_API_KEY", "k")], None), "gemini");
    assert_eq!(chosen("", &[("ANTHROPIC_API_KEY", "k"), ("GEMINI_API_KEY", "k")], None), "anthropic");
    assert_eq!(chosen("", &[key, ("ANTHROPIC_API_KEY", "k")], None), "openai");
    assert_eq!(chosen("[providers.only]\nkind = 'rehearsal'", &[key], None), "only");
    assert_eq!(chosen(work, &[key], None), "work");
    assert_eq!(chosen(work, &[key, ("FOLKMOOT_PROVIDER", "openai")], None), "openai");
    assert_eq!(chosen(work, &[key, ("FOLKMOOT_PROVIDER", "openai")], Some("rehearsal")), "rehearsal");
    // An empty variable is none.
    assert_eq!(chosen("", &[("OPENAI_API_KEY", "  ")], None), "rehearsal");
}

#[tokio::test]
async fn a_server_that_merely_listens_is_proposed_and_never_chosen() {
    let server = MockServer::start().await;
    let tags = |body: &str| {
        Mock::given(method("GET"))
            .and(path("/api/tags"))
            .respond_with(ResponseTemplate::new(200).set_body_raw(body, "application/json"))
    };
    tags(r#"{"models": []}"#).up_to_n_times(1).mount(&server).await;
    tags(r#"{"models": [{"name": "small"}]}"#).mount(&server).await;
    let host = server.address().to_string();
    let models = models("", &[("OLLAMA_HOST", &host)]).unwrap();
    let found = async || models.listening().await.into_iter().find(|found| found.provider == "ollama");
    assert_eq!(found().await, None, "it has no model");
    let expected = LocalModelServer {
        provider: "ollama".to_owned(),
        model: "small".to_owned(),
        base_url: format!("http://{host}"),
    };
    assert_eq!(found().await, Some(expected));
    assert_eq!(models.choose(None).unwrap().provider, "rehearsal");
    assert_eq!(models.choose(Some("ollama")).unwrap().provider, "ollama");
}

#[test]
fn whose_environment_lacks_a_key_is_said() {
    let known = |whose| models("", &[]).unwrap().of(whose).choose(Some("openai")).unwrap_err().detail;
    assert!(known(KeyOwner::Command).starts_with("set OPENAI_API_KEY to its key, or name another"));
    assert!(
        known(KeyOwner::Server)
            .starts_with("the server was started without OPENAI_API_KEY: start `folkmoot serve` again")
    );
}

#[test]
fn nobody_who_is_not_there_can_be_named() {
    let several = models("[providers.a]\nkind = 'rehearsal'\n[providers.b]\nkind = 'rehearsal'", &[]).unwrap();
    assert!(several.choose(None).unwrap_err().detail.ends_with("in folkmoot.toml (a, b)"));
    let without_a_key = models("", &[]).unwrap().choose(Some("openai")).unwrap_err();
    assert!(without_a_key.detail.starts_with("set OPENAI_API_KEY to its key"), "{without_a_key}");
    let failure = models("", &[]).unwrap().choose(Some("opnai")).unwrap_err();
    assert_eq!(failure.detail, "there is no provider \"opnai\"; there are llamacpp, ollama, rehearsal");
    let wrong = [
        ("provider = 'nobody'", "provider = \"nobody\": there is no provider"),
        ("[providers.a]\nkind = 'rehearsal'\nfallback = ['b']", "[providers.a] fallback \"b\": there is no provider"),
        ("[providers.a]\nkind = 'rehearsal'\nfallback = ['a']", "[providers.a] is its own fallback"),
    ];
    for (text, expected) in wrong {
        let error = models(text, &[]).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[tokio::test]
async fn a_fall_back_answers_when_nobody_is_there() {
    let text = "[providers.far]\nkind = 'openai'\nmodel = 'm'\nbase_url = 'http://127.0.0.1:1'\nattempts = 1\nfallback = ['rehearsal']";
    let model = models(text, &[]).unwrap().model("far", None).unwrap();
    let answer = model.ask(&ModelRequest::new("Merge intervals"), &mut ()).await.unwrap();
    assert_eq!(answer.provider, "rehearsal");
    assert_eq!((answer.failed[0].model.as_str(), answer.failed[0].failure.kind), ("far/m", FailureKind::Unreachable));
}

#[tokio::test]
async fn what_is_missing_is_listed_with_what_to_do_and_without_keys() {
    let text = "[providers.work]\nkind = 'openai'\nkey_env = 'WORK_KEY'\n[providers.other]\nkind = 'anthropic'\nkey_env = 'OTHER_KEY'";
    let models = models(
        text,
        &[
            ("OTHER_KEY", "sk-something-secret"),
            ("OPENAI_API_KEY", "sk-something-secret"),
            ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
        ],
    )
    .unwrap();
    let listed = models.list().await;
    let missing: BTreeMap<&str, Option<&str>> =
        listed.iter().map(|listed| (listed.name.as_str(), listed.missing.as_deref())).collect();
    assert_eq!(missing["work"], Some("the environment has no WORK_KEY: set it to the key"));
    assert_eq!(missing["other"], Some("no model is named: set `model`, or name one with the call"));
    assert_eq!(missing["rehearsal"], None);
    assert!(missing["openai"].unwrap().starts_with("http://127.0.0.1:1/v1 cannot be reached"), "{missing:?}");
    assert_eq!(missing["gemini"], Some("set GEMINI_API_KEY to its key"));
    assert!(missing["ollama"].unwrap().starts_with("nobody answers at http://127.0.0.1:1"), "{missing:?}");
    let model = models.model("openai", None).unwrap();
    assert!(!format!("{models:?}{listed:?}{model:?}").contains("something-secret"));
}

#[test]
fn the_dearest_of_a_chain_is_its_price() {
    let text = "
        [providers.a]\nkind = 'openai'\nmodel = 'cheap'\nfallback = ['b/dear', 'rehearsal']
        [providers.b]\nkind = 'ollama'
        [models.cheap]\ninput_usd = 1\noutput_usd = 9
        [models.dear]\ninput_usd = 5\noutput_usd = 6";
    let models = models(text, &[]).unwrap();
    let price =
        |input, output| Some(toml::from_str::<Price>(&format!("input_usd = {input}\noutput_usd = {output}")).unwrap());
    assert_eq!(models.price("a", None), price(5, 9));
    assert_eq!(models.price("b", None), None);
    assert_eq!(models.price("b/dear", None), price(5, 6));
}

#[test]
fn a_model_is_named_once_and_where_there_are_some() {
    let models = models("[providers.a]\nkind = 'openai'\nmodel = 'm'", &[]).unwrap();
    assert!(models.model("a/x", Some("y")).unwrap_err().detail.starts_with("two models are named, x and y"));
    assert!(models.model("rehearsal", Some("y")).unwrap_err().detail.contains("has no models to choose from"));
    assert!(models.model("a/", None).is_ok() && models.model("a/x", Some("x")).is_ok());
    assert_eq!(models.unpriced("a", None), ["m"]);
}

#[test]
fn ollamas_variable_is_read_as_ollama_reads_it() {
    let urls = ["0.0.0.0", "127.0.0.1:1", ":9", "box", "[::1]:5", "http://x:1"].map(ollama_url);
    let expected = [
        "http://127.0.0.1:11434",
        "http://127.0.0.1:1",
        "http://127.0.0.1:9",
        "http://box:11434",
        "http://[::1]:5",
        "http://x:1",
    ];
    assert_eq!(urls, expected);
}
