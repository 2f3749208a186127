//! The actions on a run, and the rows that each needs.

use super::{
    Conclusion, NewRun, ParkRequest, Run, as_agent, cancel, claim, correct, end, park, record, resume, start, stop,
    timer,
};
use crate::{
    Actor, Commit, Digest, Gate, Name, Question, RunId, SessionId, Timestamp,
    clearance::Others,
    journal::{Entry, EntryKey, Fence, JournalWrite},
    judge::{Case, RefusedWith},
    quota::Quota,
    record::Correction,
};

/// An action on a run.
#[derive(Clone, Debug)]
pub enum Action {
    Start(Box<NewRun>),
    /// A worker takes a run, to work on it.
    Claim {
        run: RunId,
        /// The worker's node.
        node: Name,
    },
    /// Writes to a run's journal.
    Record(Box<JournalWrite>),
    /// A worker gives up a run in which every branch waits.
    Park(ParkRequest),
    /// A run's timer is due.
    TimerDue {
        run: RunId,
    },
    /// A worker cannot go on with a run.
    Stop {
        run: RunId,
        /// The claim under which it was worked on.
        epoch: u64,
        /// The kind of problem, as a code.
        code: String,
        /// What happened, and what to do.
        message: String,
    },
    /// A run has completed or failed.
    End {
        run: RunId,
        /// As whom the caller ends it.
        fence: Fence,
        conclusion: Conclusion,
    },
    /// Ends a run, in any state.
    Cancel {
        run: RunId,
        reason: String,
    },
    /// Lets a run go on that stopped or waits for a provider.
    Resume {
        run: RunId,
    },
    /// Changes a text of a record.
    CorrectRecord(Box<Correction>),
}

/// The rows of runs that a command needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs<'a> {
    /// This run, how often it was woken, until when its node is alive, and whether its parent is
    /// over.
    pub id: Option<&'a RunId>,
    /// That run's questions that are open or hold somebody.
    pub open_questions: bool,
    /// Of that run's gates: those that are pending, the last one that stopped it, the last one for
    /// which an adjustment was requested, and the last one that people approved.
    pub gates: bool,
    /// This entry of that run's journal.
    pub entry: Option<&'a EntryKey>,
    /// Whether any of these agents is not held in this session.
    pub held: Option<(&'a [Name], &'a SessionId)>,
}

/// The rows of runs that were found.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub run: Option<Run>,
    /// How often the run was woken, because something has changed for it.
    pub wakes: u64,
    /// Until when the node that has claimed it is known to be alive.
    pub alive_until: Option<Timestamp>,
    /// Whether the run that started it is over.
    pub parent_over: bool,
    /// Its gates: at least those that are listed at [`Needs::gates`].
    pub gates: Vec<Gate>,
    /// Its questions that are open, or hold somebody because a denial was not fetched. Each comes
    /// with whether holds other than these questions are on the same targets.
    pub open_questions: Vec<(Question, Others)>,
    /// The entry of its journal.
    pub entry: Option<Entry>,
    /// Whether any of the agents in [`Needs::held`] is not held.
    pub any_agent_free: bool,
}

impl Action {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Action::Start(_) => "run.start",
            Action::Claim { .. } => "run.claim",
            Action::Record(_) => "run.record",
            Action::Park(_) => "run.park",
            Action::TimerDue { .. } => "run.timer_due",
            Action::Stop { .. } => "run.stop",
            Action::End { .. } => "run.end",
            Action::Cancel { .. } => "run.cancel",
            Action::Resume { .. } => "run.resume",
            Action::CorrectRecord(_) => "run.correct_record",
        }
    }

    pub(crate) fn is_personal(&self) -> bool {
        match self {
            Action::Start(_)
            | Action::End { .. }
            | Action::Cancel { .. }
            | Action::Resume { .. }
            | Action::CorrectRecord(_) => true,
            // An agent records what it does with its own token.
            Action::Record(_) => false,
            // Only Folkmoot itself does these.
            Action::Claim { .. } | Action::Park(_) | Action::TimerDue { .. } | Action::Stop { .. } => false,
        }
    }

    pub(crate) fn on_behalf_of(&self) -> Option<&Name> {
        match self {
            Action::Record(journal_write) => journal_write.entry.agent_id.as_ref(),
            Action::Start(_)
            | Action::Claim { .. }
            | Action::Park(_)
            | Action::TimerDue { .. }
            | Action::Stop { .. }
            | Action::End { .. }
            | Action::Cancel { .. }
            | Action::Resume { .. }
            | Action::CorrectRecord(_) => None,
        }
    }

    pub(crate) fn needs<'a>(&'a self, by: &'a Actor, quota: &Quota) -> crate::Needs<'a> {
        let (mut needs, mut all) = (Needs::default(), crate::Needs::default());
        match self {
            Action::Start(new_run) => {
                needs.id = Some(&new_run.id);
                all.usage = quota.of_runs(by).filter(|_| new_run.workflow.is_some());
                all.principals = vec![as_agent(&new_run.id)];
            }
            Action::Record(journal_write) => {
                (needs.id, needs.entry) = (Some(&journal_write.run), Some(&journal_write.entry.key));
                needs.gates = journal_write.is_blocked_by_gates();
                all.contents = journal_write.shown_contents();
                // The names that a workflow uses were checked when it was started, or come from its
                // code.
                if journal_write.fence == Fence::Owner {
                    all.principals = journal_write.entry.agent_id.iter().cloned().collect();
                }
            }
            Action::Park(request) => {
                needs.id = Some(&request.run);
                needs.held = (!request.held.is_empty()).then_some((request.held.as_slice(), &request.session_id));
            }
            Action::Claim { run, .. }
            | Action::TimerDue { run }
            | Action::Stop { run, .. }
            | Action::Resume { run } => needs.id = Some(run),
            Action::End { run, .. } | Action::Cancel { run, .. } => {
                needs = Needs { id: Some(run), open_questions: true, gates: true, ..needs };
            }
            Action::CorrectRecord(correction) => {
                needs.id = Some(&correction.record.run_id);
                all.contents = vec![Digest::of(correction.text.as_bytes())].into();
            }
        }
        crate::Needs { run: needs, ..all }
    }

    pub(crate) fn judge(&self, case: &Case<'_>, loaded: crate::Loaded) -> Result<Commit, RefusedWith> {
        match self {
            Action::Start(new_run) => start::judge(case, new_run, loaded),
            Action::Claim { run, node } => claim::judge(case, run, node, loaded.run),
            Action::Record(journal_write) => record::judge(case, journal_write, loaded.run),
            Action::Park(request) => park::judge(case, request, loaded.run),
            Action::TimerDue { run } => timer::judge(case, run, loaded.run.run),
            Action::Stop { run, epoch, code, message } => {
                stop::judge(case, run, *epoch, (code, message), loaded.run.run)
            }
            Action::End { run, fence, conclusion } => end::judge(case, run, *fence, conclusion, loaded.run),
            Action::Cancel { run, reason } => cancel::judge(case, run, reason, loaded.run),
            Action::Resume { run } => resume::judge(case, run, loaded.run.run),
            Action::CorrectRecord(correction) => correct::judge(case, correction, loaded.run.run),
        }
    }
}
