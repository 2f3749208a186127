//! What an iteration produced, and how much that is. Only what is really there is counted.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The result of one iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Iteration {
    /// In one line.
    pub title: String,
    /// The complete text, as Markdown.
    pub text: String,
    /// The most important first.
    pub insights: Vec<String>,
    /// Ways of thinking about the goal that were made or improved.
    pub frameworks: Vec<String>,
    /// Facts and figures.
    pub data_points: Vec<String>,
}

/// An iteration as people are shown it: its number, and its result or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedIteration {
    /// Counted from 1.
    pub number: u32,
    /// The result, or why there is none.
    pub gave: Result<Iteration, String>,
}

impl Iteration {
    /// The complete result, as people and the next iterations read it.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}\n\n", self.text.trim());
        let lists =
            [("Insights", &self.insights), ("Frameworks", &self.frameworks), ("Data points", &self.data_points)];
        for (name, items) in lists.into_iter().filter(|(_, items)| !items.is_empty()) {
            let items: String = items.iter().map(|item| format!("- {}\n", item.trim())).collect();
            text.push_str(&format!("### {name}\n\n{items}\n"));
        }
        text
    }

    /// Whether it has the same text as an earlier iteration.
    pub fn repeats(&self, earlier: &Self) -> bool {
        same(&self.text, &earlier.text)
    }
}

/// Ignores case and white space.
fn same(one: &str, other: &str) -> bool {
    words(one).eq(words(other))
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace().map(str::to_lowercase)
}

/// How much several iterations produced. Repeated items count once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationTotals {
    pub insights: usize,
    pub frameworks_evolved: usize,
    pub data_points_collected: usize,
}

impl IterationTotals {
    pub fn of<'a>(iterations: impl IntoIterator<Item = &'a Iteration> + Clone) -> Self {
        let count = |of: fn(&Iteration) -> &Vec<String>| {
            let said = iterations.clone().into_iter().flat_map(of);
            said.map(|text| words(text).collect::<Vec<_>>()).collect::<BTreeSet<_>>().len()
        };
        Self {
            insights: count(|iteration| &iteration.insights),
            frameworks_evolved: count(|iteration| &iteration.frameworks),
            data_points_collected: count(|iteration| &iteration.data_points),
        }
    }
}

/// What people read at a checkpoint: the complete results of the iterations in `shown`, and the
/// totals of all iterations so far.
pub fn summary(shown: &[NumberedIteration], tally: IterationTotals, total: u32) -> String {
    let mut text = String::new();
    for NumberedIteration { number, gave } in shown {
        match gave {
            Ok(iteration) => {
                text.push_str(&format!("## Iteration {number}: {}\n\n{}", iteration.title, iteration.markdown()));
            }
            Err(why) => text.push_str(&format!("## Iteration {number} gave nothing\n\n{why}\n\n")),
        }
    }
    let last = shown.last().map_or(0, |shown| shown.number);
    text.push_str(&format!(
        "After {last} of {total} iterations: {}, {}, {}.\n",
        counted(tally.insights, "insight"),
        counted(tally.frameworks_evolved, "framework"),
        counted(tally.data_points_collected, "data point"),
    ));
    text
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
