//! Who speaks for an agent: a model, behind a name that a run can record.

use std::{fmt, sync::Arc};

use folkmoot_engine::{Ctx, Failure};
use folkmoot_llm::{Embedder, Model, Prompts, budget::Budget, price::Price};
use futures_util::future::BoxFuture;

use crate::Equipment;

/// A model and what it costs.
#[derive(Clone, Debug)]
pub struct Voice {
    /// Who is asked.
    pub model: Arc<dyn Model>,
    /// What that costs at most.
    pub price: Option<Price>,
}

/// All who can be asked.
pub trait Voices: fmt::Debug + Send + Sync {
    /// Whom to ask where this one is named, or nobody: a name, to be recorded and given to [`Voices::voice`] in every pass.
    fn choose(&self, named: Option<String>) -> BoxFuture<'_, Result<String, Failure>>;

    /// The one of this name.
    fn voice(&self, name: &str) -> Result<Voice, Failure>;

    /// Whoever of this name can tell how close texts are in meaning; nobody, unless it is said.
    fn embedder(&self, _name: &str) -> Option<Arc<dyn Embedder>> {
        None
    }

    /// What they are told.
    fn prompts(&self) -> Result<Arc<Prompts>, Failure>;

    /// What a run may spend that does not say.
    fn budget(&self) -> Budget;
}

/// What a run needs in every pass. Where it is there no more, as a provider after a restart without its key, the run stops and says
/// so: nothing that it did is lost, and it goes on when it is resumed.
pub(crate) async fn or_stop<T>(ctx: &Ctx, found: Result<T, Failure>) -> T {
    match found {
        Ok(found) => found,
        Err(failure) => ctx.stop(NOT_EQUIPPED, format!("{}. Mend that, and resume this run", failure.message)).await,
    }
}

/// Why such a run is stopped.
const NOT_EQUIPPED: &str = "not_equipped";

impl Voices for Equipment {
    fn choose(&self, named: Option<String>) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async move { Ok(self.models.choose(named.as_deref()).await?.provider) })
    }

    fn voice(&self, name: &str) -> Result<Voice, Failure> {
        Ok(Voice { model: self.models.model(name, None)?, price: self.models.price(name, None) })
    }

    fn embedder(&self, name: &str) -> Option<Arc<dyn Embedder>> {
        self.models.embedder(name, None).ok()
    }

    fn prompts(&self) -> Result<Arc<Prompts>, Failure> {
        self.prompts().map_err(|why| Failure::new("prompts", why))
    }

    fn budget(&self) -> Budget {
        self.models.budget()
    }
}
