//! What a gate asks to be decided on, and the digest that a decision is bound to.

use serde::{Deserialize, Serialize};

use super::{Choice, GateKind, OnTimeout, Risk};
use crate::{Digest, Name, Phase, Refusal, text};

/// All that a reviewer sees and that a decision is therefore about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// One line.
    pub title: String,
    /// The digest of the summary; its text is an artifact, so that it can be erased while the chain
    /// still verifies.
    pub summary: Digest,
    /// Where in the run it stands.
    pub phase: Phase,
    /// What sort of request.
    pub kind: GateKind,
    /// What is at stake.
    pub risk: Risk,
    /// What the reviewer can look at.
    pub artifacts: Vec<ArtifactRef>,
    /// What the reviewer can say.
    pub allowed: Vec<Choice>,
    /// What a timeout does.
    pub on_timeout: OnTimeout,
    /// Who may decide; empty means any reviewer.
    pub reviewers: Vec<Name>,
    /// Approvals needed.
    pub quorum: u32,
}

/// A named piece of content. The bytes are elsewhere, under their digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRef {
    /// As the requester calls it.
    pub name: String,
    /// What it is: a diff, test results, markdown, JSON.
    pub media_type: String,
    /// Of its bytes.
    pub digest: Digest,
    /// How many there are.
    pub bytes: u64,
}

impl Content {
    /// The digest that a decision names: SHA-256 of this content's canonical JSON, with the
    /// summary's text.
    pub fn digest(&self, summary: &str) -> Digest {
        Digest::of_canonical(&Canonical {
            allowed: &self.allowed,
            artifacts: self.artifacts.iter().map(CanonicalArtifact::from).collect(),
            kind: self.kind,
            on_timeout: self.on_timeout,
            phase: &self.phase,
            quorum: self.quorum,
            reviewers: &self.reviewers,
            risk: self.risk,
            summary,
            title: &self.title,
        })
    }

    /// Refuses artifacts that could not be told apart or not be shown.
    pub(super) fn check_artifacts(artifacts: &[ArtifactRef]) -> Result<(), Refusal> {
        if artifacts.len() > ARTIFACTS_MAX {
            let problem = format!("has {} entries; at most {ARTIFACTS_MAX} are allowed", artifacts.len());
            return Err(Refusal::invalid("artifacts", problem));
        }
        for (n, artifact) in artifacts.iter().enumerate() {
            text::check_filled("artifacts.name", &artifact.name, text::TITLE_BYTES_MAX)?;
            text::check_filled("artifacts.media_type", &artifact.media_type, text::TITLE_BYTES_MAX)?;
            if artifacts[..n].iter().any(|earlier| earlier.name == artifact.name) {
                return Err(Refusal::invalid("artifacts", format!("names {:?} twice", artifact.name)));
            }
        }
        Ok(())
    }
}

/// The most artifacts that one gate can carry.
const ARTIFACTS_MAX: usize = 64;

/// Fields in alphabetical order, as RFC 8785 wants them.
#[derive(Serialize)]
struct Canonical<'a> {
    allowed: &'a [Choice],
    artifacts: Vec<CanonicalArtifact<'a>>,
    kind: GateKind,
    on_timeout: OnTimeout,
    phase: &'a Phase,
    quorum: u32,
    reviewers: &'a [Name],
    risk: Risk,
    summary: &'a str,
    title: &'a str,
}

#[derive(Serialize)]
struct CanonicalArtifact<'a> {
    media_type: &'a str,
    name: &'a str,
    sha256: String,
}

impl<'a> From<&'a ArtifactRef> for CanonicalArtifact<'a> {
    fn from(artifact: &'a ArtifactRef) -> Self {
        Self { media_type: &artifact.media_type, name: &artifact.name, sha256: artifact.digest.hex() }
    }
}
