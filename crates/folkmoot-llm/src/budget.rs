//! Budgets: tokens and money that are reserved before a call and settled after it.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::{FailureKind, Hear, Model, ModelAnswer, ModelFailure, ModelRequest, TokenUsage, price::Price};

#[cfg(test)]
mod tests;

/// The maximum that may be spent. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    pub tokens: Option<u64>,
    pub usd_micros: Option<u64>,
}

/// What was spent or reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub tokens: u64,
    pub usd_micros: u64,
}

impl Spent {
    /// The cost of an answer, computed from the price if the vendor does not report it.
    pub fn of(answer: &ModelAnswer, price: Option<Price>) -> Self {
        let usd_micros = answer.cost_usd_micros.or(price.map(|price| price.cost(&answer.usage)));
        Self { tokens: answer.usage.total(), usd_micros: usd_micros.unwrap_or_default() }
    }

    /// The cost of a call that was cancelled before any output: the vendor has probably read the
    /// prompt.
    pub fn given_up(request: &ModelRequest, price: Option<Price>) -> Self {
        Self::by(&TokenUsage::estimate(request, 0), price)
    }

    fn by(usage: &TokenUsage, price: Option<Price>) -> Self {
        Self { tokens: usage.total(), usd_micros: price.map_or(0, |price| price.cost(usage)) }
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            usd_micros: self.usd_micros.saturating_add(other.usd_micros),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            usd_micros: self.usd_micros.saturating_sub(other.usd_micros),
        }
    }
}

/// A budget in use, shared by all calls that spend from it.
#[derive(Debug)]
pub struct SharedBudget {
    budget: Budget,
    /// Its sums are whole after every statement, so what a panic left is right.
    account: Mutex<Account>,
    /// Wakes the calls that wait for others to be settled.
    settled: Notify,
}

#[derive(Clone, Copy, Debug)]
struct Account {
    spent: Spent,
    reserved: Spent,
    /// How often the budget was granted.
    times: u64,
}

impl SharedBudget {
    /// Grants the budget for the first time.
    pub fn new(budget: Budget) -> Arc<Self> {
        let account = Account { spent: Spent::default(), reserved: Spent::default(), times: 1 };
        Arc::new(Self { budget, account: Mutex::new(account), settled: Notify::new() })
    }

    /// Records what was spent elsewhere, for example before a restart.
    pub fn spend(&self, spent: Spent) {
        let mut account = self.account.lock();
        account.spent = account.spent.plus(spent);
    }

    /// Grants the budget once more.
    pub fn refill(&self) {
        let mut account = self.account.lock();
        account.times = account.times.saturating_add(1);
        self.settled.notify_waiters();
    }

    /// How often the budget was granted, including the first time.
    pub fn times(&self) -> u64 {
        self.account.lock().times
    }

    /// The budget that each grant adds.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// What was spent, without reservations.
    pub fn spent(&self) -> Spent {
        self.account.lock().spent
    }

    /// Reserves the most that a call may cost. If only the reservations of other calls are in the
    /// way, waits for those calls, because most of them cost less than they reserved.
    ///
    /// # Errors
    /// If what is spent leaves no room for the call.
    pub async fn reserve(self: &Arc<Self>, most: Spent) -> Result<Reservation, String> {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            // From here on a settlement is noticed.
            settled.as_mut().enable();
            if let Some(reservation) = self.try_reserve(most)? {
                return Ok(reservation);
            }
            settled.await;
        }
    }

    /// `None` if the reservations of other calls are in the way.
    fn try_reserve(self: &Arc<Self>, most: Spent) -> Result<Option<Reservation>, String> {
        let mut account = self.account.lock();
        let Account { spent, reserved, times } = *account;
        let given = |once: Option<u64>| once.map(|once| once.saturating_mul(times));
        let (tokens, usd) = (given(self.budget.tokens), given(self.budget.usd_micros));
        let wanted = spent.plus(most);
        if let Some(tokens) = tokens.filter(|tokens| wanted.tokens > *tokens) {
            return Err(format!(
                "{} of {tokens} tokens are spent, and this call may take {}",
                spent.tokens, most.tokens
            ));
        }
        if let Some(usd) = usd.filter(|usd| wanted.usd_micros > *usd) {
            let [gone, usd, most] = [spent.usd_micros, usd, most.usd_micros].map(dollars);
            return Err(format!("{gone} of {usd} are spent, and this call may cost {most}"));
        }
        let wanted = wanted.plus(reserved);
        if tokens.is_some_and(|tokens| wanted.tokens > tokens) || usd.is_some_and(|usd| wanted.usd_micros > usd) {
            return Ok(None);
        }
        account.reserved = reserved.plus(most);
        Ok(Some(Reservation { shared_budget: Arc::clone(self), most, settled: false }))
    }
}

