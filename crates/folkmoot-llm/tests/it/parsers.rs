//! Whatever a model or its vendor says is an answer or a failure.

use folkmoot_llm::{Replay, settings::ModelSettings, structured::SchemaValidator};
use folkmoot_mangle::{check, check_text};
use serde_json::json;

use crate::{
    server::{Server, Step, head},
    wire::vendor::{ALL, Vendor, ask, endpoint, hello},
};

#[test]
fn a_verdict_is_read_strictly_or_not_at_all() {
    let schema = json!({
        "type": "object", "required": ["verdict", "score"], "additionalProperties": false,
        "properties": { "verdict": { "enum": ["yes", "no"] }, "score": { "type": "number" }, "why": { "type": "array" } },
    });
    let shape = SchemaValidator::new(&schema).unwrap();
    let samples = [
        r#"{"verdict": "yes", "score": 0.5}"#,
        "```json\n{\"verdict\": \"no\", \"score\": 1, \"why\": [\"a\", [\"b\"]]}\n```",
        r#"Sure! {"verdict": "yes", "score": 1e2}"#,
    ];
    check_text("verdicts", &samples, |text| {
        if let Ok(value) = shape.read(text) {
            assert!(shape.check(&value).is_ok());
            assert!(value["verdict"] == "yes" || value["verdict"] == "no");
        }
    });
}

#[test]
fn a_schema_is_compiled_or_refused() {
    let samples = [
        r##"{"type":"object","$defs":{"a":{"type":"string","pattern":"^a+$"}},"properties":{"x":{"$ref":"#/$defs/a"}},"required":["x"]}"##,
        r#"{"anyOf":[{"type":"array","items":{"type":"integer"},"maxItems":3},{"const":null}]}"#,
    ];
    check_text("schemas", &samples, |text| {
        if let Ok(schema) = serde_json::from_str(text)
            && let Ok(shape) = SchemaValidator::new(&schema)
        {
            let _ = shape.read(r#"{"x": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"}"#);
        }
    });
}

fn stream(vendor: Vendor) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (good, whole) = (vendor.events().concat(), vendor.whole());
    check(&format!("the stream of {vendor:?}"), &[&good, whole], |bytes| {
        let script = vec![Step::Send(head(vendor.content_type())), Step::Send(bytes.to_vec())];
        let (result, _) = runtime.block_on(async {
            let server = Server::play(script).await;
            ask(vendor, endpoint(&server.url), &hello()).await
        });
        if let Ok(answer) = result {
            assert!(!answer.text.trim().is_empty());
        }
    });
}

#[test]
fn every_vendors_stream_is_an_answer_or_a_failure() {
    ALL.into_iter().for_each(stream);
}

#[test]
fn recordings_are_replayed_or_refused() {
    let samples = [r#"{"request":"sha256:0f","model":"m","outcome":{"Ok":{"text":"a","finish":"stop"}}}"#, "{}\n{}\n"];
    check("recordings", &samples, |bytes| drop(Replay::from_json_lines(bytes)));
}

#[test]
fn settings_are_used_or_refused() {
    let samples = [
        "provider = \"a\"\n[providers.a]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nkey_env = \"X\"\nmodel = \"m\"\n",
        "[models.\"m-1\"]\ninput_usd = 1.5\noutput_usd = 2\n[budget]\nrun_usd = 1\nday_usd = 1e3\n",
    ];
    check_text("settings of models", &samples, |text| {
        if let Ok(settings) = toml::from_str::<ModelSettings>(text) {
            let _ = (settings.check(), settings.budget.budget());
        }
    });
}
