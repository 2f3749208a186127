//! One per node: learns what other nodes have written, and notifies them of this node's writes.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use tokio::{
    sync::{Notify, mpsc},
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};
use tokio_postgres::{AsyncMessage, Client, Config, Statement, types::ToSql};

use super::{
    CATCH_UP, CLOCK, REPLY_TIMEOUT, SELECT_HEAD, Time, dollars, failed, read_head, recent_looks::RecentLooks,
    select_events, silent, tls::TlsConnector,
};
use crate::{
    Error,
    recent::{OfferResult, Recent},
    rows::{self, Columns},
};

/// Check at least this often, whatever was notified.
const RESCAN: Duration = Duration::from_secs(1);
/// NOTIFY takes a cluster-wide lock at commit, so it is sent rarely.
const NOTIFY_EVERY: Duration = Duration::from_millis(10);

pub(super) struct PostgresListener {
    pub(super) config: Config,
    pub(super) tls: TlsConnector,
    pub(super) recent: Arc<Recent>,
    pub(super) time: Arc<Time>,
    pub(super) heard: Arc<RecentLooks>,
    /// This node has written something.
    pub(super) hint: Arc<Notify>,
    /// This node has written something beyond what it knows.
    pub(super) gap: Arc<Notify>,
}

impl PostgresListener {
    /// Listens forever, and reconnects when the connection is lost.
    pub(super) async fn run(self) {
        loop {
            if let Err(error) = self.listen().await {
                tracing::warn!("the connection that listens to the database was lost: {error}");
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn listen(&self) -> Result<(), Error> {
        let connecting = timeout(REPLY_TIMEOUT, self.config.connect(self.tls.clone())).await.map_err(|_| silent())?;
        let (client, mut connection) = connecting.map_err(failed)?;
        let (told, mut tell) = mpsc::channel(1);
        let driver = tokio::spawn(async move {
            let mut messages = futures_util::stream::poll_fn(move |cx| connection.poll_message(cx));
            while let Some(Ok(message)) = messages.next().await {
                if let AsyncMessage::Notification(_) = message {
                    // Full means that a check is already due.
                    let _ = told.try_send(());
                }
            }
        });
        let listened = self.follow(&client, &mut tell).await;
        driver.abort();
        listened
    }

    async fn follow(&self, client: &Client, tell: &mut mpsc::Receiver<()>) -> Result<(), Error> {
        timeout(REPLY_TIMEOUT, client.batch_execute("LISTEN folkmoot")).await.map_err(|_| silent())?.map_err(failed)?;
        let events = timeout(REPLY_TIMEOUT, client.prepare(&dollars(&select_events()))).await;
        let events = events.map_err(|_| silent())?.map_err(failed)?;
        let mut tick = interval(RESCAN);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut notify_from = Instant::now();
        let mut owed = false;
        loop {
            tokio::select! {
                _ = tick.tick() => {
                    self.rescan(client, &events).await?;
                    // A node that only reads also needs the database's time, for its timers.
                    let clock = timeout(REPLY_TIMEOUT, client.query_one(CLOCK, &[])).await.map_err(|_| silent())?;
                    self.time.learn(clock.map_err(failed)?.int(0)?);
                }
                notified = tell.recv() => match notified {
                    Some(()) => self.rescan(client, &events).await?,
                    None => return Err(Error::Unavailable("closed by the database".to_owned())),
                },
                () = self.gap.notified() => self.rescan(client, &events).await?,
                () = self.hint.notified() => owed = true,
                () = sleep_until(notify_from), if owed => {
                    owed = false;
                    notify_from = Instant::now() + NOTIFY_EVERY;
                    let sent = client.batch_execute("SELECT pg_notify('folkmoot', '')");
                    timeout(REPLY_TIMEOUT, sent).await.map_err(|_| silent())?.map_err(failed)?;
                }
            }
        }
    }

    /// Reads the events after the last known one, and that one too: if it is missing or different,
    /// the database has lost the end of the log.
    async fn rescan(&self, client: &Client, events: &Statement) -> Result<(), Error> {
        loop {
            let asked_at = std::time::Instant::now();
            let known = self.recent.head();
            let (after, limit) = (rows::int(known.position.saturating_sub(1)), i64::from(CATCH_UP));
            let arguments: [&(dyn ToSql + Sync); 2] = [&after, &limit];
            let found = timeout(REPLY_TIMEOUT, client.query(events, &arguments))
                .await
                .map_err(|_| silent())?
                .map_err(failed)?;
            let events: Vec<_> =
                found.iter().map(|row| rows::read_event(row).map(Arc::new)).collect::<Result<_, _>>()?;
            let new = match events.split_first() {
                _ if known.position == 0 => &events[..],
                Some((last, new)) if last.position == known.position && last.hash == known.hash => new,
                Some(_) | None => return self.start_over(client).await,
            };
            if self.recent.offer(new) == OfferResult::OfAnotherLog {
                return self.start_over(client).await;
            }
            if events.len() < CATCH_UP as usize {
                self.heard.all(new.last().map_or(known.position, |event| event.position), asked_at);
                return Ok(());
            }
        }
    }

    async fn start_over(&self, client: &Client) -> Result<(), Error> {
        let asked_at = std::time::Instant::now();
        let known = self.recent.head();
        let found =
            timeout(REPLY_TIMEOUT, client.query(SELECT_HEAD, &[])).await.map_err(|_| silent())?.map_err(failed)?;
        let head = read_head(&found)?;
        tracing::error!(
            "the database has lost the end of its log: this node has followed it to event {} ({}), and it now ends at {} \
             ({}); after a fail-over to a standby that lagged behind, what was acknowledged last is gone. This node reads \
             everything again",
            known.position,
            known.hash,
            head.position,
            head.hash
        );
        self.recent.start_over(head);
        self.heard.start_over(head.position, asked_at);
        metrics::counter!("folkmoot_log_lost_total").increment(1);
        Ok(())
    }
}
