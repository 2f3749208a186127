//! Workflows: async functions over a [`Ctx`], each under a name with a version.

use std::{collections::BTreeMap, fmt, pin::Pin, sync::Arc, time::Duration};

use folkmoot_core::{WorkflowName, journal::StepError, record::View};
use serde::{Serialize, de::DeserializeOwned};

use crate::Ctx;

/// Why a step, or a whole run, failed. Any error becomes one with `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which sort of error: a retry policy, and whoever handles it, look at this.
    pub code: String,
    pub message: String,
    /// Why a step that failed so is not over: it is done later, under the same key.
    pub hindrance: Option<Hindrance>,
}

/// Why a step cannot be done for now, although nothing is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// A provider is away, limits us, or wants to be paid. The step waits and is tried again, first
    /// after seconds, then after minutes. While nothing else of the run goes on, the run is parked,
    /// and says for whom it waits.
    Outage {
        /// Whose outage.
        provider: String,
        /// How long the provider wants to be left alone.
        retry_after: Option<Duration>,
        /// How long it is waited for, from the first attempt or since a person resumed the run.
        /// Then the run stops, and can be resumed.
        wait_max: Duration,
    },
    /// Only a person can mend it. The run stops; the step is tried again when the run is resumed.
    NeedsPerson,
}

impl Failure {
    /// With a code of one's own.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), hindrance: None }
    }

    /// The same, of a step that is not over for it.
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

/// As `anyhow` does it: so that `?` works on every error, this is none itself.
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
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// And this one. Code that does other steps than before gets a new version: runs go on under
    /// the version that they were started with.
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

    /// And views over the records that they keep, which are made when the engine starts.
    #[must_use]
    pub fn with_views(mut self, views: &'static [View]) -> Self {
        self.views.push(views);
        self
    }

    pub(crate) fn views(&self) -> &[&'static [View]] {
        &self.views
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &WorkflowName> {
        self.functions.keys()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Whether this one is there.
    pub fn has(&self, name: &WorkflowName) -> bool {
        self.functions.contains_key(name)
    }

    pub(crate) fn execute(&self, name: &WorkflowName, ctx: Ctx, input: Option<String>) -> Option<WorkflowFuture> {
        Some(self.functions.get(name)?(ctx, input))
    }
}
