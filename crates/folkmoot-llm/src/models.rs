//! All available models: configured ones, vendors whose keys are in the environment, local servers,
//! and the rehearsal.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    sync::Arc,
    time::Duration,
};

use folkmoot_outbound::Secret;

use crate::{
    Embedder, FailureKind, Model, ModelFailure, Rehearsal, Replay,
    budget::Budget,
    chain::{FallbackChain, FallbackModel},
    guard::{Guard, GuardedModel},
    price::Price,
    provider::{Anthropic, Endpoint, Gemini, Ollama, OpenAi},
    request::MAX_TOKENS,
    settings::{ModelSettings, ProviderKind, ProviderSettings},
};

#[cfg(test)]
mod tests;

/// Creates the model of a `command` provider. Only folkmoot-tools starts processes, so it supplies
/// this function.
pub type MakeCommand = fn(&str, &ProviderSettings) -> Result<Arc<dyn Model>, ModelFailure>;

/// All providers.
pub struct Models {
    settings: ModelSettings,
    providers: BTreeMap<String, ConfiguredProvider>,
    variables: BTreeMap<String, String>,
    make_command: MakeCommand,
    /// Whose environment lacks a key, for messages.
    whose: KeyOwner,
}

/// Whose environment holds the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyOwner {
    /// The command that the user just typed.
    #[default]
    Command,
    /// A server that was started earlier, perhaps in another shell.
    Server,
}

impl KeyOwner {
    fn environment(self) -> &'static str {
        match self {
            KeyOwner::Command => "the environment",
            KeyOwner::Server => "the server's environment",
        }
    }

    /// How to supply a missing key.
    fn get_key(self, variable: &str) -> String {
        match self {
            KeyOwner::Command => format!("set {variable} to its key"),
            KeyOwner::Server => format!(
                "the server was started without {variable}: start `folkmoot serve` again with {variable} set to its key (what is \
                 set in another shell does not reach it)"
            ),
        }
    }
}

#[derive(Debug)]
struct ConfiguredProvider {
    provider: ProviderSettings,
    guard: Arc<Guard>,
    origin: ProviderOrigin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderOrigin {
    Configured,
    Environment,
    /// A server that may run on this machine.
    Local,
    BuiltIn,
}

/// The chosen provider, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderChoice {
    pub provider: String,
    /// The model, if it is known.
    pub model: Option<String>,
    /// Its address, if it is called over HTTP.
    pub base_url: Option<String>,
    /// The reason for this choice, for people.
    pub why: String,
    /// Whether somebody named it or supplied a key. Otherwise the rehearsal is used.
    pub chosen: bool,
}

/// A model server on this machine that is not configured. It is used only on request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalModelServer {
    pub provider: String,
    pub model: String,
    pub base_url: String,
}

/// One provider, as `folkmoot doctor` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderInfo {
    pub name: String,
    pub kind: ProviderKind,
    pub origin: ProviderOrigin,
    /// The model that would be asked, if it is known.
    pub model: Option<String>,
    pub base_url: Option<String>,
    /// Why it cannot be used, and what to do.
    pub missing: Option<String>,
}

/// How long to wait for a local server to respond.
const LOCAL_PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// How long to wait for a connection when listing providers.
const REACH_TIMEOUT: Duration = Duration::from_secs(3);

/// A vendor that needs only a key in the environment.
struct Vendor {
    name: &'static str,
    kind: ProviderKind,
    key: &'static str,
    base_url: &'static str,
    /// The default model.
    model: &'static str,
}

/// In order of preference.
const VENDORS: [Vendor; 3] = [
    Vendor {
        name: "openai",
        kind: ProviderKind::OpenAi,
        key: "OPENAI_API_KEY",
        base_url: "OPENAI_BASE_URL",
        model: "gpt-5-mini",
    },
    Vendor {
        name: "anthropic",
        kind: ProviderKind::Anthropic,
        key: "ANTHROPIC_API_KEY",
        base_url: "ANTHROPIC_BASE_URL",
        model: "claude-sonnet-4-5",
    },
    Vendor {
        name: "gemini",
        kind: ProviderKind::Gemini,
        key: "GEMINI_API_KEY",
        base_url: "GEMINI_BASE_URL",
        model: "gemini-2.5-flash",
    },
];

