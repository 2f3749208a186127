use crate::{
    Digest,
    gate::{ArtifactRef, Choice, Content, GateKind, OnTimeout, Risk},
};

/// Computed once, with nothing of ours:
///
/// ```python
/// text = json.dumps({...}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
/// hashlib.sha256(text.encode()).hexdigest()
/// ```
const KNOWN: &str = "sha256:a562376a3792624c844ad3c890ecb1c15343821afbe49576b5eccefa9ac6f241";

const SUMMARY: &str = "Größe „ändern“ 日本語 🦀\n\t\"quoted\" back\\slash / \u{8}\u{c}\r\u{1}\u{1f}\u{7f}\u{2028} end";

fn content() -> Content {
    let artifact = |name: &str, media_type: &str, content: &str| ArtifactRef {
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        digest: Digest::of(content.as_bytes()),
        bytes: content.len() as u64,
    };
    Content {
        title: "Déploie \"1.4.2\"".to_owned(),
        summary: Digest::of(SUMMARY.as_bytes()),
        phase: "merge".parse().unwrap(),
        kind: GateKind::Custom,
        risk: Risk::Critical,
        artifacts: vec![artifact("change.diff", "text/x-diff", "+1"), artifact("Ü.md", "text/markdown", "é")],
        allowed: vec![Choice::Approve, Choice::Reject, Choice::Adjust],
        on_timeout: OnTimeout::Fail,
        reviewers: vec!["alice".parse().unwrap(), "bob".parse().unwrap()],
        quorum: 2,
    }
}

#[test]
fn the_digest_is_that_of_the_canonical_json() {
    assert_eq!(content().digest(SUMMARY).to_string(), KNOWN);
}

#[test]
fn everything_that_a_reviewer_sees_is_in_the_digest() {
    type Change = fn(&mut Content);
    let changes: [(&str, Change); 12] = [
        ("title", |content| content.title.push('!')),
        ("phase", |content| content.phase = "Merge".parse().unwrap()),
        ("kind", |content| content.kind = GateKind::Tool),
        ("risk", |content| content.risk = Risk::High),
        ("an artifact's name", |content| content.artifacts[0].name.push('x')),
        ("an artifact's media type", |content| content.artifacts[0].media_type.push('x')),
        ("an artifact's content", |content| content.artifacts[0].digest = Digest::of(b"+2")),
        ("the artifacts' order", |content| content.artifacts.reverse()),
        ("allowed", |content| content.allowed.truncate(2)),
        ("on_timeout", |content| content.on_timeout = OnTimeout::Approve),
        ("reviewers", |content| content.reviewers.clear()),
        ("quorum", |content| content.quorum = 1),
    ];
    for (what, change) in changes {
        let mut content = content();
        change(&mut content);
        assert_ne!(content.digest(SUMMARY).to_string(), KNOWN, "{what}");
    }
    assert_ne!(content().digest(&SUMMARY.replace("日", "曰")).to_string(), KNOWN, "summary");
}
