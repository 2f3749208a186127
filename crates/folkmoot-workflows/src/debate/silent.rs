//! Voices and effects for a replay. If one of them is called, the replay has come to something that
//! was not recorded.

use std::sync::Arc;

use folkmoot_debate::agent::ToolKind;
use folkmoot_engine::Failure;
use folkmoot_llm::{FailureKind, Hear, Model, ModelAnswer, ModelRequest, Prompts, budget::Budget};
use folkmoot_tools::{
    ToolCall, ToolError,
    git::Author,
    project::Hook,
    testing::{Solution, Suite, TestRun},
    tool::ToolOffer,
};
use futures_util::future::{BoxFuture, FutureExt, ready};
use serde_json::Value;

use super::{Branch, Effects, ProjectCommandRun, ToolContext};
use crate::{Voice, Voices};

const WHY: &str = "nothing is done in a replay";

/// Answers no model call. It only provides the prompts and limits of the real voices.
#[derive(Debug)]
pub(crate) struct NoModels(pub Arc<dyn Voices>);

impl Voices for NoModels {
    fn choose(&self, _: Option<String>) -> BoxFuture<'_, Result<String, Failure>> {
        ready(Err(Failure::new("replay", WHY))).boxed()
    }

    fn voice(&self, name: &str) -> Result<Voice, Failure> {
        // The request must be the same as the recorded one. A provider that is no longer there is
        // assumed to have had the default limit.
        let max_tokens = self.0.voice(name).map_or(folkmoot_llm::request::MAX_TOKENS, |voice| voice.max_tokens);
        Ok(Voice { model: Arc::new(Silence), price: None, max_tokens })
    }

    fn prompts(&self) -> Result<Arc<Prompts>, Failure> {
        self.0.prompts()
    }

    fn budget(&self) -> Budget {
        self.0.budget()
    }
}

#[derive(Debug)]
struct Silence;

impl Model for Silence {
    fn ask<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, folkmoot_llm::ModelFailure>> {
        ready(Err(folkmoot_llm::ModelFailure::new("replay", FailureKind::NotRecorded, WHY))).boxed()
    }
}

#[derive(Debug)]
pub(super) struct ReplayEffects;

impl Effects for ReplayEffects {
    fn test(&self, _: Solution, _: Suite) -> BoxFuture<'_, Result<TestRun, String>> {
        ready(Err(WHY.to_owned())).boxed()
    }

    fn offers(&self, _: ToolContext, _: Vec<ToolKind>) -> BoxFuture<'_, Vec<ToolOffer>> {
        ready(Vec::new()).boxed()
    }

    fn call(
        &self,
        _: ToolContext,
        _: Vec<ToolKind>,
        tool: String,
        arguments: Value,
        _: bool,
    ) -> BoxFuture<'_, ToolCall> {
        ready(ToolCall { tool, arguments, result: Err(ToolError::failed(WHY)), elapsed_ms: 0 }).boxed()
    }

    fn commit(&self, _: Branch, _: String, _: String, _: Author) -> BoxFuture<'_, Result<String, String>> {
        ready(Err(WHY.to_owned())).boxed()
    }

    fn hook(&self, _: Branch, _: Hook) -> BoxFuture<'_, Result<Vec<ProjectCommandRun>, String>> {
        ready(Err(WHY.to_owned())).boxed()
    }

    fn clean(&self, _: String, _: Option<Branch>) -> BoxFuture<'_, Result<(), String>> {
        ready(Err(WHY.to_owned())).boxed()
    }
}