impl Vendor {
    /// The provider for this vendor, if its key is set.
    fn with_a_key(&self, variables: &BTreeMap<String, String>) -> Option<ProviderSettings> {
        let base_url = variables.get(self.base_url).cloned();
        // The models of another server are unknown; the server is asked for them.
        let model = (self.kind != ProviderKind::OpenAi || base_url.is_none()).then(|| self.model.to_owned());
        let key_env = Some(self.key.to_owned());
        variables.contains_key(self.key).then(|| ProviderSettings {
            key_env,
            base_url,
            model,
            ..ProviderSettings::of(self.kind)
        })
    }

    fn without_a_key(&self, whose: KeyOwner) -> ProviderInfo {
        ProviderInfo {
            name: self.name.to_owned(),
            kind: self.kind,
            origin: ProviderOrigin::Environment,
            model: Some(self.model.to_owned()),
            base_url: None,
            missing: Some(whose.get_key(self.key)),
        }
    }
}

impl Models {
    /// Collects the providers of the configuration and the environment. Nothing is called or
    /// started yet.
    pub fn new(
        settings: ModelSettings,
        variable: impl Fn(&str) -> Option<String>,
        make_command: MakeCommand,
    ) -> Result<Self, String> {
        settings.check()?;
        let vendors = VENDORS.iter().flat_map(|vendor| [vendor.key, vendor.base_url]);
        let named = settings.providers.values().filter_map(|provider| provider.key_env.as_deref());
        let variables: BTreeMap<String, String> = ["FOLKMOOT_PROVIDER", "OLLAMA_HOST"]
            .into_iter()
            .chain(vendors)
            .chain(named)
            .filter_map(|name| Some((name.to_owned(), variable(name)?)))
            .filter(|(_, value)| !value.trim().is_empty())
            .collect();
        let mut providers = usual(&variables);
        for (name, provider) in &settings.providers {
            providers.insert(name.clone(), (provider.clone(), ProviderOrigin::Configured));
        }
        let providers = providers
            .into_iter()
            .map(|(name, (provider, origin))| {
                let guard = Guard::new(&name, provider.patience());
                (name, ConfiguredProvider { provider, guard, origin })
            })
            .collect();
        let models = Self { settings, providers, variables, make_command, whose: KeyOwner::default() };
        models.check_references()?;
        Ok(models)
    }

    /// Sets whose environment messages about missing keys refer to.
    #[must_use]
    pub fn of(self, whose: KeyOwner) -> Self {
        Self { whose, ..self }
    }

    /// Checks that the default provider and all fallbacks exist.
    fn check_references(&self) -> Result<(), String> {
        if let Some(name) = &self.settings.provider {
            self.known(name).map_err(|failure| format!("provider = {name:?}: {}", failure.detail))?;
        }
        for (name, known) in &self.providers {
            for fallback in &known.provider.fallback {
                let (provider, _) = split(fallback);
                self.known(provider)
                    .map_err(|failure| format!("[providers.{name}] fallback {fallback:?}: {}", failure.detail))?;
                if provider == name && !fallback.contains('/') {
                    return Err(format!(
                        "[providers.{name}] is its own fallback; name another, or another model of it"
                    ));
                }
            }
        }
        Ok(())
    }

