//! Who can be asked in a test.

use std::sync::{Arc, LazyLock};

use folkmoot_engine::Failure;
use folkmoot_llm::{Model, Prompts, budget::Budget};
use folkmoot_workflows::{Voice, Voices};
use futures_util::future::BoxFuture;

/// One who can be asked, whatever it is called.
#[derive(Debug)]
pub struct One(pub Arc<dyn Model>);

impl Voices for One {
    fn choose(&self, named: Option<String>) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async move { Ok(named.unwrap_or_else(|| "one".to_owned())) })
    }

    fn voice(&self, _: &str) -> Result<Voice, Failure> {
        Ok(Voice { model: Arc::clone(&self.0), price: None, max_tokens: folkmoot_llm::request::MAX_TOKENS })
    }

    fn prompts(&self) -> Result<Arc<Prompts>, Failure> {
        Ok(Arc::clone(&PROMPTS))
    }

    fn budget(&self) -> Budget {
        Budget::default()
    }
}

/// Reading them takes longer than a whole simulation.
pub static PROMPTS: LazyLock<Arc<Prompts>> = LazyLock::new(|| Arc::new(Prompts::embedded()));
