//! Commands: what somebody wants done, and which rows must be read to judge it. The actions on each
//! noun are in the noun's own module, with the rows that they need and their rules.

use std::{borrow::Cow, sync::Arc};

use crate::{
    CommandId, Digest, HaltId, Name, Presence, Principal, QuestionId, Refusal, Role, TokenId, Webhook,
    delivery::{self, Subscription},
    erase::{self, ContentStatus},
    gate, halt, node, question,
    quota::{Quota, QuotaUsage},
    run,
    token::{self, Token},
    webhook,
};

/// One request, complete: apart from the rows that it needs, nothing is looked up to judge it.
#[derive(Clone, Debug)]
pub struct Command {
    /// Its id in the log.
    pub id: CommandId,
    /// Who sent it, as the credential says.
    pub by: Actor,
    /// The token that was sent with it. `None` for what Folkmoot and its workflows do.
    pub token: Option<TokenId>,
    /// How the request claims that a person made it. Only a terminal can be claimed.
    pub claims: Option<Presence>,
    /// How a repeated request is recognised.
    pub idempotency: Option<Idempotency>,
    pub action: Action,
    /// How much the sender may have open.
    pub quota: Quota,
    /// Which channels receive which events, in addition to the channels that a gate names.
    pub subscriptions: Arc<[Subscription]>,
}

/// Who sends a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A person, agent or service; or a workflow, which speaks as a principal.
    Principal(Principal),
    /// Folkmoot itself, for example for a timer or at the first start.
    System,
}

impl Actor {
    /// The name in the log.
    pub fn name(&self) -> Name {
        match self {
            Actor::Principal(principal) => principal.name.clone(),
            Actor::System => "system".parse().expect("a plain word is a name"),
        }
    }

    /// Refuses everybody but admins and Folkmoot itself.
    pub(crate) fn must_be_admin(&self, verb: &'static str) -> Result<(), Refusal> {
        match self {
            Actor::System | Actor::Principal(Principal { role: Role::Admin, .. }) => Ok(()),
            Actor::Principal(Principal { role, .. }) => Err(Refusal::RoleMayNot { role: *role, verb }),
        }
    }
}

/// Identifies a repeated request: one with the same principal, route and key. It must then have the
/// same fingerprint too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// Chosen by the caller.
    pub key: String,
    /// Method and path.
    pub route: String,
    /// The digest of the request's body.
    pub fingerprint: Digest,
}

/// What a command wants, by noun.
#[derive(Clone, Debug)]
pub enum Action {
    Gate(gate::Action),
    Question(question::Action),
    Halt(halt::Action),
    Run(run::Action),
    Node(node::Action),
    Content(erase::Action),
    Token(token::Action),
    Webhook(webhook::Action),
    Delivery(delivery::Action),
}

impl Action {
    /// Its name in logs and traces, as `noun.verb`, without the id of what it acts on.
    pub fn word(&self) -> &'static str {
        match self {
            Action::Gate(action) => action.word(),
            Action::Question(action) => action.word(),
            Action::Halt(action) => action.word(),
            Action::Run(action) => action.word(),
            Action::Node(action) => action.word(),
            Action::Content(action) => action.word(),
            Action::Token(action) => action.word(),
            Action::Webhook(action) => action.word(),
            Action::Delivery(action) => action.word(),
        }
    }

    /// Whether it does something in a person's name that their agent could not do with its own
    /// token.
    pub(crate) fn is_personal(&self) -> bool {
        match self {
            Action::Gate(action) => action.is_personal(),
            Action::Question(action) => action.is_personal(),
            Action::Run(action) => action.is_personal(),
            Action::Content(action) => action.is_personal(),
            Action::Delivery(action) => action.is_personal(),
            Action::Halt(_) | Action::Token(_) | Action::Webhook(_) => true,
            Action::Node(_) => false,
        }
    }

    /// The agent for which it is done, as its events say.
    pub(crate) fn on_behalf_of(&self) -> Option<&Name> {
        match self {
            Action::Gate(action) => action.on_behalf_of(),
            Action::Run(action) => action.on_behalf_of(),
            Action::Question(_)
            | Action::Halt(_)
            | Action::Node(_)
            | Action::Content(_)
            | Action::Token(_)
            | Action::Webhook(_)
            | Action::Delivery(_) => None,
        }
    }
}

/// The rows that must be read to judge a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs<'a> {
    /// The token that was sent with the command.
    pub credential: Option<&'a TokenId>,
    /// The principals with these names, compared without case. They need not exist.
    pub principals: Vec<Name>,
    /// The status of these contents, without their bytes.
    pub contents: Cow<'a, [Digest]>,
    /// How much this agent has open. Counting may stop one above the limit.
    pub usage: Option<&'a Name>,
    pub gate: gate::Needs<'a>,
    /// This question, and whether other holds are on the same targets.
    pub question: Option<&'a QuestionId>,
    /// This halt, and whether other holds are on the same targets.
    pub halt: Option<&'a HaltId>,
    pub run: run::Needs<'a>,
    /// The token that the command is about.
    pub token: Option<&'a TokenId>,
    pub webhook: webhook::Needs<'a>,
    pub delivery: delivery::Needs<'a>,
}

/// Those rows that a command needs and that exist.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The token that was sent with the command.
    pub credential: Option<Token>,
    /// The principals that have one of the names, compared without case.
    pub principals: Vec<Principal>,
    /// The status of each content that is or was stored, each once.
    pub contents: Vec<ContentStatus>,
    /// How much the agent has open.
    pub usage: QuotaUsage,
    pub gate: gate::Loaded,
    pub question: question::Loaded,
    pub halt: halt::Loaded,
    pub run: run::Loaded,
    /// The token that the command is about.
    pub token: Option<Token>,
    pub webhook: Option<Webhook>,
    pub delivery: delivery::Loaded,
}

impl Command {
    /// Refuses a command whose token was revoked or does not exist. `credential` is the token as
    /// the transaction reads it. So a revocation that was committed before counts, even if a server
    /// has already accepted the request. A store also checks this before it answers a repeated
    /// request.
    pub fn must_be_authentic(&self, credential: Option<&Token>) -> Result<(), Refusal> {
        let is_valid = |token: &Token| token.revoked_at.is_none();
        match self.token {
            Some(_) if !credential.is_some_and(is_valid) => Err(Refusal::Unauthenticated),
            Some(_) | None => Ok(()),
        }
    }

    /// The rows to read, and to lock, before this command is judged.
    pub fn needs(&self) -> Needs<'_> {
        let needs = match &self.action {
            Action::Gate(action) => action.needs(&self.by, &self.quota),
            Action::Question(action) => action.needs(&self.by, &self.quota),
            Action::Halt(action) => action.needs(&self.by, &self.quota),
            Action::Run(action) => action.needs(&self.by, &self.quota),
            Action::Node(_) => Needs::default(),
            Action::Content(action) => action.needs(),
            Action::Token(action) => action.needs(),
            Action::Webhook(action) => action.needs(),
            Action::Delivery(action) => action.needs(),
        };
        Needs { credential: self.token.as_ref(), ..needs }
    }
}

macro_rules! action_of {
    ($($noun:ident($module:ident)),*) => {
        $(impl From<$module::Action> for Action {
            fn from(action: $module::Action) -> Self {
                Action::$noun(action)
            }
        })*
    };
}

action_of! {
    Gate(gate), Question(question), Halt(halt), Run(run), Node(node), Content(erase), Token(token), Webhook(webhook),
    Delivery(delivery)
}
