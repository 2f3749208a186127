//! Commands: what somebody wants done, and which rows must be read to judge it. What can be wanted
//! of a noun is in its own module, with the rows that it takes and the rules.

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

/// One wish, complete: nothing about it is looked up elsewhere.
#[derive(Clone, Debug)]
pub struct Command {
    /// As the log names it.
    pub id: CommandId,
    /// Who wants it, from the credential.
    pub by: Actor,
    /// The token that was shown for it. `None` where none was: for what Folkmoot and its workflows
    /// do.
    pub token: Option<TokenId>,
    /// How the request says that a person made it. Only a terminal can be claimed.
    pub claims: Option<Presence>,
    /// How a repetition is recognised.
    pub idempotency: Option<Idempotency>,
    /// What they want.
    pub action: Action,
    /// How much they may have open.
    pub quota: Quota,
    /// Who wants to be told of what comes of it, beside those whom a gate names.
    pub subscriptions: Arc<[Subscription]>,
}

/// Who acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Somebody with a token.
    Principal(Principal),
    /// Folkmoot itself: a timer, the first start.
    System,
}

impl Actor {
    /// As the log writes it.
    pub fn name(&self) -> Name {
        match self {
            Actor::Principal(principal) => principal.name.clone(),
            Actor::System => "system".parse().expect("a plain word is a name"),
        }
    }

    /// Refuses everybody but admins, and Folkmoot itself.
    pub(crate) fn must_be_admin(&self, verb: &'static str) -> Result<(), Refusal> {
        match self {
            Actor::System | Actor::Principal(Principal { role: Role::Admin, .. }) => Ok(()),
            Actor::Principal(Principal { role, .. }) => Err(Refusal::RoleMayNot { role: *role, verb }),
        }
    }
}

/// A repetition is the same principal, route and key; it must then be the same request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// As the caller chose it.
    pub key: String,
    /// Method and path.
    pub route: String,
    /// Of the request's body.
    pub fingerprint: Digest,
}

/// What can be wanted.
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
    /// Its name in logs and traces, as `noun.verb`. What it is about is not part of it.
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

    /// Whether it says something in a person's name that their agent could not do with its own
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

    /// For whom its events say that it was done.
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

/// The rows that a command needs to be judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs<'a> {
    /// This token, which was shown for the command.
    pub credential: Option<&'a TokenId>,
    /// The principals of these names, as far as there are any.
    pub principals: Vec<Name>,
    /// What is known of these contents, without the bytes.
    pub contents: Cow<'a, [Digest]>,
    /// What this agent has open. More than one beyond its limits need not be counted.
    pub usage: Option<&'a Name>,
    pub gate: gate::Needs<'a>,
    /// This question, and whether anything else holds what it holds.
    pub question: Option<&'a QuestionId>,
    /// This halt, and whether anything else holds what it holds.
    pub halt: Option<&'a HaltId>,
    pub run: run::Needs<'a>,
    /// This token, which the command is about.
    pub token: Option<&'a TokenId>,
    pub webhook: webhook::Needs<'a>,
    pub delivery: delivery::Needs<'a>,
}

/// The rows that were there.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The token that was shown for the command.
    pub credential: Option<Token>,
    /// The principals that have the names.
    pub principals: Vec<Principal>,
    /// The contents that are or were kept, each once.
    pub contents: Vec<ContentStatus>,
    /// What the agent has open.
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
    /// Refuses a command whose token was revoked, or is not there. `credential` is that token as
    /// the transaction reads it, so a revocation that was committed before counts, whoever let the
    /// request in. A store also asks this before it answers a repetition.
    pub fn must_be_authentic(&self, credential: Option<&Token>) -> Result<(), Refusal> {
        let is_valid = |token: &Token| token.revoked_at.is_none();
        match self.token {
            Some(_) if !credential.is_some_and(is_valid) => Err(Refusal::Unauthenticated),
            Some(_) | None => Ok(()),
        }
    }

    /// What must be read, and locked, before this command is judged.
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
