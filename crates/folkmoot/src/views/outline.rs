//! JSON as text: the artifacts of debates in words, everything else one line per value.

use folkmoot_api::{
    core::Name,
    debate::{self as debate, agent::Share},
    wire::DebateVerdict,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{terminal::printable::one_line, views};

pub(crate) fn of(json: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(known) = known(json) {
        return known;
    }
    match json {
        Value::Array(items) => items.iter().map(of).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            let said = fields.iter().filter(|(_, value)| !value.is_null());
            said.map(|(name, value)| format!("{name}: {}", text(value))).collect::<Vec<_>>().join(", ")
        }
        other => text(other),
    }
}

/// The artifacts of a debate's gates that have their own view.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum ArtifactOutline {
    Answer { author: String, answer: String },
    Tests { author: Name, passed: u32, of: u32, failed: Vec<String> },
    Score { reviewer: Name, author: Name, score: Share, reason: String },
    Votes(Box<debate::DebateVerdict>),
}

fn known(json: &Value) -> Option<String> {
    Some(match ArtifactOutline::deserialize(json).ok()? {
        ArtifactOutline::Answer { author, answer } => format!("{author}:\n{answer}\n"),
        ArtifactOutline::Tests { author, passed, of, failed } => {
            let failed =
                if failed.is_empty() { String::new() } else { format!(", fails {}", one_line(&failed.join(", "))) };
            format!("{author}  {passed} of {of} pass{failed}")
        }
        ArtifactOutline::Score { reviewer, author, score, reason } => {
            format!("{reviewer} on {author}: {score} {}", one_line(&reason)).trim_end().to_owned()
        }
        ArtifactOutline::Votes(verdict) => votes(*verdict),
    })
}

/// The winner and the reason, each ballot, and the dissent.
fn votes(verdict: debate::DebateVerdict) -> String {
    let ballots: Vec<String> = verdict
        .ballots
        .iter()
        .map(|cast| match &cast.refused {
            None => format!("{}: {} ({})", cast.voter, views::debate::ranking(&cast.ranking), cast.confidence),
            Some(why) => format!("{}: does not count, {}", cast.voter, one_line(why)),
        })
        .collect();
    let dissent: Vec<String> = verdict
        .dissent
        .iter()
        .map(|dissent| {
            let prefers = dissent.prefers.as_ref().map_or_else(String::new, |name| format!(" (would take {name}'s)"));
            format!("against it, {}{prefers}: {}", dissent.agent, one_line(&dissent.objection))
        })
        .collect();
    let decision = views::debate::decision(&DebateVerdict::from(verdict));
    let decision = anstream::adapter::strip_str(&decision).to_string();
    [vec![decision], ballots, dissent].concat().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::of;

    #[test]
    fn what_a_debate_brings_to_a_gate_is_said_in_words() {
        let tests = json!([
            { "author": "critic-1", "passed": 4, "of": 4, "failed": [] },
            { "author": "proposer-1", "passed": 2, "of": 4, "failed": ["empty", "negative"] },
        ]);
        assert_eq!(of(&tests), "critic-1  4 of 4 pass\nproposer-1  2 of 4 pass, fails empty, negative");
        let scores = json!([{ "reviewer": "reviewer-1", "author": "critic-1", "score": 80, "reason": "short" }]);
        assert_eq!(of(&scores), "reviewer-1 on critic-1: 0.80 short");
        let answers = json!([{ "author": "critic-1", "answer": "Yes.\nAnd no." }]);
        assert_eq!(of(&answers), "critic-1:\nYes.\nAnd no.\n");
    }

    #[test]
    fn a_verdict_is_said_with_its_ballots_and_what_speaks_against_it() {
        let cast = |voter: &str, ranking: Value, refused: Value| {
            json!({
                "voter": voter, "ranking": ranking, "confidence": 60, "weight": 1, "evidence": "", "refused": refused
            })
        };
        let verdict = json!({
            "winner": "critic-1", "decided_by": "tests", "no_decision": null, "reason": "", "voting_method": "majority",
            "label": "majority", "confidence": 60, "consensus": 75, "rounds": 1, "effective_votes": 100, "elected": null,
            "ballots": [
                cast("critic-1", json!(["critic-1", "proposer-1"]), Value::Null),
                cast("tester-1", json!([]), json!("it names nobody")),
            ],
            "dissent": [{ "agent": "tester-1", "prefers": "proposer-1", "objection": "too long" }],
            "tests": [4, 4], "turns": { "answered": 7, "unparsed": 0, "failed": 0, "refused": 0 }
        });
        assert_eq!(
            of(&verdict),
            "critic-1's answer wins: by executed tests\nagreement 0.75 · confidence 0.60 · 4 of 4 tests pass\n\
             critic-1: critic-1 > proposer-1 (0.60)\ntester-1: does not count, it names nobody\n\
             against it, tester-1 (would take proposer-1's): too long"
        );
    }

    #[test]
    fn anything_else_is_a_line_each() {
        let other = json!([{ "author": "me", "passed": "all" }, "a text", 7]);
        assert_eq!(of(&other), "author: me, passed: all\na text\n7");
    }
}