    fn known(&self, name: &str) -> Result<&ConfiguredProvider, ModelFailure> {
        self.providers.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.providers.keys().map(String::as_str).collect();
            let shown: String = name.chars().take(64).collect();
            let detail = match VENDORS.iter().find(|vendor| vendor.name == name) {
                Some(vendor) => format!("{}, or name another: {}", self.whose.get_key(vendor.key), known.join(", ")),
                None => format!("there is no provider {shown:?}; there are {}", known.join(", ")),
            };
            ModelFailure::new(shown, FailureKind::Misconfigured, detail)
        })
    }

    /// Chooses a provider: the named one, else `FOLKMOOT_PROVIDER`, the configuration, a key in the
    /// environment, the rehearsal. A server that merely runs on this machine is never chosen: see
    /// [`Models::listening`].
    pub fn choose(&self, named: Option<&str>) -> Result<ProviderChoice, ModelFailure> {
        let told = [
            (named, "you named it"),
            (self.variables.get("FOLKMOOT_PROVIDER").map(String::as_str), "FOLKMOOT_PROVIDER names it"),
            (self.settings.provider.as_deref(), "the configuration names it"),
        ];
        if let Some((name, why)) = told.iter().find_map(|(name, why)| name.map(|name| (name, why))) {
            return self.choice(name, why);
        }
        let configured: Vec<&str> = self.settings.providers.keys().map(String::as_str).collect();
        match configured[..] {
            [] => {}
            [only] => return self.choice(only, "it is the only one in the configuration"),
            _ => {
                let detail = format!(
                    "several are configured and none is chosen: name one with --provider, FOLKMOOT_PROVIDER or `provider = …` \
                     in folkmoot.toml ({})",
                    configured.join(", ")
                );
                return Err(ModelFailure::new("models", FailureKind::Misconfigured, detail));
            }
        }
        let environment = self.whose.environment();
        for Vendor { name, .. } in &VENDORS {
            if self.providers.get(*name).is_some_and(|known| known.origin == ProviderOrigin::Environment) {
                return self.choice(name, &format!("its key is in {environment}"));
            }
        }
        let why = format!("no provider is configured, and no vendor's key is in {environment}");
        Ok(ProviderChoice { chosen: false, ..self.choice(crate::rehearsal::NAME, &why)? })
    }

    fn choice(&self, name: &str, why: &str) -> Result<ProviderChoice, ModelFailure> {
        let (provider, model) = split(name);
        let known = &self.known(provider)?.provider;
        Ok(ProviderChoice {
            provider: name.to_owned(),
            model: model.map(str::to_owned).or_else(|| known.model.clone()),
            base_url: base_url(known),
            why: why.to_owned(),
            chosen: true,
        })
    }

    /// Local model servers that respond and are not configured. Ollama comes first, because another
    /// program may use the other usual port.
    pub async fn listening(&self) -> Vec<LocalModelServer> {
        let mut local: Vec<_> =
            self.providers.iter().filter(|(_, known)| known.origin == ProviderOrigin::Local).collect();
        local.sort_by_key(|(_, known)| known.provider.kind != ProviderKind::Ollama);
        let looked = local.into_iter().map(|(name, known)| async move {
            let (model, base_url) = (listens(&known.provider).await?, base_url(&known.provider)?);
            Some(LocalModelServer { provider: name.clone(), model, base_url })
        });
        futures_util::future::join_all(looked).await.into_iter().flatten().collect()
    }

    /// A model with its fallbacks, guarded and priced.
    pub fn model(&self, provider: &str, model: Option<&str>) -> Result<Arc<dyn Model>, ModelFailure> {
        let (provider, inline) = split(provider);
        if let (Some(inline), Some(model)) = (inline, model)
            && inline != model
        {
            let detail = format!("two models are named, {inline} and {model}; name one");
            return Err(ModelFailure::new(provider, FailureKind::Misconfigured, detail));
        }
        let first = self.link(provider, model.or(inline))?;
        let fallbacks = &self.known(provider)?.provider.fallback;
        if fallbacks.is_empty() {
            return Ok(first.model);
        }
        let links = fallbacks.iter().map(|fallback| {
            let (provider, model) = split(fallback);
            self.link(provider, model)
        });
        Ok(Arc::new(FallbackChain::new(first, links.collect::<Result<_, _>>()?)))
    }

    /// The default maximum length of an answer of this provider, in tokens.
    pub fn max_tokens(&self, provider: &str) -> u32 {
        let known = self.providers.get(split(provider).0);
        known.and_then(|known| known.provider.max_tokens).unwrap_or(MAX_TOKENS)
    }

    /// The highest price of a model and its fallbacks; `None` if one of them has no price.
    pub fn price(&self, provider: &str, model: Option<&str>) -> Option<Price> {
        let priced = self.all(provider, model).into_iter().map(|(provider, model)| self.price_of(provider, model));
        priced.collect::<Option<Vec<Price>>>()?.into_iter().reduce(Price::dearer)
    }

    /// The model and fallbacks that have no price.
    pub fn unpriced(&self, provider: &str, model: Option<&str>) -> Vec<String> {
        let all = self.all(provider, model).into_iter();
        let unpriced = all.filter(|(provider, model)| self.price_of(provider, *model).is_none());
        let name = |(provider, model): (&str, Option<&str>)| {
            let usual = || self.providers.get(provider).and_then(|known| known.provider.model.as_deref());
            model.or_else(usual).map_or_else(|| format!("the model of {provider}"), str::to_owned)
        };
        unpriced.map(name).collect()
    }

    /// A model and its fallbacks as pairs of provider and model, in order.
    fn all<'a>(&'a self, provider: &'a str, model: Option<&'a str>) -> Vec<(&'a str, Option<&'a str>)> {
        let (provider, inline) = split(provider);
        let fallbacks =
            self.providers.get(provider).map(|known| known.provider.fallback.as_slice()).unwrap_or_default();
        std::iter::once((provider, model.or(inline))).chain(fallbacks.iter().map(|fallback| split(fallback))).collect()
    }

    fn price_of(&self, provider: &str, model: Option<&str>) -> Option<Price> {
        let known = self.providers.get(provider)?;
        match known.provider.kind {
            ProviderKind::Rehearsal | ProviderKind::Replay => Some(Price::NOTHING),
            _ => self.settings.models.get(model.or(known.provider.model.as_deref())?).copied(),
        }
    }

    /// The embedder of a provider, if it has one. Fallbacks are not used: vectors of two providers
    /// cannot be compared.
    pub fn embedder(&self, provider: &str, model: Option<&str>) -> Result<Arc<dyn Embedder>, ModelFailure> {
        let (name, inline) = split(provider);
        let provider = &self.known(name)?.provider;
        let model = model.or(inline).or(provider.model.as_deref()).map(str::to_owned);
        Ok(match provider.kind {
            ProviderKind::OpenAi => Arc::new(OpenAi::new(self.endpoint(name, provider)?, model)?),
            ProviderKind::Gemini => Arc::new(Gemini::new(self.endpoint(name, provider)?, model.unwrap_or_default())?),
            ProviderKind::Ollama => Arc::new(Ollama::new(self.endpoint(name, provider)?, model)?),
            ProviderKind::Anthropic | ProviderKind::Command | ProviderKind::Replay | ProviderKind::Rehearsal => {
                let detail = format!("the kind `{}` has no embeddings; use openai, gemini or ollama", provider.kind);
                return Err(ModelFailure::new(name, FailureKind::Misconfigured, detail));
            }
        })
    }

    fn link(&self, name: &str, model: Option<&str>) -> Result<FallbackModel, ModelFailure> {
        let known = self.known(name)?;
        let has_models =
            !matches!(known.provider.kind, ProviderKind::Command | ProviderKind::Replay | ProviderKind::Rehearsal);
        if let Some(model) = model.filter(|_| !has_models) {
            let detail =
                format!("the kind `{}` has no models to choose from; leave {model:?} out", known.provider.kind);
            return Err(ModelFailure::new(name, FailureKind::Misconfigured, detail));
        }
        let model = model.or(known.provider.model.as_deref());
        let shown = model.map_or_else(|| name.to_owned(), |model| format!("{name}/{model}"));
        let made = self.make(name, &known.provider, model)?;
        let guard = Arc::clone(&known.guard);
        Ok(FallbackModel {
            model: Arc::new(GuardedModel {
                model: made,
                name: shown.clone(),
                guard,
                price: self.price_of(name, model),
            }),
            name: shown,
        })
    }

    fn make(
        &self,
        name: &str,
        provider: &ProviderSettings,
        model: Option<&str>,
    ) -> Result<Arc<dyn Model>, ModelFailure> {
        let model = model.map(str::to_owned);
        let must_have = |model: Option<String>| {
            let detail = "no model is named: set `model`, or name one with the call";
            model.ok_or_else(|| ModelFailure::new(name, FailureKind::Misconfigured, detail))
        };
        Ok(match provider.kind {
            ProviderKind::OpenAi => Arc::new(OpenAi::new(self.endpoint(name, provider)?, model)?),
            ProviderKind::Anthropic => Arc::new(Anthropic::new(self.endpoint(name, provider)?, must_have(model)?)?),
            ProviderKind::Gemini => Arc::new(Gemini::new(self.endpoint(name, provider)?, must_have(model)?)?),
            ProviderKind::Ollama => Arc::new(Ollama::new(self.endpoint(name, provider)?, model)?),
            ProviderKind::Command => (self.make_command)(name, provider)?,
            ProviderKind::Replay => Arc::new(replay(name, provider)?),
            ProviderKind::Rehearsal => Arc::new(Rehearsal),
        })
    }

    fn endpoint(&self, name: &str, provider: &ProviderSettings) -> Result<Endpoint, ModelFailure> {
        let base_url = base_url(provider).ok_or_else(|| {
            ModelFailure::new(name, FailureKind::Misconfigured, "there is no `base_url`: say where it is")
        })?;
        Ok(Endpoint {
            key: self.key(provider).map_err(|why| ModelFailure::new(name, FailureKind::Misconfigured, why))?,
            timeout: Duration::from_millis(provider.timeout_ms),
            silence: Duration::from_millis(provider.silence_ms),
            answer_bytes: provider.answer_bytes,
            ..Endpoint::new(name, base_url)
        })
    }

    fn key(&self, provider: &ProviderSettings) -> Result<Option<Secret>, String> {
        if let Some(path) = &provider.key_file {
            return Secret::from_file(path).map(Some).map_err(|error| error.to_string());
        }
        let Some(variable) = &provider.key_env else { return Ok(None) };
        let text = self.variables.get(variable).ok_or_else(|| match self.whose {
            KeyOwner::Command => format!("the environment has no {variable}: set it to the key"),
            KeyOwner::Server => self.whose.get_key(variable),
        })?;
        Secret::new(text, variable.clone()).map(Some).map_err(|error| error.to_string())
    }

    /// All providers, with what each still needs. Local servers are probed.
    pub async fn list(&self) -> Vec<ProviderInfo> {
        let vendors = VENDORS.iter().filter(|vendor| !self.providers.contains_key(vendor.name));
        let mut listed: Vec<ProviderInfo> = vendors.map(|vendor| vendor.without_a_key(self.whose)).collect();
        for (name, known) in &self.providers {
            let missing = match self.make(name, &known.provider, known.provider.model.as_deref()) {
                Err(failure) => Some(failure.detail),
                Ok(_) if known.origin == ProviderOrigin::Local && listens(&known.provider).await.is_none() => {
                    let place = base_url(&known.provider).unwrap_or_default();
                    Some(format!("nobody answers at {place}; docs/real-model.md says how to start one"))
                }
                Ok(_) => unreachable_at(&known.provider).await,
            };
            listed.push(ProviderInfo {
                name: name.clone(),
                kind: known.provider.kind,
                origin: known.origin,
                model: known.provider.model.clone(),
                base_url: base_url(&known.provider),
                missing,
            });
        }
        listed
    }

    /// The budget of one run.
    pub fn budget(&self) -> Budget {
        self.settings.budget.budget().expect("the settings were checked")
    }

    pub fn names(&self) -> BTreeSet<&str> {
        self.providers.keys().map(String::as_str).collect()
    }
}

