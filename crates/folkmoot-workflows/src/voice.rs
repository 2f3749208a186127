//! Voices: the models that speak for agents, each under a name that a run can record.

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
    pub model: Arc<dyn Model>,
    /// The highest price of the model and its fallbacks, if all of them have one.
    pub price: Option<Price>,
    /// The longest answer to ask for, in tokens, if the run does not say.
    pub max_tokens: u32,
}

/// All voices that runs can use.
pub trait Voices: fmt::Debug + Send + Sync {
    /// Chooses a provider: the named one, or a default if none is named. The run records the name
    /// that is returned and gives it to [`Voices::voice`] in every pass.
    fn choose(&self, named: Option<String>) -> BoxFuture<'_, Result<String, Failure>>;

    /// Like [`Voices::choose`], but also says why, which model it is and where it runs. It is shown
    /// to people before the model is asked.
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

    /// Model servers on this machine that the configuration does not name but could.
    fn listening(&self) -> BoxFuture<'_, Vec<LocalModelServer>> {
        Box::pin(async { Vec::new() })
    }

    /// All providers, with what each of them is missing.
    fn list(&self) -> BoxFuture<'_, Vec<ProviderInfo>> {
        Box::pin(async { Vec::new() })
    }

    fn voice(&self, name: &str) -> Result<Voice, Failure>;

    /// The embedder of the provider of this name, which tells how close texts are in meaning.
    fn embedder(&self, _name: &str) -> Option<Arc<dyn Embedder>> {
        None
    }

    /// The prompts that models are given.
    fn prompts(&self) -> Result<Arc<Prompts>, Failure>;

    /// The budget of a run that does not set one.
    fn budget(&self) -> Budget;

    /// How long a run waits for an unavailable provider before it stops.
    fn outage_wait_max(&self) -> Duration {
        OUTAGE_WAIT_MAX
    }
}

/// Returns something that a run needs in every pass. If it is no longer there, such as a provider
/// after a restart without its key, the run stops and says so. Nothing that the run did is lost,
/// and it goes on when it is resumed.
pub(crate) async fn or_stop<T>(ctx: &Ctx, found: Result<T, Failure>) -> T {
    match found {
        Ok(found) => found,
        Err(failure) => ctx.stop(NOT_EQUIPPED, format!("{}. Mend that, and resume this run", failure.message)).await,
    }
}

/// The code with which such a run is stopped.
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
