//! Whatever text comes from outside is read or refused, and nothing panics.

use folkmoot_debate::{
    Agent, Estimate, TaskPlan,
    consensus::{Consensus, Contribution, same_answer},
    findings::{Attack, Finding, RedTeamReport, risk, test_digest},
};
use folkmoot_mangle::check_text;

#[test]
fn agents_in_json_are_read_or_refused() {
    let samples = [r#"{"name":"critic","role":"critic","model":"m-1","domain":"security","affinity":{"a":1.0}}"#];
    check_text("agents", &samples, |text| drop(serde_json::from_str::<Agent>(text)));
}

#[test]
fn what_models_write_in_a_debate_is_read_or_refused() {
    let samples = [
        r#"[{"id":"b","title":"B","depends_on":["a"]},{"id":"a","title":"A","priority":2,"agent":"p"}]"#,
        r#"[{"category":"race","severity":"high","title":"two writers"},{"category":"race","severity":"low","title":"two"}]"#,
        "**The answer is 1,000.50!** (\"-42\") `f()` .5",
        "- Make it better, somehow?\n2) within 5 ms or never, see main.rs and sort_by()",
    ];
    check_text("what models write in a debate", &samples, |text| {
        if let Ok(plan) = serde_json::from_str::<TaskPlan>(text) {
            let written = serde_json::to_string(&plan).expect("a plan is JSON");
            assert_eq!(serde_json::from_str::<TaskPlan>(&written).ok(), Some(plan), "{text}");
        }
        if let Ok(findings) = serde_json::from_str::<Vec<Finding>>(text) {
            let _ = (risk(&findings), Attack::of(&findings, vec![RedTeamReport::Found(findings.clone())]));
        }
        let _ = (Estimate::of(text, Some(text), &[text]), test_digest(text));
        let answer = Contribution::Answer { text, confidence: None };
        let _ = Consensus::of(&[answer, answer], &[]);
        assert_eq!(same_answer(text, text), same_answer(text, &format!(" {text} ")));
    });
}