impl std::fmt::Debug for Models {
    /// Does not show variables, which hold keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Models").field("providers", &self.names()).finish_non_exhaustive()
    }
}

/// Splits `provider/model`; the model is optional.
fn split(name: &str) -> (&str, Option<&str>) {
    match name.split_once('/') {
        Some((provider, model)) => (provider, Some(model).filter(|model| !model.is_empty())),
        None => (name, None),
    }
}

/// The providers that need no configuration.
fn usual(variables: &BTreeMap<String, String>) -> BTreeMap<String, (ProviderSettings, ProviderOrigin)> {
    let mut usual = BTreeMap::new();
    let mut add = |name: &str, provider: ProviderSettings, origin| usual.insert(name.to_owned(), (provider, origin));
    for vendor in &VENDORS {
        if let Some(provider) = vendor.with_a_key(variables) {
            add(vendor.name, provider, ProviderOrigin::Environment);
        }
    }
    let host = variables.get("OLLAMA_HOST").map(|host| ollama_url(host));
    add(
        "ollama",
        ProviderSettings { base_url: host, ..ProviderSettings::of(ProviderKind::Ollama) },
        ProviderOrigin::Local,
    );
    let llama = ProviderSettings {
        base_url: Some("http://127.0.0.1:8080/v1".to_owned()),
        ..ProviderSettings::of(ProviderKind::OpenAi)
    };
    add("llamacpp", llama, ProviderOrigin::Local);
    add(crate::rehearsal::NAME, ProviderSettings::of(ProviderKind::Rehearsal), ProviderOrigin::BuiltIn);
    usual
}

