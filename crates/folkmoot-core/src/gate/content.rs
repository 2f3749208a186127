//! What a gate asks to be decided on, and the digest that a decision is bound to.

use serde::{Deserialize, Serialize};

use super::{Choice, GateKind, OnTimeout, Risk};
use crate::{Digest, Name, Phase, Refusal, text};

/// Everything that a reviewer sees, and so what a decision is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// One line.
    pub title: String,
    /// The digest of the summary. Its text is an artifact, so that it can be erased while the chain
    /// still verifies.
    pub summary: Digest,
    /// The phase of the run in which it was opened.
    pub phase: Phase,
    pub kind: GateKind,
    pub risk: Risk,
    /// What the reviewer can look at.
    pub artifacts: Vec<ArtifactRef>,
    /// The choices that a reviewer has.
    pub allowed: Vec<Choice>,
    pub on_timeout: OnTimeout,
    /// Who may decide; empty means any reviewer.
    pub reviewers: Vec<Name>,
    /// The number of approvals needed.
    pub quorum: u32,
}

/// A named piece of content. Its bytes are stored elsewhere, under their digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRef {
    /// Chosen by the requester.
    pub name: String,
    /// What it is: a diff, test results, markdown, JSON.
    pub media_type: String,
    pub digest: Digest,
    /// The length of its content.
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

    /// Refuses too many artifacts, unfit names or media types, and names that occur twice.
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

/// The maximum number of artifacts of one gate.
const ARTIFACTS_MAX: usize = 64;

/// Fields in alphabetical order, as RFC 8785 demands.
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
