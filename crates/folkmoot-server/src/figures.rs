//! The process's metrics: their descriptions and buckets, and those that every request updates.
//!
//! docs/operations.md lists all of them; a test compares.

use std::{collections::HashMap, sync::OnceLock, time::Duration};

use axum::http::{self, StatusCode};
use metrics::{Counter, Histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use parking_lot::RwLock;

/// From answers out of memory to the longest wait for a gate.
const SECONDS: [f64; 16] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
/// Up to the largest transaction.
const COMMANDS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

/// How often samples are sorted into buckets, even if nobody reads the metrics. Until then they
/// accumulate.
pub(crate) const UPKEEP: Duration = Duration::from_secs(5);

/// The process's recorder, created once. Start it before anything that keeps metric handles.
pub(crate) fn recorder() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    let make = || {
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
            .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("_commands".to_owned()), &COMMANDS))
            .expect("neither list is empty")
            .build_recorder();
        let handle = recorder.handle();
        // If an embedding program has its own recorder, ours stays empty.
        let _ = metrics::set_global_recorder(recorder);
        describe();
        handle
    };
    HANDLE.get_or_init(make).clone()
}

fn describe() {
    use metrics::{describe_counter as counter, describe_gauge as gauge, describe_histogram as histogram};
    counter!("folkmoot_http_requests_total", "Requests that were answered.");
    histogram!("folkmoot_http_request_seconds", "From a request's headers to those of its answer.");
    gauge!("folkmoot_connections", "Open connections, WebSockets among them.");
    counter!("folkmoot_refusals_unrecorded_total", "Refused attempts that were too many to be recorded in the log.");
    counter!("folkmoot_bad_tokens_total", "Requests with a token that is not valid.");
    gauge!("folkmoot_subscribers", "Those who follow the feed.");
    gauge!("folkmoot_gate_waiters", "Requests that wait for gates.");
    gauge!("folkmoot_clearance_waiters", "Those who wait for clearance.");
    gauge!("folkmoot_gates_pending", "Gates that wait for a decision.");
    gauge!("folkmoot_holds", "What holds somebody: halting questions, denials, halts.");
    gauge!("folkmoot_runs_active", "Runs that this server executes just now.");
    gauge!("folkmoot_steps_in_flight", "Steps that this server executes just now.");
    gauge!("folkmoot_database_up", "1 if the database answered just now, else 0.");
    gauge!("folkmoot_store_queue", "Commands that wait to be written.");
    histogram!("folkmoot_store_batch_commands", "Commands in one transaction.");
    histogram!("folkmoot_store_commit_seconds", "One transaction, from its begin until it is durable.");
    counter!("folkmoot_events_total", "Events that this server has read from the log.");
    gauge!("folkmoot_log_position", "The last position that this server has read from the log.");
    counter!("folkmoot_log_lost_total", "How often the database turned out to have lost the end of its log.");
    gauge!("folkmoot_feed_lag_events", "Events in the log that this server has not offered to its subscribers yet.");
    gauge!("folkmoot_feed_lag_seconds", "How old the oldest of them is.");
    counter!("folkmoot_deliveries_total", "Attempts to tell a channel something, by what came of them.");
    gauge!("folkmoot_deliveries_waiting", "Messages that are still to be told.");
    gauge!("folkmoot_deliveries_dead", "Messages that nobody was told, and that are not tried again.");
    counter!("folkmoot_model_calls_total", "Calls of models.");
    counter!("folkmoot_model_tokens_total", "Tokens that models read and wrote.");
    counter!("folkmoot_model_unparsed_total", "Answers of models that did not have the shape that was asked for.");
}

/// The method as a label. Clients can invent methods but must not invent labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MethodLabel {
    Get,
    Post,
    Patch,
    Delete,
    Head,
    Other,
}

impl MethodLabel {
    pub(crate) fn of(method: &http::Method) -> Self {
        match *method {
            http::Method::GET => Self::Get,
            http::Method::POST => Self::Post,
            http::Method::PATCH => Self::Patch,
            http::Method::DELETE => Self::Delete,
            http::Method::HEAD => Self::Head,
            _ => Self::Other,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Head => "HEAD",
            Self::Other => "other",
        }
    }
}

/// The metrics of all routes. Each is looked up by its labels once and then kept, because the
/// lookup costs more than counting.
#[derive(Debug, Default)]
pub(crate) struct Routes(RwLock<HashMap<Box<str>, Vec<Answers>>>);

#[derive(Debug)]
struct Answers {
    method: MethodLabel,
    status: StatusCode,
    count: Counter,
    seconds: Histogram,
}

impl Routes {
    pub(crate) fn answered(&self, route: &str, method: MethodLabel, status: StatusCode, took: Duration) {
        let known = self.0.read();
        let same = |answers: &&Answers| answers.method == method && answers.status == status;
        match known.get(route).and_then(|all| all.iter().find(same)) {
            Some(answers) => answers.add(took),
            None => {
                drop(known);
                let answers = Answers::new(route, method, status);
                answers.add(took);
                let mut known = self.0.write();
                known.entry(route.into()).or_default().push(answers);
            }
        }
    }
}

impl Answers {
    fn new(route: &str, method: MethodLabel, status: StatusCode) -> Self {
        let (route, name) = (route.to_owned(), method.name());
        let count = metrics::counter!("folkmoot_http_requests_total",
            "method" => name, "route" => route.clone(), "status" => status.as_u16().to_string());
        let seconds = metrics::histogram!("folkmoot_http_request_seconds", "method" => name, "route" => route);
        Self { method, status, count, seconds }
    }

    fn add(&self, took: Duration) {
        self.count.increment(1);
        self.seconds.record(took);
    }
}
