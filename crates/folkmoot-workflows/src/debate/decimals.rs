//! Shares and scores as decimals, for people. Within Folkmoot shares are hundredths and scores are
//! tenths; people who read a table see 0.72, as over HTTP.

use serde_json::{Value, json};

/// The configuration of a debate. Shares that are decimals already stay as they are.
pub fn config(mut config: Value) -> Value {
    scale(&mut config["min_consensus"], 100.0);
    for agent in config["agents"].as_array_mut().into_iter().flatten() {
        scale(&mut agent["expertise"], 100.0);
        scale(&mut agent["confidence"], 100.0);
        scale(&mut agent["score"], 10.0);
    }
    config
}

/// The verdict of a debate.
pub(super) fn verdict(mut verdict: Value) -> Value {
    for share in ["confidence", "consensus", "effective_votes"] {
        scale(&mut verdict[share], 100.0);
    }
    for ballot in verdict["ballots"].as_array_mut().into_iter().flatten() {
        scale(&mut ballot["confidence"], 100.0);
    }
    if let Some([passed, of]) = verdict["tests"].as_array().map(Vec::as_slice) {
        verdict["tests"] = json!({ "passed": passed, "of": of });
    }
    verdict["fallback_used"] = json!(!verdict["elected"]["fallback"].is_null());
    verdict
}

fn scale(value: &mut Value, by: f64) {
    if let Some(whole) = value.as_u64() {
        *value = json!(whole as f64 / by);
    }
}
