//! The rehearsal's material for plans: one question per iteration, the same for every goal. It
//! invents no facts; what looks like one is marked as an assumption.

use serde_json::{Map, Value, json};

use super::{NOTICE, material::object};
use crate::Cue;

/// An iteration's topic, finding, framework and assumption.
struct RehearsedIteration {
    title: &'static str,
    insight: &'static str,
    framework: &'static str,
    assumed: &'static str,
}

macro_rules! questions {
    ($($title:literal, $insight:literal, $framework:literal, $assumed:literal;)+) => {
        &[$(RehearsedIteration { title: $title, insight: $insight, framework: $framework, assumed: $assumed }),+]
    };
}

/// One per possible iteration.
const QUESTIONS: &[RehearsedIteration] = questions![
    "Who it is for", "Whoever is helped first decides what comes first.", "Jobs to be done", "one group of people is reached in the first month";
    "The smallest first step", "The first step can be undone within a day.", "Reversible and irreversible choices", "the first step takes five days";
    "What could go wrong", "The dearest failure is one that is noticed late.", "Pre-mortem", "three risks are worth a measure of their own";
    "Who does what", "Nobody waits for more than one other person.", "Responsibility matrix", "four people work on it";
    "In which order", "Two of the steps can be done at the same time.", "Critical path", "the longest chain has six steps";
    "What it costs", "Most of the cost is people's time.", "Cost of delay", "a week of delay costs a tenth of the whole";
    "How success is seen", "One number is looked at every week.", "Leading and lagging measures", "the number moves within two weeks";
    "What is left out", "What is left out is written down, with a reason.", "Must, should, could, will not", "a third of the wishes is left out";
    "What others have done", "The nearest example did less, and did it sooner.", "Comparison with neighbours", "two comparable attempts are known";
    "What must be true", "The plan falls with its second assumption.", "Assumption mapping", "five assumptions carry the plan";
    "How it is tried out", "A trial with ten people answers the main question.", "Build, measure, learn", "ten people take part in a trial";
    "Where it depends on others", "Two things are bought rather than made.", "Make or buy", "two suppliers are needed";
    "How people are told", "Those concerned hear of it before the rest.", "Stakeholder map", "three groups are concerned";
    "What can be stopped", "After the second step it can still be stopped without loss.", "Stage gates", "two points to stop are set";
    "What the law asks", "One permission must be asked for early.", "Compliance checklist", "a permission takes four weeks";
    "How it is kept going", "It needs an hour a week once it runs.", "Total cost of ownership", "one hour a week";
    "If it goes very well", "Ten times as much breaks the third step first.", "Theory of constraints", "the third step holds ten times as much";
    "If it goes badly", "A smaller result is worth having, too.", "Fallback positions", "a third of the effect at a tenth of the cost";
    "What was learned", "The order of the steps was the question, not the steps.", "Double-loop learning", "two steps changed places";
    "What is decided when", "The last moment to decide is known for each choice.", "Last responsible moment", "four choices can wait";
];

/// All material for a plan at this point.
pub(super) fn material(cue: &Cue) -> Map<String, Value> {
    match cue.part.as_str() {
        "plan_iteration" => iteration(cue),
        "plan_synthesis" => object(json!({ "summary": synthesis(cue) })),
        _ => object(json!({ "summary": proposal(cue) })),
    }
}

fn goal(cue: &Cue) -> String {
    let line: String = cue.topic.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(200).collect()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn proposal(cue: &Cue) -> String {
    let iterations = usize::try_from(cue.given["iterations"].as_u64().unwrap_or(1)).unwrap_or(1);
    let questions: String = QUESTIONS
        .iter()
        .take(iterations)
        .enumerate()
        .map(|(at, question)| format!("{}. {}\n", at + 1, question.title))
        .collect();
    let feedback = texts(&cue.given["feedback"]);
    let heard = match feedback.last() {
        Some(last) => format!("Changed after what was said about the last proposal: {last}\n\n"),
        None => String::new(),
    };
    format!(
        "\n\nA plan for: {}\n\n{heard}Each iteration takes up one question:\n\n{questions}\nAssumed: whoever asks can stop at \
         every checkpoint.",
        goal(cue)
    )
}

fn iteration(cue: &Cue) -> Map<String, Value> {
    let number = usize::try_from(cue.attempt).unwrap_or(1).max(1);
    let question = &QUESTIONS[(number - 1) % QUESTIONS.len()];
    let strategy = texts(&cue.given["strategy"]);
    let course = match strategy.last() {
        Some(last) => format!(" Since the last checkpoint the course is: {last}"),
        None => String::new(),
    };
    object(json!({
        "title": question.title,
        "text": format!(
            "{NOTICE} The goal is: {}. {} This follows from looking at it as *{}*.{course}",
            goal(cue), question.insight, question.framework
        ),
        "insights": [question.insight],
        "frameworks": [question.framework],
        "data_points": [format!("assumed: {}", question.assumed)],
    }))
}

fn synthesis(cue: &Cue) -> String {
    let given: Vec<&Value> = cue.given["iterations"].as_array().into_iter().flatten().collect();
    let said = |at: &Value, key: &str| at[1][key].as_str().unwrap_or_default().to_owned();
    let all =
        |key: &str| -> Vec<String> { given.iter().flat_map(|at| texts(&at[1][key])).map(str::to_owned).collect() };
    let bullets = |items: Vec<String>| -> String { items.into_iter().map(|item| format!("- {item}\n")).collect() };
    let steps: String =
        given.iter().enumerate().map(|(at, given)| format!("{}. {}\n", at + 1, said(given, "title"))).collect();
    let mut plan = format!(
        "\n\n## Executive summary\n\nThe goal is: {}. This was found in {} iteration{}:\n\n{}\n## Implementation plan\n\n\
         {steps}\n",
        goal(cue),
        given.len(),
        if given.len() == 1 { "" } else { "s" },
        bullets(all("insights"))
    );
    let strategy = texts(&cue.given["strategy"]);
    if !strategy.is_empty() {
        let changes = bullets(strategy.into_iter().map(str::to_owned).collect());
        plan.push_str(&format!("## Changes of course\n\n{changes}\n"));
    }
    for (title, key) in [("Ways of looking at it", "frameworks"), ("Assumptions and figures", "data_points")] {
        let items = all(key);
        if !items.is_empty() {
            plan.push_str(&format!("## {title}\n\n{}\n", bullets(items)));
        }
    }
    plan
}
