//! The final plan as named entities: one for each of its sections.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A section of a final plan. Later plans find it by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// Unique in its plan.
    pub name: String,
    /// The heading, as it is in the plan.
    pub title: String,
    /// Everything under the heading, as Markdown.
    pub text: String,
}

/// The most sections of a plan. Nobody reads a plan with more.
const SECTIONS_MAX: usize = 100;
const SUMMARY: &str = "executive_summary_report";
const IMPLEMENTATION: &str = "detailed_implementation_plan";

/// The sections of a final plan. Each begins with a line that starts with `## `. Returns an error,
/// in words for the author, if the executive summary or the implementation plan is missing or
/// empty, or if there are too many sections.
pub fn entities(plan: &str) -> Result<Vec<Entity>, String> {
    let mut entities: Vec<Entity> = Vec::new();
    let mut fence = None;
    for line in plan.lines() {
        match line.strip_prefix("## ").filter(|_| fence.is_none()) {
            Some(title) => {
                let title = title.trim().trim_end_matches('#').trim();
                entities.push(Entity { name: name(title), title: title.to_owned(), text: String::new() });
            }
            None => {
                if let Some(entity) = entities.last_mut() {
                    entity.text.push_str(line);
                    entity.text.push('\n');
                }
            }
        }
        fence = after(fence, line);
    }
    for entity in &mut entities {
        entity.text = entity.text.trim().to_owned();
    }
    entities.retain(|entity| !entity.text.is_empty());
    if entities.len() > SECTIONS_MAX {
        return Err(format!("there are {} sections; write at most {SECTIONS_MAX}", entities.len()));
    }
    for (needed, title) in [(SUMMARY, "Executive summary"), (IMPLEMENTATION, "Implementation plan")] {
        if entities.iter().all(|entity| entity.name != needed) {
            return Err(format!("there is no section `## {title}` with a text under it"));
        }
    }
    tell_apart(&mut entities);
    Ok(entities)
}

/// The mark of the code block that is open after `line`, if any. A heading inside a code block does
/// not count.
fn after(fence: Option<&'static str>, line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
    match (fence, mark) {
        (Some(open), Some(mark)) if open == mark => None,
        (Some(open), _) => Some(open),
        (None, mark) => mark,
    }
}

/// The title in lower case, with `_` between its words.
fn name(title: &str) -> String {
    let lower = title.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    // Leading numbers are skipped, because headings are often numbered.
    let words: Vec<&str> = words.skip_while(|word| word.bytes().all(|byte| byte.is_ascii_digit())).collect();
    match words.join("_").as_str() {
        "" => "section".to_owned(),
        "executive_summary" | "summary" => SUMMARY.to_owned(),
        "implementation_plan" | "detailed_plan" => IMPLEMENTATION.to_owned(),
        name => name.chars().take(64).collect(),
    }
}

/// Numbers sections that would have the same name.
fn tell_apart(entities: &mut [Entity]) {
    let mut taken = BTreeSet::new();
    for entity in entities {
        let mut name = entity.name.clone();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{}_{number}", entity.name);
        }
        entity.name = name;
    }
}
