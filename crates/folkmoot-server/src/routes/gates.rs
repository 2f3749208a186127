//! Gates: one file per verb.

pub(crate) mod amend;
pub(crate) mod cancel;
pub(crate) mod decide;
pub(crate) mod erase;
pub(crate) mod extend;
pub(crate) mod list;
pub(crate) mod open;
pub(crate) mod receipt;
pub(crate) mod show;
pub(crate) mod wait;

use folkmoot_api::wire;
use folkmoot_engine::ArtifactInput;

fn artifact(artifact: wire::NewArtifact) -> ArtifactInput {
    let wire::NewArtifact { name, media_type, content } = artifact;
    ArtifactInput { name, media_type, content: content.into_bytes() }
}
