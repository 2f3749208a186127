//! Workflows: async functions over a [`Ctx`], each under a name with a version.

use std::{collections::BTreeMap, fmt, pin::Pin, sync::Arc, time::Duration};

use folkmoot_core::{WorkflowName, journal::StepError, record::View};
use serde::{Serialize, de::DeserializeOwned};

use crate::Ctx;

/// Why a step or a run failed. `?` converts any error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The error code, by which retry policies and callers tell failures apart.
    pub code: String,
    pub message: String,
    /// Set if the step has not finally failed: it is done later, under the same key.
    pub hindrance: Option<Hindrance>,
}

/// Why a step cannot be done for now, although nothing is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// A model provider is unavailable, limits the rate, or wants to be paid. The step waits and is
    /// retried, first after seconds, then after minutes. If the run has nothing else to do, it is
    /// parked and shows which provider it waits for.
    Outage {
        provider: String,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
        /// How long to wait for the provider, counted from the first attempt or from when a person
        /// resumed the run. After that the run stops, and can be resumed.
        wait_max: Duration,
    },
    /// Only a person can repair it. The run stops, and the step is retried when the run is resumed.
    NeedsPerson,
}

impl Failure {
    /// A failure with this code.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), hindrance: None }
    }

    /// Marks a failure that is not final: the step is done later.
    #[must_use]
    pub fn hindered_by(self, hindrance: Hindrance) -> Self {
        Self { hindrance: Some(hindrance), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

/// `Failure` does not implement `Error`, so that this covers every error (as in `anyhow`).
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(deeper) = cause {
            message = format!("{message}: {deeper}");
            cause = deeper.source();
        }
        Self::new("error", message)
    }
}

impl Failure {
    pub(crate) fn of(error: StepError) -> Self {
        Self::new(error.code, error.message)
    }

    pub(crate) fn as_step_error(&self) -> StepError {
        let provider = match &self.hindrance {
            Some(Hindrance::Outage { provider, .. }) => Some(provider.clone()),
            Some(Hindrance::NeedsPerson) | None => None,
        };
        StepError { provider, ..StepError::new(&self.code, &self.message) }
    }
}

/// A workflow's function as a future: JSON in, JSON out.
type WorkflowFuture = Pin<Box<dyn Future<Output = Result<String, Failure>> + Send>>;
type WorkflowFn = dyn Fn(Ctx, Option<String>) -> WorkflowFuture + Send + Sync;

/// The workflows that a node can execute.
#[derive(Clone, Default)]
pub struct Workflows {
    functions: BTreeMap<WorkflowName, Arc<WorkflowFn>>,
    views: Vec<&'static [View]>,
}

impl fmt::Debug for Workflows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.functions.keys()).finish()
    }
}

impl Workflows {
    /// No workflows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a workflow. Code that makes other calls than before needs a new version, because runs
    /// continue with the version that they started with.
    ///
    /// # Panics
    ///
    /// If the name is not of the form `name@1`, or is taken.
    #[must_use]
    pub fn with<I, O, F>(mut self, name: &str, workflow: impl Fn(Ctx, I) -> F + Send + Sync + 'static) -> Self
    where
        I: DeserializeOwned + Send + 'static,
        O: Serialize,
        F: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        let name: WorkflowName = name.parse().unwrap_or_else(|error| panic!("{error}"));
        let workflow = Arc::new(workflow);
        let code = move |ctx, input: Option<String>| -> WorkflowFuture {
            let workflow = workflow.clone();
            Box::pin(async move {
                let given = serde_json::from_str(input.as_deref().unwrap_or("null"))
                    .map_err(|error| Failure::new("invalid_input", format!("the input does not fit: {error}")))?;
                let output = workflow(ctx, given).await?;
                serde_json::to_string(&output).map_err(|error| Failure::new("invalid_output", error.to_string()))
            })
        };
        let taken = self.functions.insert(name.clone(), Arc::new(code)).is_some();
        assert!(!taken, "there are two workflows {name}");
        self
    }

    /// Adds views over the records that the workflows keep. They are created when the engine
    /// starts.
    #[must_use]
    pub fn with_views(mut self, views: &'static [View]) -> Self {
        self.views.push(views);
        self
    }

    pub(crate) fn views(&self) -> &[&'static [View]] {
        &self.views
    }

    pub fn names(&self) -> impl Iterator<Item = &WorkflowName> {
        self.functions.keys()
    }

    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    pub fn has(&self, name: &WorkflowName) -> bool {
        self.functions.contains_key(name)
    }

    pub(crate) fn execute(&self, name: &WorkflowName, ctx: Ctx, input: Option<String>) -> Option<WorkflowFuture> {
        Some(self.functions.get(name)?(ctx, input))
    }
}