/// Reads `OLLAMA_HOST` as Ollama does: a host, a port or both. If it listens on all addresses, uses
/// this machine's.
fn ollama_url(host: &str) -> String {
    if host.contains("://") {
        return host.to_owned();
    }
    let (name, port) = host.rsplit_once(':').filter(|(name, _)| !name.ends_with(':')).unwrap_or((host, "11434"));
    let name = if matches!(name, "" | "0.0.0.0") { "127.0.0.1" } else { name };
    format!("http://{name}:{port}")
}

fn base_url(provider: &ProviderSettings) -> Option<String> {
    let usual = match provider.kind {
        ProviderKind::OpenAi => OpenAi::BASE_URL,
        ProviderKind::Anthropic => Anthropic::BASE_URL,
        ProviderKind::Gemini => Gemini::BASE_URL,
        ProviderKind::Ollama => Ollama::BASE_URL,
        ProviderKind::Command | ProviderKind::Replay | ProviderKind::Rehearsal => return None,
    };
    Some(provider.base_url.clone().unwrap_or_else(|| usual.to_owned()))
}

/// Why no connection is possible, if so. Only the connection is tested, because calls cost money.
async fn unreachable_at(provider: &ProviderSettings) -> Option<String> {
    let place = base_url(provider)?;
    let url = reqwest::Url::parse(&place).ok()?;
    let address = (url.host_str()?.trim_matches(['[', ']']).to_owned(), url.port_or_known_default()?);
    match tokio::time::timeout(REACH_TIMEOUT, tokio::net::TcpStream::connect(address)).await {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(format!("{place} cannot be reached: {error}")),
        Err(_) => Some(format!("{place} cannot be reached within {} s", REACH_TIMEOUT.as_secs())),
    }
}

/// The model of a local server, if it responds and has one.
async fn listens(provider: &ProviderSettings) -> Option<String> {
    let endpoint = Endpoint {
        timeout: LOCAL_PROBE_TIMEOUT,
        silence: LOCAL_PROBE_TIMEOUT,
        ..Endpoint::new("local", base_url(provider)?)
    };
    match provider.kind {
        ProviderKind::Ollama => Ollama::new(endpoint, None).ok()?.model_name().await.ok().map(str::to_owned),
        _ => OpenAi::new(endpoint, None).ok()?.model_name().await.ok().map(str::to_owned),
    }
}

fn replay(name: &str, provider: &ProviderSettings) -> Result<Replay, ModelFailure> {
    let wrong = |why: String| ModelFailure::new(name, FailureKind::Misconfigured, why);
    let path = provider.file.as_ref().ok_or_else(|| wrong("there is no `file`".to_owned()))?;
    let file = File::open(path).map_err(|error| wrong(format!("{} cannot be read: {error}", path.display())))?;
    Replay::from_json_lines(file).map_err(|why| wrong(format!("{}: {why}", path.display())))
}
