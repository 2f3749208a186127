//! Verifying everything: the chain from its first event, and every row against what the log says of it.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_core::{
    Digest, Event, Principal, Refusal, TokenId, WebhookId,
    audit::{Problem, Walk, check_content, check_row, check_tokens, check_webhooks},
    token::Token,
    webhook::LoggedWebhook,
};
use folkmoot_store::{Error, History, Store};

use crate::Engine;

/// How many are read at once.
const PAGE: u32 = 500;
/// After so many problems the rest is not told.
const PROBLEMS_MAX: usize = 100;

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many events were walked.
    pub events: u64,
    /// The hash of the last of them.
    pub head_hash: Digest,
    /// How many gates, questions and halts were compared with the log.
    pub rows: u64,
    /// Empty where all is well.
    pub problems: Vec<Problem>,
}

impl Report {
    fn is_full(&self) -> bool {
        self.problems.len() >= PROBLEMS_MAX
    }
}

impl Engine {
    /// Walks the whole log and compares gates, questions, halts, their content, tokens and webhooks with it, while others go
    /// on writing.
    pub async fn verify(&self, principal: &Principal) -> Result<Report, Error> {
        if !principal.role.sees_everything() {
            return Err(Refusal::RoleMayNot { role: principal.role, verb: "verify the log" }.into());
        }
        let mut report = Report::default();
        let logged = self.verify_log(&mut report).await?;
        self.verify_logged(&mut report, logged).await?;
        self.verify_rows(&mut report).await?;
        report.problems.truncate(PROBLEMS_MAX);
        Ok(report)
    }

    /// Walks the chain to where the log ends now, and returns the tokens and webhooks as the log knows them there.
    async fn verify_log(&self, report: &mut Report) -> Result<Logged, Error> {
        let mut logged = Logged::default();
        let mut walk = Walk::new();
        let end = self.0.store.head().await?;
        while walk.head.position < end.position && !report.is_full() {
            let events = self.0.store.events(walk.head.position, PAGE).await?;
            if events.is_empty() {
                break;
            }
            for event in events.iter().take_while(|event| event.position <= end.position) {
                report.problems.extend(walk.step(event));
                report.events += 1;
                logged.learn(event);
            }
            // The log grows while it is walked; what came since we began is the next verification's.
            if events.last().is_some_and(|event| event.position > end.position) {
                break;
            }
        }
        report.problems.extend(walk.end(end));
        report.head_hash = end.hash;
        Ok(logged)
    }

    /// Compares the tokens' and webhooks' rows with the log, at a moment in which neither changes.
    async fn verify_logged(&self, report: &mut Report, mut logged: Logged) -> Result<(), Error> {
        let mut position = report.events;
        loop {
            let tokens: Vec<Token> = self.0.store.tokens().await?.into_iter().map(|(token, _)| token).collect();
            let webhooks = self.0.store.webhooks().await?;
            let known = logged.clone();
            let end = self.0.store.head().await?.position;
            while position < end {
                let events = self.0.store.events(position, PAGE).await?;
                let Some(last) = events.last() else { break };
                position = last.position;
                events.iter().for_each(|event| logged.learn(event));
            }
            if known == logged {
                report.problems.extend(check_tokens(&tokens, &logged.tokens));
                report.problems.extend(check_webhooks(&webhooks, &logged.webhooks));
                return Ok(());
            }
        }
    }

    async fn verify_rows(&self, report: &mut Report) -> Result<(), Error> {
        let mut after = String::new();
        while !report.is_full() {
            let histories = self.0.store.histories(&after, PAGE).await?;
            let Some(last) = histories.last() else { break };
            after.clone_from(&last.stream);
            // Where somebody only tried to raise a halt there is a stream and no row.
            report.rows += histories.iter().filter(|history| history.row.is_some()).count() as u64;
            let mut digests = BTreeSet::new();
            for History { stream, row, events } in &histories {
                match row {
                    Some(Err(unreadable)) => {
                        report.problems.push(Problem::new(stream, format!("its row cannot be read: {unreadable}")));
                    }
                    Some(Ok(row)) => {
                        report.problems.extend(check_row(stream, Some(row), events));
                        digests.extend(row.contents());
                    }
                    None => report.problems.extend(check_row(stream, None, events)),
                }
            }
            let digests: Vec<Digest> = digests.into_iter().collect();
            for (digest, content) in digests.iter().zip(self.0.store.contents(digests.clone()).await?) {
                report.problems.extend(check_content(*digest, content.as_deref()));
            }
        }
        Ok(())
    }
}

/// What the log says of that of which each event says all.
#[derive(Clone, Default, PartialEq)]
struct Logged {
    tokens: BTreeMap<TokenId, Token>,
    webhooks: BTreeMap<WebhookId, LoggedWebhook>,
}

impl Logged {
    fn learn(&mut self, event: &Event) {
        let (kind, payload) = (event.fact.kind.as_ref(), &event.fact.payload);
        if kind.starts_with("token.")
            && let Ok(token) = serde_json::from_str::<Token>(payload)
        {
            self.tokens.insert(token.id.clone(), token);
        }
        if kind.starts_with("webhook.")
            && let Ok(webhook) = serde_json::from_str::<LoggedWebhook>(payload)
        {
            self.webhooks.insert(webhook.id.clone(), webhook);
        }
    }
}