/// Dollars for display: `$0.0123`.
pub fn dollars(usd_micros: u64) -> String {
    let text = format!("${}.{:06}", usd_micros / 1_000_000, usd_micros % 1_000_000);
    let cents = text.len() - 4;
    format!("{}{}", &text[..cents], text[cents..].trim_end_matches('0'))
}

/// The reservation for one call. Dropping it releases it.
#[derive(Debug)]
pub struct Reservation {
    shared_budget: Arc<SharedBudget>,
    most: Spent,
    settled: bool,
}

impl Reservation {
    /// Records the actual cost, which may exceed the reservation.
    pub fn settle(mut self, spent: Spent) {
        self.close(spent);
    }

    fn close(&mut self, spent: Spent) {
        let mut account = self.shared_budget.account.lock();
        account.reserved = account.reserved.minus(self.most);
        account.spent = account.spent.plus(spent);
        self.settled = true;
        self.shared_budget.settled.notify_waiters();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.settled {
            self.close(Spent::default());
        }
    }
}

/// A model that spends from a shared budget.
#[derive(Debug)]
pub struct BudgetedModel {
    pub model: Arc<dyn Model>,
    pub shared_budget: Arc<SharedBudget>,
    /// The highest price of the model and its fallbacks, because any of them may answer.
    pub price: Option<Price>,
}

impl Model for BudgetedModel {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        Box::pin(async move {
            if self.price.is_none() && self.shared_budget.budget.usd_micros.is_some() {
                let detail =
                    "there is a budget in money, and the model has no price: add it under [models] in folkmoot.toml";
                return Err(ModelFailure::new("budget", FailureKind::Misconfigured, detail));
            }
            let most = TokenUsage::at_most(request);
            let reservation = self
                .shared_budget
                .reserve(self.spent(&most))
                .await
                .map_err(|detail| ModelFailure::new("budget", FailureKind::BudgetExceeded, detail))?;
            let mut listening =
                BudgetedHear { hear, bytes: 0, reservation: Some(reservation), budgeted: self, request };
            let answer = self.model.ask(request, &mut listening).await;
            let (spent, answer) = match answer {
                Ok(answer) => (Spent::of(&answer, self.price), Ok(answer)),
                Err(failure) => {
                    let spent = listening.heard();
                    (spent, Err(ModelFailure { spent, ..failure }))
                }
            };
            listening.settle(spent);
            answer
        })
    }
}

impl BudgetedModel {
    fn spent(&self, usage: &TokenUsage) -> Spent {
        Spent::by(usage, self.price)
    }
}

/// Counts the output, because a vendor charges for it even if the call fails later.
struct BudgetedHear<'a> {
    hear: &'a mut dyn Hear,
    bytes: usize,
    reservation: Option<Reservation>,
    budgeted: &'a BudgetedModel,
    request: &'a ModelRequest,
}

impl BudgetedHear<'_> {
    fn heard(&self) -> Spent {
        match self.bytes {
            0 => Spent::default(),
            bytes => self.budgeted.spent(&TokenUsage::estimate(self.request, bytes)),
        }
    }

    fn settle(&mut self, spent: Spent) {
        if let Some(reservation) = self.reservation.take() {
            reservation.settle(spent);
        }
    }
}

impl Hear for BudgetedHear<'_> {
    fn piece(&mut self, text: &str) {
        self.bytes += text.len();
        self.hear.piece(text);
    }

    fn again(&mut self) {
        self.hear.again();
    }

    fn waiting(&mut self, failure: &ModelFailure, wait: Duration) {
        self.hear.waiting(failure, wait);
    }
}

impl Drop for BudgetedHear<'_> {
    /// The call was cancelled in flight; the vendor has probably read the prompt.
    fn drop(&mut self) {
        self.settle(self.budgeted.spent(&TokenUsage::estimate(self.request, self.bytes)));
    }
}
