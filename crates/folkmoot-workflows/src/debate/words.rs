//! Answers as people read them.

use folkmoot_core::debate::TurnPart;
use serde_json::Value;

/// An answer of the form that was asked for, in words.
pub(super) fn words(part: TurnPart, value: &Value) -> String {
    let text = |name: &str| value[name].as_str().map(str::trim).unwrap_or_default();
    let lines = |name: &str, none: &str, line: &dyn Fn(usize, &Value) -> String| {
        let lines: Vec<String> =
            value[name].as_array().into_iter().flatten().enumerate().map(|(at, item)| line(at + 1, item)).collect();
        if lines.is_empty() { none.to_owned() } else { lines.join("\n") }
    };
    let within = |item: &Value, name: &str| item[name].as_str().map(str::trim).unwrap_or_default().to_owned();
    match part {
        TurnPart::Clarify => lines("questions", "Nothing is unclear.", &|_, item| {
            format!("({}) {}", within(item, "category"), within(item, "question"))
        }),
        TurnPart::ClarifyAnswer => lines("answers", "No answer.", &|_, item| within(item, "answer")),
        TurnPart::Plan => lines("tasks", "No tasks.", &|at, item| format!("{at}. {}", within(item, "title"))),
        TurnPart::Reflect => {
            format!("{} {} Change: {}", text("root_cause"), text("what_went_wrong"), text("what_to_change"))
        }
        TurnPart::Critique => lines("points", "Nothing to say against the answers.", &|_, item| {
            let evidence = within(item, "evidence");
            let evidence = if evidence.is_empty() { "unchecked".to_owned() } else { evidence };
            format!("Answer {}: {} ({evidence})", item["answer"], within(item, "point"))
        }),
        TurnPart::Review => lines("scores", "No scores.", &|_, item| {
            format!("Answer {}: {}, {}", item["answer"], item["score"], within(item, "reason"))
        }),
        TurnPart::Attack => lines("findings", "Nothing new was found.", &|_, item| {
            format!("{}: {} {}", within(item, "severity"), within(item, "title"), within(item, "description"))
        }),
        TurnPart::Ballot => {
            let ranking: Vec<&str> =
                value["ranking"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            format!("{}, because of {}{}", ranking.join(" before "), text("evidence"), objection(text("objection")))
        }
        TurnPart::Endorse => {
            let stands = if value["endorse"].as_bool() == Some(true) { "Yes" } else { "No" };
            format!("{stands}, because of {}{}", text("evidence"), objection(text("objection")))
        }
        TurnPart::Draft
        | TurnPart::Refine
        | TurnPart::Proposal
        | TurnPart::Revise
        | TurnPart::Optimization
        | TurnPart::Defence => {
            match (text("summary"), text("code")) {
                // What is compared with others' is what people read first.
                (summary, "") => [text("position"), summary]
                    .into_iter()
                    .filter(|text| !text.is_empty())
                    .collect::<Vec<_>>()
                    .join("\n\n"),
                ("", code) => format!("```\n{code}\n```"),
                (summary, code) => format!("{summary}\n\n```\n{code}\n```"),
            }
        }
    }
}

fn objection(text: &str) -> String {
    if text.is_empty() { ".".to_owned() } else { format!(". Objection: {text}") }
}
