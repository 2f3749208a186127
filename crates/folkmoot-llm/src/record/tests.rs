use super::*;
use crate::{
    Replay,
    scripted::{ScriptedModel, ScriptedReply::*},
};

#[tokio::test(start_paused = true)]
async fn what_was_recorded_in_a_file_is_replayed_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    let model = ScriptedModel::new([Says("one"), Says("two"), Fails(FailureKind::Withheld)]);
    let recorded = RecordedModel { model, recorder: Arc::new(JsonLines::append(&path).unwrap()) };
    let [a, b] = ["a", "b"].map(ModelRequest::new);
    let mut outcomes = Vec::new();
    for request in [&a, &a, &b] {
        outcomes.push(recorded.ask(request, &mut ()).await);
    }

    let replay = Replay::from_json_lines(File::open(&path).unwrap()).unwrap();
    // Another order, another time of asking: the same calls.
    let named = ModelRequest { idempotency_key: Some("again".to_owned()), ..b.clone() };
    assert_eq!(replay.ask(&named, &mut ()).await, outcomes[2]);
    assert_eq!(replay.ask(&a, &mut ()).await, outcomes[0]);
    assert_eq!(replay.ask(&a, &mut ()).await, outcomes[1]);
    assert_eq!(replay.left(), 0);
}

#[cfg(unix)]
#[test]
fn recordings_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.jsonl");
    JsonLines::append(&path).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(JsonLines::append(&path).unwrap_err().to_string().contains("chmod 600"));
}

#[derive(Debug)]
struct Full;

impl Recorder for Full {
    fn keep(&self, _: ModelCallRecord) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_is_not_given() {
    let recorded = RecordedModel { model: ScriptedModel::new([Says("one")]), recorder: Arc::new(Full) };
    let failure = recorded.ask(&ModelRequest::new("a"), &mut ()).await.unwrap_err();
    assert_eq!(failure.provider, "recording");
}
