use crate::{
    Timeout,
    gate::{AutoApproved, DecisionWord, GateConfig, PhaseCheck},
};

const AUTO: PhaseCheck = PhaseCheck::Approved(AutoApproved {
    request_id: "",
    decision: DecisionWord::Approved,
    reviewer: "auto",
    reason: "gate not enabled for this phase",
});

fn config(json: &str) -> GateConfig {
    serde_json::from_str(json).unwrap()
}

#[test]
fn gates_that_are_off_approve_every_phase() {
    assert_eq!(GateConfig::default().check("proposal"), AUTO);
    assert_eq!(config(r#"{"gate_points": ["proposal"]}"#).check("proposal"), AUTO);
    assert_eq!(config(r#"{"enabled": true}"#).check("proposal"), AUTO);
}

#[test]
fn a_gate_stands_exactly_at_the_gate_points() {
    let config = config(r#"{"enabled": true, "gate_points": ["proposal", "convergence"]}"#);
    let phases = ["dehallucination", "proposal", "critique", "convergence", "Proposal", "proposal ", ""];
    let answers = phases.map(|phase| config.check(phase));
    assert_eq!(answers, [AUTO, PhaseCheck::Gate, AUTO, PhaseCheck::Gate, AUTO, AUTO, AUTO]);
}

#[test]
fn the_automatic_decision_is_word_for_word_that_of_seed_000() {
    let PhaseCheck::Approved(decision) = GateConfig::default().check("proposal") else { panic!("gates are off") };
    let json =
        r#"{"request_id":"","decision":"approved","reviewer":"auto","reason":"gate not enabled for this phase"}"#;
    assert_eq!(serde_json::to_string(&decision).unwrap(), json);
}

#[test]
fn gates_are_off_by_default_and_wait_thirty_minutes() {
    let json = r#"{"enabled":false,"gate_points":[],"timeout_ms":1800000,"notification_channels":[]}"#;
    assert_eq!(serde_json::to_string(&GateConfig::default()).unwrap(), json);
    assert_eq!(config("{}"), GateConfig::default());
    assert_eq!(config(r#"{"timeout_ms": "never"}"#).timeout, Timeout::Never);
    for bad in [
        r#"{"enabled": "yes"}"#,
        r#"{"gate_point": ["proposal"]}"#,
        r#"{"timeout_ms": 0}"#,
        r#"{"timeout_ms": -1}"#,
        r#"{"timeout_ms": 1.5}"#,
        r#"{"timeout_ms": "soon"}"#,
    ] {
        assert!(serde_json::from_str::<GateConfig>(bad).is_err(), "{bad}");
    }
}
