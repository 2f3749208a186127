use std::collections::BTreeMap;

use super::{ContentText, Receipt};
use crate::{
    Digest, Event, Timestamp,
    checkpoint::Checkpoint,
    transcript::{World, play},
};

/// A gate that was amended and then decided on.
fn world() -> World {
    play(
        r#"
        09:00 bot opens a quorum=2 "one"
        09:01 alice approves
        09:02 bot amends "two"
        09:03 alice approves digest=r2
        09:04 bob approves "fine" digest=r2
        "#,
    )
}

fn receipt(world: &World) -> (Receipt, Vec<Event>, Checkpoint) {
    let events = world.stream(world.gates.keys().next().unwrap().as_str());
    let at = Timestamp::from_micros(0);
    let receipt = Receipt::new(&events, &world.artifacts, at).unwrap();
    (receipt, events, Checkpoint::new(world.head(), world.log[0].hash, at))
}

#[test]
fn an_honest_receipt_has_no_problem() {
    let (receipt, events, checkpoint) = receipt(&world());
    assert_eq!(receipt.check(&events, &checkpoint), []);
    assert_eq!(receipt.shown.len(), 2);
    assert_eq!(receipt.standing().unwrap().summary.text.as_deref(), Some("two"));
    let written = serde_json::to_string(&receipt).unwrap();
    assert_eq!(serde_json::from_str::<Receipt>(&written).unwrap(), receipt);
}

/// What is found after this was done to an honest receipt.
fn found(trick: impl FnOnce(&mut Receipt, &mut Vec<Event>, &mut Checkpoint)) -> String {
    let (mut receipt, mut events, mut checkpoint) = receipt(&world());
    trick(&mut receipt, &mut events, &mut checkpoint);
    let problems = receipt.check(&events, &checkpoint);
    problems.iter().map(|problem| format!("{}: {}\n", problem.at, problem.problem)).collect()
}

#[test]
fn whatever_is_changed_is_found() {
    let decided = found(|receipt, _, _| receipt.decision.as_mut().unwrap().reviewer = "mallory".parse().unwrap());
    assert!(decided.contains("decision: is not what the events make of it"), "{decided}");
    let event = found(|_, events, _| events[3].fact.payload = events[3].fact.payload.replace("approve", "reject"));
    assert!(event.contains("it was changed"), "{event}");
    let removed = found(|_, events, _| drop(events.remove(1)));
    assert!(removed.contains("its events do not make a gate"), "{removed}");
    let text = found(|receipt, _, _| receipt.shown[1].summary.text = Some("three".to_owned()));
    assert!(text.contains("this content was changed") && text.contains("revision 2"), "{text}");
    let title = found(|receipt, _, _| receipt.shown[1].title = "harmless".to_owned());
    assert!(title.contains("shown: is not what") && title.contains("revision 2"), "{title}");
    let status = found(|receipt, _, _| receipt.status = crate::GateStatus::Rejected);
    assert!(status.contains("status: is not what"), "{status}");
    let future = found(|_, _, checkpoint| checkpoint.position = 2);
    assert!(future.contains("is not in the log that the checkpoint saw"), "{future}");
    let lost = found(|receipt, _, _| receipt.shown[1].summary.text = None);
    assert!(lost.contains("this content is gone, and nobody has erased it"), "{lost}");
    let hex = found(|receipt, _, _| receipt.shown[1].summary.hex = Some("zz".to_owned()));
    assert!(hex.contains("its bytes are not written"), "{hex}");
}

#[test]
fn bytes_that_are_no_text_are_in_it_too() {
    let bytes = vec![0, 255, 16];
    let text = ContentText::new(Digest::of(&bytes), &BTreeMap::from([(Digest::of(&bytes), bytes.clone())]));
    assert_eq!((text.text.as_deref(), text.hex.as_deref()), (None, Some("00ff10")));
    assert_eq!(text.bytes(), Ok(Some(bytes)));
    for wrong in ["0", "zz", "ä0"] {
        let text = ContentText { hex: Some(wrong.to_owned()), ..text.clone() };
        assert_eq!(text.bytes(), Err(()), "{wrong}");
    }
}
