//! `GET /metrics`: counters in the Prometheus text format.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus::{
    Encoder as _, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts,
    Registry, TextEncoder,
};

use super::app::App;
use super::timings::StageTimings;
use crate::scheduler::{BatchReport, QueueSnapshot};
use crate::service::Service;

/// Seconds: from a fraction of a millisecond (tokenising) to the longest deadlines.
const LATENCY_BUCKETS: [f64; 16] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// The counters of one server.
pub(super) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    rejected: IntCounterVec,
    by_key: IntCounterVec,
    stages: HistogramVec,
    queue_jobs: IntGauge,
    queue_tokens: IntGauge,
    running_jobs: IntGauge,
    withdrawn: IntCounter,
    expired: IntCounter,
    batch_rows: Histogram,
    batch_jobs: Histogram,
    batch_seconds: Histogram,
    batch_failures: IntCounterVec,
    interrupted: IntCounter,
    tokens: IntCounter,
    questions: IntCounter,
}

impl Metrics {
    /// Registers every counter.
    pub(super) fn new(service: &Service) -> prometheus::Result<Self> {
        let registry = Registry::new();
        let counter = |name: &str, help: &str| -> prometheus::Result<IntCounter> {
            let made = IntCounter::new(format!("assize_{name}"), help)?;
            registry.register(Box::new(made.clone()))?;
            Ok(made)
        };
        let counters = |name: &str, help: &str, labels: &[&str]| -> prometheus::Result<IntCounterVec> {
            let made = IntCounterVec::new(Opts::new(format!("assize_{name}"), help), labels)?;
            registry.register(Box::new(made.clone()))?;
            Ok(made)
        };
        let gauge = |name: &str, help: &str| -> prometheus::Result<IntGauge> {
            let made = IntGauge::new(format!("assize_{name}"), help)?;
            registry.register(Box::new(made.clone()))?;
            Ok(made)
        };
        let histogram = |name: &str, help: &str, buckets: Vec<f64>| -> prometheus::Result<Histogram> {
            let made =
                Histogram::with_opts(HistogramOpts::new(format!("assize_{name}"), help).buckets(buckets))?;
            registry.register(Box::new(made.clone()))?;
            Ok(made)
        };
        let stages = HistogramVec::new(
            HistogramOpts::new("assize_stage_seconds", "Time of answered requests by stage")
                .buckets(LATENCY_BUCKETS.to_vec()),
            &["stage"],
        )?;
        registry.register(Box::new(stages.clone()))?;
        let info = prometheus::IntGaugeVec::new(
            Opts::new("assize_model_info", "The model that is served; always 1"),
            &["model", "artifact", "engine", "version", "precision", "kernels"],
        )?;
        registry.register(Box::new(info.clone()))?;
        let engine = service.engine();
        let precision = engine.precision.to_string();
        let labels = [
            service.name(),
            service.artifact_id().as_str(),
            engine.name,
            &engine.version,
            &precision,
            &engine.kernels,
        ];
        info.get_metric_with_label_values(&labels)?.set(1);
        let weights = gauge("weight_bytes", "Bytes of weights that the engine holds or maps")?;
        weights.set(i64::try_from(service.backbone().weight_bytes()).unwrap_or(i64::MAX));
        Ok(Self {
            requests: counters(
                "requests_total",
                "Requests by route and status",
                &["route", "status"],
            )?,
            rejected: counters(
                "rejected_total",
                "Requests that were refused, by reason",
                &["reason"],
            )?,
            by_key: counters(
                "key_requests_total",
                "Requests that were let in, by the name of their key",
                &["key"],
            )?,
            stages,
            queue_jobs: gauge("queue_jobs", "Requests that wait for the engine")?,
            queue_tokens: gauge("queue_tokens", "Tokens that wait for the engine")?,
            running_jobs: gauge("running_jobs", "Requests in the running batch")?,
            withdrawn: counter(
                "withdrawn_total",
                "Queued requests whose client left before they ran",
            )?,
            expired: counter(
                "expired_total",
                "Queued requests whose deadline passed before they ran",
            )?,
            interrupted: counter(
                "interrupted_total",
                "Forward passes ended early because nobody waited for them any more",
            )?,
            batch_rows: histogram(
                "batch_rows",
                "Packed rows of a batch",
                prometheus::exponential_buckets(16.0, 2.0, 13)?,
            )?,
            batch_jobs: histogram(
                "batch_jobs",
                "Requests in a batch",
                prometheus::exponential_buckets(1.0, 2.0, 9)?,
            )?,
            batch_seconds: histogram(
                "batch_seconds",
                "Time of a batch on the engine thread",
                LATENCY_BUCKETS.to_vec(),
            )?,
            batch_failures: counters(
                "batch_failures_total",
                "Batches that failed, by cause",
                &["cause"],
            )?,
            tokens: counter("tokens_total", "Tokens of answered requests")?,
            questions: counter("questions_total", "Answered questions")?,
            registry,
        })
    }

