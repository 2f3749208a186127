//! Whom the server asks.

use super::{Client, Error};
use crate::wire::{AskedModel, AskedModelQuery, ProviderList};

impl Client {
    /// Whom the server would ask, where this one is named or nobody is.
    pub async fn asked_model(&self, provider: Option<&str>) -> Result<AskedModel, Error> {
        self.get("/v1/models/asked", &AskedModelQuery { provider: provider.map(str::to_owned) }).await
    }

    /// All providers that the server knows, with what is missing.
    pub async fn providers(&self) -> Result<ProviderList, Error> {
        self.get("/v1/models", &()).await
    }
}
