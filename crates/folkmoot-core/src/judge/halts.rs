//! What is written when a halt is raised or lifted.

use super::{Case, RefusedWith, questions::released};
use crate::{
    Commit, Fact, Halt, HaltId, Loaded, Name, Outcome, Refusal, Row,
    clearance::Others,
    halt::{self, HaltEvent, Raising, notices},
    question::RefusedAttempt,
};

impl Case<'_> {
    pub(super) fn raise(&self, raising: &Raising) -> Result<Commit, RefusedWith> {
        let by = self.principal("raise a halt")?;
        let event = match halt::raise(raising, by, self.now) {
            Ok(event) => event,
            Err(refusal @ Refusal::RoleMayNot { .. }) if self.command.quota.records_refusals => {
                let event = self.attempt("raise", &by.name, &refusal);
                // A stream of its own, which never becomes a halt.
                let fact =
                    self.fact(raising.id.as_str(), 1, event.kind(), event.payload(), raising.session_id.as_ref());
                return Err(RefusedWith {
                    refusal,
                    record: Box::new(Commit { events: vec![fact], ..Commit::default() }),
                });
            }
            Err(refusal) => return Err(refusal.into()),
        };
        let HaltEvent::Raised(halt) = &event else { unreachable!("a raising raises") };
        let mut halt = halt.as_ref().clone();
        let mut events = vec![self.on(&halt, &event)];
        events.extend(self.told(&mut halt, None, Others::default()));
        let mut rows: Vec<Row> = halt.session_id.iter().map(|id| Row::Session(id.clone(), self.now)).collect();
        rows.push(Row::Halt(Box::new(halt.clone())));
        Ok(Commit { rows, events, outcome: Outcome::Halt(Box::new(halt)), ..Commit::default() })
    }

    pub(super) fn lift(&self, id: &HaltId, loaded: Loaded) -> Result<Commit, RefusedWith> {
        let by = self.principal("lift a halt")?;
        let mut halt = loaded.halt.ok_or_else(|| Refusal::UnknownHalt { halt: id.clone() })?;
        let before = halt.clone();
        match halt::lift(&halt, by, self.now) {
            Ok(event) => {
                halt.apply(&event).expect("an event that the rules just allowed applies");
                let mut events = vec![self.on(&halt, &event)];
                events.extend(self.told(&mut halt, Some(&before), loaded.others));
                let rows = vec![Row::Halt(Box::new(halt.clone()))];
                let wakes = released(before.hold().as_ref(), halt.hold().as_ref());
                Ok(Commit { rows, events, wakes, outcome: Outcome::Halt(Box::new(halt)), ..Commit::default() })
            }
            Err(refusal) if !self.command.quota.records_refusals => Err(refusal.into()),
            Err(refusal) => {
                let event = self.attempt("lift", &halt.raised_by, &refusal);
                halt.apply(&event).expect("a refusal changes nothing but the count");
                let events = vec![self.on(&halt, &event)];
                let rows = vec![Row::Halt(Box::new(halt))];
                Err(RefusedWith { refusal, record: Box::new(Commit { events, rows, ..Commit::default() }) })
            }
        }
    }

    /// What the change did to agents, sessions and everyone, as further events of the halt's
    /// stream.
    fn told(&self, halt: &mut Halt, before: Option<&Halt>, others: Others) -> Vec<Fact> {
        let (held, holds) = (before.and_then(Halt::hold), halt.hold());
        let mut tell = |notice| {
            let event = HaltEvent::Noticed(Box::new(notice));
            halt.apply(&event).expect("a notice changes nothing but the count");
            self.on(halt, &event)
        };
        notices(held.as_ref(), holds.as_ref(), others, None).into_iter().map(&mut tell).collect()
    }

    /// An event of the halt's stream, of which it is now the last.
    fn on(&self, halt: &Halt, event: &HaltEvent) -> Fact {
        self.fact(halt.id.as_str(), halt.seq, event.kind(), event.payload(), halt.session_id.as_ref())
    }

    fn attempt(&self, attempted: &'static str, raised_by: &Name, refusal: &Refusal) -> HaltEvent {
        HaltEvent::Refused(RefusedAttempt {
            asked_by: raised_by.clone(),
            attempted: attempted.into(),
            code: refusal.code().to_owned(),
            refusal: refusal.to_string(),
            unrecorded: self.command.quota.unrecorded,
        })
    }
}
