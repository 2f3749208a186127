//! Models on the wire: which provider the server asks, and which others it knows.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

/// Which provider to explain.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AskedModelQuery {
    /// `provider` or `provider/model`; by default, the one that the server asks if a request names
    /// none.
    pub provider: Option<String>,
}

/// The provider and the model that the server would ask.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AskedModel {
    /// `provider` or `provider/model`, as debates and plans accept it.
    pub provider: String,
    /// The model, if it is known before the first call.
    pub model: Option<String>,
    /// The provider's address; hidden from agents.
    pub base_url: Option<String>,
    /// Why the server would ask this one.
    pub why: String,
    /// Whether it is the built-in rehearsal, so that no model is asked.
    pub rehearsal: bool,
    /// Whether somebody named it, or configured a key for it. False for the rehearsal if it is used
    /// only because nothing else is configured.
    pub chosen: bool,
    /// Model servers that run on the server's machine and that nobody has named. They are asked
    /// only when a request or the configuration names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listening: Vec<ListeningModel>,
}

/// A model server that runs on the server's machine and that nobody has named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListeningModel {
    /// The name to use for it as a provider.
    pub provider: String,
    /// The model that it serves.
    pub model: String,
    pub base_url: String,
}

/// All providers that the server knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProviderList {
    pub providers: Vec<Provider>,
    /// The one that the server asks if a request names none; `null` if none can be asked.
    pub asked: Option<AskedModel>,
    /// Why none can be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A provider, as the server knows it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Provider {
    pub name: String,
    /// Its API: `openai`, `anthropic`, …
    pub kind: String,
    /// Where the server found it: `configured`, `environment`, `local` or `built_in`.
    pub origin: String,
    /// The model that would be asked, if it is known.
    pub model: Option<String>,
    pub base_url: Option<String>,
    /// Why it cannot be asked, and what to do about it.
    pub problem: Option<String>,
}
