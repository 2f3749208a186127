//! What debates ask, as vendors take it.

use folkmoot_debate::{Phases, agent::DebatePhase};
use folkmoot_workflows::debate::{DebateConfig, Instructor, Preset};

use super::{
    CODE, debating,
    stage::{Says, Stage},
};
use crate::vendors;

#[test]
fn every_schema_of_a_debate_is_one_that_all_vendors_take() {
    let whole = |topic| DebateConfig { phases: Phases::only(DebatePhase::ALL), ..debating(Preset::Full, topic, 8) };
    let plays = [
        Stage::new(&whole(CODE)),
        Stage::new(&whole("Should we write tests first?")),
        Stage::new(&DebateConfig { instructor: Instructor::Person, ..whole("Should we write tests first?") }),
        Stage::new(&debating(Preset::Economy, "Should we write tests first?", 3)),
        Stage::new(&DebateConfig { answers: 1, ..debating(Preset::Quick, CODE, 3) }),
        // With a repair turn.
        Stage::new(&whole(CODE)).says(|cue| (cue.attempt == 0).then(|| Says::Words("I agree!".to_owned()))),
    ];
    let requests: Vec<_> = plays.into_iter().flat_map(|stage| stage.play().asked).collect();
    let parts: std::collections::BTreeSet<&str> =
        requests.iter().filter_map(|request| Some(request.cue.as_ref()?.part.as_str())).collect();
    for part in ["proposal", "critique", "review", "optimization", "attack", "ballot", "clarify", "reflect"] {
        assert!(parts.contains(part), "{part} was never asked for: {parts:?}");
    }
    let (refused, sorts) = vendors::refused(requests);
    assert!(sorts > 10, "{sorts}");
    assert_eq!(refused, Vec::<String>::new());
}
