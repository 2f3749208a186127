//! Verifies the whole log, and every row against it.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_core::{
    Digest, Event, Principal, Refusal, TokenId, WebhookId,
    audit::{AuditProblem, AuditedRow, LogWalk, check_row, check_tokens, check_webhooks},
    erase::Erasures,
    token::Token,
    webhook::LoggedWebhook,
};
use folkmoot_store::{AnyStore, Error, History, Store};

use crate::Engine;

const PAGE: u32 = 500;
/// The maximum number of reported problems.
const PROBLEMS_MAX: usize = 100;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerificationReport {
    pub events: u64,
    pub head_hash: Digest,
    /// How many gates, questions, halts and runs were compared with the log.
    pub rows: u64,
    pub problems: Vec<AuditProblem>,
}

impl VerificationReport {
    fn is_full(&self) -> bool {
        self.problems.len() >= PROBLEMS_MAX
    }
}

impl Engine {
    /// Verifies the whole log, and compares gates, questions, halts, runs, their records,
    /// contents, tokens and webhooks with it, while others keep writing.
    pub async fn verify(&self, principal: &Principal) -> Result<VerificationReport, Error> {
        if !principal.role.sees_everything() {
            return Err(Refusal::RoleMayNot { role: principal.role, verb: "verify the log" }.into());
        }
        verify(&self.0.store).await
    }
}

/// As [`Engine::verify`], for a store without an engine, such as a backup.
pub async fn verify(store: &AnyStore) -> Result<VerificationReport, Error> {
    let verifying = Verifying { store };
    let mut report = VerificationReport::default();
    let (logged, erasures) = verifying.verify_log(&mut report).await?;
    verifying.verify_logged(&mut report, logged).await?;
    verifying.verify_rows(&mut report, erasures).await?;
    verifying.verify_strays(&mut report).await?;
    report.problems.truncate(PROBLEMS_MAX);
    Ok(report)
}

struct Verifying<'a> {
    store: &'a AnyStore,
}

impl Verifying<'_> {
    /// Verifies the chain to its current end, and returns the tokens, webhooks and erasures
    /// according to the log.
    async fn verify_log(&self, report: &mut VerificationReport) -> Result<(LoggedFacts, Erasures), Error> {
        let (mut logged, mut erasures) = (LoggedFacts::default(), Erasures::default());
        let mut walk = LogWalk::new();
        let end = self.store.head().await?;
        while walk.head.position < end.position && !report.is_full() {
            let events = self.store.events(walk.head.position, PAGE).await?;
            if events.is_empty() {
                break;
            }
            for event in events.iter().take_while(|event| event.position <= end.position) {
                report.problems.extend(walk.step(event));
                report.events += 1;
                logged.learn(event);
                erasures.learn(event);
            }
            // The log grows meanwhile; later events belong to the next verification.
            if events.last().is_some_and(|event| event.position > end.position) {
                break;
            }
        }
        report.problems.extend(walk.end(end));
        report.head_hash = end.hash;
        Ok((logged, erasures))
    }

    /// Compares the rows of tokens and webhooks with the log, at a moment when neither changes.
    async fn verify_logged(&self, report: &mut VerificationReport, mut logged: LoggedFacts) -> Result<(), Error> {
        let mut position = report.events;
        loop {
            let tokens: Vec<Token> = self.store.tokens().await?.into_iter().map(|(token, _)| token).collect();
            let webhooks = self.store.webhooks().await?;
            let known = logged.clone();
            let end = self.store.head().await?.position;
            while position < end {
                let events = self.store.events(position, PAGE).await?;
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

    async fn verify_rows(&self, report: &mut VerificationReport, mut erasures: Erasures) -> Result<(), Error> {
        let mut learnt = report.events;
        let mut after = String::new();
        while !report.is_full() {
            let histories = self.store.histories(&after, PAGE).await?;
            let Some(last) = histories.last() else { break };
            after.clone_from(&last.stream);
            // A refused halt has a stream but no row.
            report.rows += histories.iter().filter(|history| history.row.is_some()).count() as u64;
            let (mut shown, mut recorded) = (BTreeSet::new(), BTreeSet::new());
            for History { stream, row, events } in &histories {
                match row {
                    Some(Err(unreadable)) => {
                        report
                            .problems
                            .push(AuditProblem::new(stream, format!("its row cannot be read: {unreadable}")));
                    }
                    Some(Ok(row)) => {
                        report.problems.extend(check_row(stream, Some(row), events));
                        let contents = match row {
                            AuditedRow::Run(..) => &mut recorded,
                            AuditedRow::Gate(_) | AuditedRow::Question(_) | AuditedRow::Halt(_) => &mut shown,
                        };
                        contents.extend(row.all_contents(events));
                    }
                    None => report.problems.extend(check_row(stream, None, events)),
                }
            }
            let (shown, recorded): (Vec<Digest>, Vec<Digest>) =
                (shown.into_iter().collect(), recorded.into_iter().collect());
            let contents = self.store.contents(shown.clone()).await?;
            let of_shown = shown
                .iter()
                .zip(&contents)
                .map(|(digest, content)| (*digest, content.is_none(), erasures.check(*digest, content.as_deref())));
            let contents = self.store.recorded(recorded.clone()).await?;
            let of_recorded = recorded.iter().zip(&contents).map(|(digest, content)| {
                (*digest, content.is_none(), erasures.check_recorded(*digest, content.as_deref()))
            });
            let found =
                |(digest, is_gone, problem): (Digest, bool, Option<AuditProblem>)| Some((digest, is_gone, problem?));
            let problems: Vec<_> = of_shown.chain(of_recorded).filter_map(found).collect();
            if problems.iter().any(|(_, is_gone, _)| *is_gone) {
                // Others erase while we read: by now, the log records what was gone.
                learnt = self.learn_erasures(&mut erasures, learnt).await?;
            }
            let stands = |digest, is_gone: bool| !is_gone || erasures.check(digest, None).is_some();
            let problems = problems.into_iter().filter(|(digest, is_gone, _)| stands(*digest, *is_gone));
            report.problems.extend(problems.map(|(.., problem)| problem));
        }
        Ok(())
    }

    /// A record is compared with its run's log, so it must have a run.
    async fn verify_strays(&self, report: &mut VerificationReport) -> Result<(), Error> {
        let problem = "records are kept under this id, but there is no such run";
        let strays = self.store.strays(PROBLEMS_MAX as u32).await?;
        report.problems.extend(strays.iter().map(|run| AuditProblem::new(format!("run:{run}"), problem)));
        Ok(())
    }

    /// Reads the erasures after `position`, and returns the end of the log.
    async fn learn_erasures(&self, erasures: &mut Erasures, mut position: u64) -> Result<u64, Error> {
        loop {
            let events = self.store.events(position, PAGE).await?;
            let Some(last) = events.last() else { return Ok(position) };
            position = last.position;
            events.iter().for_each(|event| erasures.learn(event));
        }
    }
}

/// Facts that a single event states completely.
#[derive(Clone, Default, PartialEq)]
struct LoggedFacts {
    tokens: BTreeMap<TokenId, Token>,
    webhooks: BTreeMap<WebhookId, LoggedWebhook>,
}

impl LoggedFacts {
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
