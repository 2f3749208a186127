//! The server's model providers.

use folkmoot_api::wire::{AskedModel, ListeningModel, Provider, ProviderList};
use folkmoot_workflows::{
    Voices,
    llm::{models::ProviderOrigin, rehearsal},
};

/// The provider that would be asked, for this name or by default; or why none.
pub async fn asked(voices: &dyn Voices, named: Option<String>) -> Result<AskedModel, String> {
    let choice = voices.explain(named).await.map_err(|failure| failure.message)?;
    let rehearsal = choice.provider == rehearsal::NAME;
    let listening = if choice.chosen { Vec::new() } else { voices.listening().await };
    Ok(AskedModel {
        provider: choice.provider,
        model: choice.model,
        base_url: choice.base_url,
        why: choice.why,
        rehearsal,
        chosen: choice.chosen,
        listening: listening
            .into_iter()
            .map(|found| ListeningModel { provider: found.provider, model: found.model, base_url: found.base_url })
            .collect(),
    })
}

pub async fn list(voices: &dyn Voices) -> ProviderList {
    let providers = voices.list().await.into_iter().map(|listed| Provider {
        name: listed.name,
        kind: listed.kind.to_string(),
        origin: match listed.origin {
            ProviderOrigin::Configured => "configured",
            ProviderOrigin::Environment => "environment",
            ProviderOrigin::Local => "local",
            ProviderOrigin::BuiltIn => "built_in",
        }
        .to_owned(),
        model: listed.model,
        base_url: listed.base_url,
        problem: listed.missing,
    });
    let providers = providers.collect();
    let (asked, problem) = match asked(voices, None).await {
        Ok(asked) => (Some(asked), None),
        Err(problem) => (None, Some(problem)),
    };
    ProviderList { providers, asked, problem }
}
