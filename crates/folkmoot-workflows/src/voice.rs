//! Who speaks for an agent: a model, behind a name that a run can record.

use std::{fmt, sync::Arc, time::Duration};

use folkmoot_engine::{Ctx, Failure};
use folkmoot_llm::{
    Embedder, Model, Prompts,
    budget::Budget,
    models::{LocalModelServer, ProviderChoice, ProviderInfo},
    price::Price,
};
use futures_util::future::BoxFuture;

use crate::{Equipment, call::OUTAGE_WAIT_MAX};

/// A model and what it costs.
#[derive(Clone, Debug)]
pub struct Voice {
    /// Who is asked.
    pub model: Arc<dyn Model>,
    /// What that costs at most.
    pub price: Option<Price>,
    /// The longest answer that it is asked for, in tokens, where the run does not say.
    pub max_tokens: u32,
}

/// All who can be asked.
pub trait Voices: fmt::Debug + Send + Sync {
    /// Whom to ask where this one is named, or nobody: a name, to be recorded and given to
    /// [`Voices::voice`] in every pass.
    fn choose(&self, named: Option<String>) -> BoxFuture<'_, Result<String, Failure>>;

    /// The same, with why, which model it is and where, for whoever is told before it is asked.
    fn explain(&self, named: Option<String>) -> BoxFuture<'_, Result<ProviderChoice, Failure>> {
        Box::pin(async move {
            let provider = self.choose(named).await?;
            Ok(ProviderChoice {
                provider,
                model: None,
                base_url: None,
                why: "nobody else is there".to_owned(),
                chosen: true,
            })
        })
    }

    /// Those on this machine whom nobody has named, and who could be.
    fn listening(&self) -> BoxFuture<'_, Vec<LocalModelServer>> {
        Box::pin(async { Vec::new() })
    }

    /// Everybody, with what is missing.
    fn list(&self) -> BoxFuture<'_, Vec<ProviderInfo>> {
        Box::pin(async { Vec::new() })
    }

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

    /// How long a run waits for a provider that is away before it stops.
    fn outage_wait_max(&self) -> Duration {
        OUTAGE_WAIT_MAX
    }
}

/// What a run needs in every pass. Where it is there no more, as a provider after a restart without
/// its key, the run stops and says so: nothing that it did is lost, and it goes on when it is
/// resumed.
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
        Box::pin(async move { Ok(self.models.choose(named.as_deref())?.provider) })
    }

    fn explain(&self, named: Option<String>) -> BoxFuture<'_, Result<ProviderChoice, Failure>> {
        Box::pin(async move { Ok(self.models.choose(named.as_deref())?) })
    }

    fn listening(&self) -> BoxFuture<'_, Vec<LocalModelServer>> {
        Box::pin(self.models.listening())
    }

    fn list(&self) -> BoxFuture<'_, Vec<ProviderInfo>> {
        Box::pin(self.models.list())
    }

    fn voice(&self, name: &str) -> Result<Voice, Failure> {
        Ok(Voice {
            model: self.models.model(name, None)?,
            price: self.models.price(name, None),
            max_tokens: self.models.max_tokens(name),
        })
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

    fn outage_wait_max(&self) -> Duration {
        self.outage_wait_max
    }
}
