//! The only tool call of the rehearsal: it runs its own code on the tests that it knows.

use serde_json::{Map, Value, json};

use crate::{ModelRequest, Speaker};

/// The call, if it has written code, has called nothing yet, and has a tool for it.
pub(super) fn call(request: &ModelRequest, schema: &Value, material: &Map<String, Value>) -> Option<Value> {
    let writes = request.cue.as_ref().is_some_and(|cue| ["code", "proposal", "draft"].contains(&cue.part.as_str()));
    let has_called = request.messages.iter().any(|message| message.speaker == Speaker::Assistant);
    if !writes || has_called {
        return None;
    }
    let (language, code) = (material.get("language")?, material.get("code")?);
    let tools = schema.pointer("/properties/tool/enum").and_then(Value::as_array)?;
    if tools.iter().any(|tool| tool == "run_tests") {
        let tests = material.get("tests")?.as_array()?.iter().map(|test| {
            json!({ "name": test["name"], "category": test["category"], "difficulty": test["difficulty"], "code": test["code"] })
        });
        let tests: Vec<Value> = tests.collect();
        return Some(json!({
            "tool": "run_tests", "arguments": { "language": language, "solution": code, "tests": tests },
        }));
    }
    let can_execute = tools.iter().any(|tool| tool == "execute");
    can_execute.then(|| json!({ "tool": "execute", "arguments": { "language": language, "code": code } }))
}

/// Adds the call's result to the material. A failed call proves nothing, and the text says so.
pub(super) fn with_result(request: &ModelRequest, mut material: Map<String, Value>) -> Map<String, Value> {
    let called = request.messages.iter().any(|message| message.speaker == Speaker::Assistant);
    let summary = material.get("summary").and_then(Value::as_str).unwrap_or_default();
    if !called || material.get("code").is_none() {
        return material;
    }
    let heard = request.messages.last().map_or("", |message| message.text.as_str());
    // The result is one line of JSON. The call is another line without these fields.
    let told = heard.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).find_map(|told| {
        match (told["verdict"].as_str(), told["end"].as_str()) {
            (Some(_), _) => Some(format!("run_tests: {} of {} tests passed.", told["passed"], told["of"])),
            (None, Some(end)) => {
                let code = told["exit_code"].as_i64().map(|code| format!(", {code}")).unwrap_or_default();
                Some(format!("execute: {end}{code}."))
            }
            (None, None) => None,
        }
    });
    let told = told.unwrap_or_else(|| "It was not tested: the tool gave no result.".to_owned());
    material.insert("summary".to_owned(), json!(format!("{summary} {told}")));
    material
}
