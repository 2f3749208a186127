//! Divides the work into tasks, for everybody who answers.

use folkmoot_core::Name;
use folkmoot_debate::{
    TurnPart,
    planning::{PlannedTask, TaskPlan},
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{LINE_MAX, LIST_MAX, Part, whole};

pub(in super::super) struct PlanPart;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct PlanAnswer {
    #[schemars(length(min = 1, max = LIST_MAX))]
    tasks: Vec<PlanTask>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlanTask {
    #[schemars(with = "String", regex(pattern = ID))]
    id: Name,
    #[schemars(length(min = 1, max = LINE_MAX))]
    title: String,
    #[schemars(with = "Vec<String>", length(min = 0, max = LIST_MAX), inner(regex(pattern = ID)))]
    depends_on: Vec<Name>,
    #[serde(default, deserialize_with = "whole")]
    #[schemars(range(min = 0, max = 9))]
    priority: u8,
}

const ID: &str = "^[a-z][a-z0-9-]{0,39}$";

impl PlanAnswer {
    /// The tasks in an order in which they can be done, if there is one.
    pub fn tasks(&self) -> Result<TaskPlan, String> {
        let task = |PlanTask { id, title, depends_on, priority }: &PlanTask| PlannedTask {
            id: id.clone(),
            title: title.clone(),
            priority: *priority,
            depends_on: depends_on.clone(),
            agent: None,
        };
        TaskPlan::of(self.tasks.iter().map(task).collect()).map_err(|error| error.to_string())
    }
}

impl Part for PlanPart {
    type Answer = PlanAnswer;

    fn part(&self) -> TurnPart {
        TurnPart::Plan
    }

    fn check(&self, answer: &PlanAnswer) -> Result<(), String> {
        answer.tasks().map(drop)
    }

    fn confidence(_: &PlanAnswer) -> Option<f64> {
        None
    }

    fn render(answer: &PlanAnswer) -> String {
        let line = |(at, task): (usize, &PlanTask)| format!("{}. {}", at + 1, task.title.trim());
        answer.tasks.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
    }
}
