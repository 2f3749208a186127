//! The JSON types of requests and responses. Ids and vocabularies come from `folkmoot_core`; none
//! is defined here a second time.

mod audit;
pub mod compat;
mod debate;
mod delivery;
mod event;
mod gate;
mod halt;
mod model;
mod object;
mod plan;
mod problem;
mod question;
mod run;
mod schema;
mod server;
mod token;
mod webhook;

pub use audit::{AuditEntry, AuditPage, Checkpoint, Erase, Erased, Receipt, Verification};
pub use compat::{
    ApprovalRequest, ApprovalResponse, AwaitingCheckpoint, AwaitingProposal, GateDecision, GateRequest, GateRequests,
    PlanAnswer, PlanCancelled, PlanComplete, PlanError, PlanInProgress, PlanPaused, PlanRequest,
};
pub use debate::{
    Agents, CancelDebate, CodeVersion, CodeVersionList, CorrectLesson, Debate, DebateBallot, DebateCost, DebateDissent,
    DebateGateQuery, DebateGates, DebateLesson, DebateLessonList, DebateList, DebateListParams, DebateProgress,
    DebateReplay, DebateResults, DebateStarted, DebateTests, DebateTrail, DebateTurn, DebateTurnList, DebateTurnQuery,
    DebateTurns, DebateVerdict, DebateVote, DebateVotes, Decimal, NewAgent, OrAuto, OrNone, PhaseSwitch, ReplayDiffers,
    StartDebate, TrailEntry, TrailQuery, TrailSummary, UndecidedAnswer, VersionListParams,
};
pub use delivery::{Channel, ChannelList, Delivery, DeliveryList, DeliveryListParams, TestChannel, Tested};
pub use event::{Event, FeedMessage};
pub use gate::{
    Amend, Artifact, Cancel, Decide, Decision, Extend, Gate, GateList, GateListParams, NewArtifact, OpenGate, Verdict,
    Vote, WaitFor, WaitMany, Waited,
};
pub use halt::{AnswerGiven, BlockedBy, Clearance, ClearanceFor, ClearanceWaited, Halt, HaltStatus, HeldBy, RaiseHalt};
pub use model::{AskedModel, AskedModelQuery, ListeningModel, Provider, ProviderList};
pub use plan::{ExportPlan, Plan, PlanBudget, PlanEntity, PlanList, PlanQuery, PlanResult, StartPlan};
pub use problem::Problem;
pub use question::{Answer, Ask, Closed, Question, QuestionList, QuestionListParams, WithReason};
pub use run::{
    EndRun, Ending, Fault, JournalEntry, JournalListParams, JournalPage, Outage, RecordStep, ResumeRun, Run, RunList,
    RunListParams, StartRun, WaitingAt,
};
pub use server::ServerFile;
pub use token::{NewToken, Token, TokenList};
pub use webhook::{ChangeWebhook, NewWebhook, Webhook, WebhookList};
