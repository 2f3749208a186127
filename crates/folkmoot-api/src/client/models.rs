//! The server's model providers.

use super::{Client, Error};
use crate::wire::{AskedModel, AskedModelQuery, ProviderList};

impl Client {
    /// The provider and model that the server would ask, for this name or by default.
    pub async fn asked_model(&self, provider: Option<&str>) -> Result<AskedModel, Error> {
        self.get("/v1/models/asked", &AskedModelQuery { provider: provider.map(str::to_owned) }).await
    }

    /// All providers that the server knows, with what each still needs.
    pub async fn providers(&self) -> Result<ProviderList, Error> {
        self.get("/v1/models", &()).await
    }
}