    /// Counts a batch; called on the engine thread.
    pub(super) fn observe_batch(&self, report: &BatchReport) {
        // Its time says nothing about its rows.
        if report.interrupted {
            self.interrupted.inc();
            return;
        }
        self.batch_rows.observe(report.tokens as f64);
        self.batch_jobs.observe(report.jobs as f64);
        self.batch_seconds.observe(report.took.as_secs_f64());
        if let Some(failure) = &report.failure {
            let cause = if report.panicked { "panic" } else { "error" };
            self.batch_failures.with_label_values(&[cause]).inc();
            tracing::error!(
                failure,
                jobs = report.jobs,
                tokens = report.tokens,
                "a batch failed"
            );
        }
    }

    /// Counts a request that a key let in.
    pub(super) fn observe_key(&self, name: &str) {
        self.by_key.with_label_values(&[name]).inc();
    }

    /// Counts an answered request.
    pub(super) fn observe_answer(&self, timings: &StageTimings, tokens: usize, questions: usize) {
        for (stage, took) in timings.stages() {
            self.stages
                .with_label_values(&[stage])
                .observe(took.as_secs_f64());
        }
        self.tokens.inc_by(tokens as u64);
        self.questions.inc_by(questions as u64);
    }

    /// Counts a response. `reason` is the kind of error, if it is one.
    pub(super) fn observe_response(
        &self,
        route: &str,
        status: StatusCode,
        reason: Option<&str>,
        took: Duration,
    ) {
        self.requests.with_label_values(&[route, status.as_str()]).inc();
        if let Some(reason) = reason {
            self.rejected.with_label_values(&[reason]).inc();
        }
        if status.is_server_error() {
            tracing::error!(route, status = status.as_u16(), reason, ?took, "request");
        } else {
            tracing::debug!(route, status = status.as_u16(), reason, ?took, "request");
        }
    }

    fn text(&self, queue: QueueSnapshot) -> prometheus::Result<Vec<u8>> {
        let number = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
        self.queue_jobs.set(number(queue.jobs));
        self.queue_tokens.set(number(queue.tokens));
        self.running_jobs.set(number(queue.running_jobs));
        // The queue counts these itself; a counter may only grow, so the difference is added.
        self.withdrawn
            .inc_by(queue.withdrawn.saturating_sub(self.withdrawn.get()));
        self.expired
            .inc_by(queue.expired.saturating_sub(self.expired.get()));
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(text)
    }
}

/// Counters in the Prometheus text format: queue, batches, tokens, latency by stage, requests, refusals.
#[utoipa::path(get, path = "/metrics", tag = "operation", responses((status = 200, description = "Prometheus text format", content_type = "text/plain")))]
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Response {
    match app.metrics.text(app.scheduler.snapshot()) {
        Ok(text) => ([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
