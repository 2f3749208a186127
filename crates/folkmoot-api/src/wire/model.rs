//! Models on the wire: whom the server asks, and who else is there.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

/// Which provider to explain.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AskedModelQuery {
    /// `provider` or `provider/model`; whoever would be asked where nobody is named, unless it is
    /// given.
    pub provider: Option<String>,
}

/// Whom the server would ask.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AskedModel {
    /// `provider` or `provider/model`, as a debate or a plan takes it.
    pub provider: String,
    /// The model, where it is known before it is asked.
    pub model: Option<String>,
    /// Where it is; agents are not told.
    pub base_url: Option<String>,
    /// Why this one.
    pub why: String,
    /// Whether it is the rehearsal: no model is asked.
    pub rehearsal: bool,
    /// Whether somebody named it, or gave a key for it. The rehearsal is what is left where nobody
    /// did.
    pub chosen: bool,
    /// Model servers on the server's machine that nobody has named. They are asked only when they
    /// are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listening: Vec<ListeningModel>,
}

/// A model server that listens, and that nobody has named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListeningModel {
    /// How to name it.
    pub provider: String,
    /// The model that it has.
    pub model: String,
    /// Where it listens.
    pub base_url: String,
}

/// All providers that the server knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProviderList {
    /// Each of them.
    pub providers: Vec<Provider>,
    /// Whom it asks where nobody is named; null where nobody is chosen.
    pub asked: Option<AskedModel>,
    /// Why nobody is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A provider, as the server has it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Provider {
    pub name: String,
    /// How it is spoken to: `openai`, `anthropic`, …
    pub kind: String,
    /// Where the server heard of it: `configured`, `environment`, `local` or `built_in`.
    pub origin: String,
    /// What it would be asked for, where that is known.
    pub model: Option<String>,
    /// Where it is.
    pub base_url: Option<String>,
    /// Why it cannot be asked, and what to do about it.
    pub problem: Option<String>,
}
