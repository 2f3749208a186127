//! The gate after a phase: what it shows, and what its decision means.

use folkmoot_core::{
    gate::{Choice, DecisionWord, GateKind, Next},
    text,
};
use folkmoot_debate::{NoteKind, agent::DebatePhase};
use folkmoot_engine::{Ctx, Failure, GateOutcome, GateSpec};
use serde_json::json;

use super::{DebateContext, OnRejected, PhaseAttempt, PhaseReport, RETRIES_MAX, evidence, state::DebateState};

/// The key of the gate after a phase. Another gate comes before a debate ends because its first
/// answers agree.
pub(super) const PHASE_GATE_KEY: &str = "gate";

/// What follows a gate that lets the debate go on.
pub(super) enum AtGate {
    Approved,
    /// The result was rejected, and the debate goes on nevertheless.
    GoOn,
    /// The phase is repeated, with what people said.
    Again,
}

/// An artifact: its name, media type and content.
type GateArtifact = (&'static str, &'static str, Vec<u8>);

impl DebateContext {
    pub(super) async fn ask_people(
        &self,
        ctx: &Ctx,
        at: PhaseAttempt,
        key: &str,
        came: &PhaseReport,
        state: &mut DebateState,
    ) -> Result<AtGate, Failure> {
        let gates = &self.config.gates;
        let mut gate = GateSpec::new(text::shortened(&self.summary(at, came, state), text::SUMMARY_BYTES_MAX))
            .title(format!("{}: {}", at.phase, self.config.title()))
            .phase(&at.phase.word().parse()?)
            .kind(GateKind::Phase)
            .allow([Choice::Approve, Choice::Reject, Choice::Adjust]);
        for (name, media_type, content) in self.artifacts(came, state)? {
            gate = gate.artifact(name, media_type, content);
        }
        if let Some(timeout) = gates.timeout {
            gate = gate.timeout(timeout);
        }
        if let Some(on_timeout) = gates.on_timeout {
            gate = gate.on_timeout(on_timeout);
        }
        if let Some(reviewers) = &gates.reviewers {
            gate = gate.reviewers(reviewers.iter().cloned());
        }
        for channel in &gates.notification_channels {
            gate = gate.notify(channel);
        }
        let GateOutcome { decision, edited } = ctx.gate(at.key(key), gate).await?;
        let reason = format!("{} by {}: {}", decision.decision, decision.reviewer, decision.reason);
        let advice = [decision.feedback.as_deref(), edited.as_deref()].into_iter().flatten();
        let advice = advice.filter(|said| !said.trim().is_empty()).collect::<Vec<_>>().join("\n\n");
        let retry = match decision.decision {
            _ if decision.outcome == Next::Proceed => {
                // The reason for an approval is only recorded; advice goes to those who speak next.
                state.notes.extend((!advice.is_empty()).then_some((NoteKind::Guidance, advice)));
                return Ok(AtGate::Approved);
            }
            DecisionWord::AdjustRequested | DecisionWord::AdjustStrategy => true,
            DecisionWord::Rejected => match gates.on_rejected {
                OnRejected::Fail => return Err(Failure::new("gate_rejected", reason)),
                OnRejected::Retry => true,
                // Nothing follows that could use what was said, so rejecting the final result fails
                // the debate.
                OnRejected::Continue if at.phase == DebatePhase::Convergence && key == PHASE_GATE_KEY => {
                    return Err(Failure::new("gate_rejected", reason));
                }
                OnRejected::Continue => false,
            },
            DecisionWord::TimedOut => return Err(Failure::new("gate_timed_out", reason)),
            DecisionWord::Approved | DecisionWord::Override | DecisionWord::Paused | DecisionWord::Cancelled => {
                return Err(Failure::new("gate_rejected", reason));
            }
        };
        if retry && at.again >= RETRIES_MAX {
            let message = format!("{reason} (the phase was done {} times)", at.again + 1);
            return Err(Failure::new("gate_rejected", message));
        }
        // A person is the best critic, so everybody who speaks from here on is told what they said.
        let said = if advice.is_empty() { decision.reason } else { advice };
        state.notes.push((NoteKind::Guidance, said));
        Ok(if retry { AtGate::Again } else { AtGate::GoOn })
    }

    fn summary(&self, at: PhaseAttempt, came: &PhaseReport, state: &DebateState) -> String {
        let mut lines = vec![format!("Round {}, {}: {}.", at.round, at.phase, came.note)];
        for candidate in state.candidates.values() {
            let tested = state.tested(&candidate.author);
            let tests = tested.map_or_else(String::new, |tested| {
                format!(", passes {} of {} tests of others", tested.passed, tested.of)
            });
            let score = state.quality(&candidate.author).map_or_else(String::new, |score| format!(", scored {score}"));
            lines.push(format!("- {}{tests}{score}: {}", candidate.author, text::headline(&candidate.text)));
        }
        if let Some(verdict) = &came.verdict {
            lines.extend(
                verdict.dissent.iter().map(|dissent| format!("- against it, {}: {}", dissent.agent, dissent.objection)),
            );
        }
        lines.join("\n")
    }

    fn artifacts(&self, came: &PhaseReport, state: &DebateState) -> Result<Vec<GateArtifact>, Failure> {
        let mut artifacts = Vec::new();
        let answers: Vec<_> =
            state.candidates.values().map(|one| json!({ "author": one.author, "answer": one.text })).collect();
        artifacts.push(("answers", "application/json", serde_json::to_vec(&answers)?));
        // The diff shows the last change of the answer that is decided on. Code of other authors is
        // not part of its history.
        let winner = came.verdict.as_ref().and_then(|verdict| verdict.winner.as_ref());
        let author = winner.or_else(|| state.leading().map(|leading| &leading.author));
        let versions = state.versions.iter().zip(1_u32..).filter(|((by, _), _)| Some(by) == author);
        if let [.., ((_, before), _), ((_, after), number)] = versions.collect::<Vec<_>>()[..] {
            artifacts.push(("diff", "text/x-diff", evidence::difference(before, after, number).into_bytes()));
        }
        if state.cross.is_some() {
            let tests: Vec<_> = state
                .candidates
                .keys()
                .filter_map(|author| {
                    let tested = state.tested(author)?;
                    Some(json!({ "author": author, "passed": tested.passed, "of": tested.of, "failed": tested.failed }))
                })
                .collect();
            artifacts.push(("tests", "application/json", serde_json::to_vec(&tests)?));
        }
        if !state.scores.is_empty() {
            artifacts.push(("scores", "application/json", serde_json::to_vec(&state.scores)?));
        }
        if let Some(verdict) = &came.verdict {
            artifacts.push(("votes", "application/json", serde_json::to_vec(verdict)?));
        }
        Ok(artifacts)
    }
}
