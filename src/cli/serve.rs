//! `assize serve`: the HTTP server.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use assize::bench::memory_mib;
use assize::http::{Access, App, CorsOrigin, Drained, FetchLimits, ServerLimits, serve};
use assize::keys::{KeyFile, Keyring};
use assize_heads::FittedHead;
use clap::Args;

use super::logging::{self, LogFormat};
use super::served_model::ServedModelArguments;
use super::whole_number::whole;

const EXAMPLES: &str = "Examples:
  assize serve                                          the default model on http://127.0.0.1:8080
  assize serve --model ./my-model --port 9000 --precision float32
  assize keys add triage --file keys.toml               a key for one caller; only its hash is kept
  assize serve --host 0.0.0.0 --keys keys.toml          reachable from outside, for those who have a key
  assize serve --head ./spam-head                       a head that `assize head fit` wrote answers its question

  curl http://127.0.0.1:8080/decide -H 'content-type: application/json' \\
    -d '{\"state\": \"You won! Click here.\", \"question\": \"Is this spam?\", \"options\": [\"spam\", \"not spam\"]}'

Routes: POST /decide, POST /v1/systemone, GET /v1/models, /health, /ready, /metrics, /openapi.json.
SIGTERM and SIGINT let accepted requests finish; a second one ends the server at once, with 503 for the rest.";

/// Time for the engine thread to end after the last answer.
const ENGINE_END: Duration = Duration::from_secs(2);

/// Arguments of `assize serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArguments {
    #[command(flatten)]
    model: ServedModelArguments,
    /// Address or host name to listen on
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 8080, value_parser = whole(0..=u16::MAX))]
    port: u16,
    /// Ask every request for one of the keys of this file, which `assize keys` writes; read when the server starts
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Let pages of this origin ask, such as https://app.example.org, or * for all; may be given several times
    #[arg(long, value_name = "ORIGIN")]
    cors_origin: Vec<CorsOrigin>,
    /// Form of the log, on stderr
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// Most requests that wait; more are refused with 429
    #[arg(long, value_name = "REQUESTS", default_value_t = Positive::of(ServerLimits::default().queue_jobs))]
    queue: Positive,
    /// Most tokens that wait; more are refused with 429
    #[arg(long, value_name = "TOKENS", default_value_t = Positive::of(ServerLimits::default().queue_tokens))]
    queue_tokens: Positive,
    /// Most tokens of one forward pass that several requests share
    #[arg(long, value_name = "TOKENS", default_value_t = Positive::of(ServerLimits::default().batch_tokens))]
    batch_tokens: Positive,
    /// Most tokens of one request; more are refused with 413
    #[arg(long, value_name = "TOKENS", default_value_t = Positive::of(ServerLimits::default().request_tokens))]
    request_tokens: Positive,
    /// Seconds for a request that names no deadline
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(ServerLimits::default().deadline))]
    deadline: Seconds,
    /// Most bytes of a body, as sent and after decompression
    #[arg(long, value_name = "BYTES", default_value_t = Positive::of(ServerLimits::default().body_bytes))]
    max_body: Positive,
    /// Most bytes of a body where the model reads media
    #[arg(long, value_name = "BYTES", default_value_t = Positive::of(ServerLimits::default().media_body_bytes))]
    max_media_body: Positive,
    /// Most bytes that all bodies above 64 KiB hold together; more are refused with 429
    #[arg(long, value_name = "BYTES", default_value_t = Positive::of(ServerLimits::default().all_bodies_bytes))]
    max_all_bodies: Positive,
    /// Fetch media that requests name by URL, from public hosts only
    #[arg(long)]
    allow_media_urls: bool,
    /// Seconds to fetch one medium
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(Duration::from_secs(10)))]
    media_url_timeout: Seconds,
    /// Seconds for a body to arrive
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(ServerLimits::default().body_time))]
    body_timeout: Seconds,
    /// Seconds for a request's head to arrive, and for an idle connection to be kept
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(ServerLimits::default().header_time))]
    header_timeout: Seconds,
    /// Most open connections; while all are open, those that wait for a request end after 5 s
    #[arg(long, value_name = "CONNECTIONS", default_value_t = Positive::of(ServerLimits::default().connections))]
    connections: Positive,
    /// Seconds to finish accepted requests when told to stop
    #[arg(long, value_name = "SECONDS", default_value_t = Seconds(ServerLimits::default().drain_time))]
    drain: Seconds,
}

/// A count of at least 1.
#[derive(Debug, Clone, Copy)]
struct Positive(usize);

impl Positive {
    fn of(count: usize) -> Self {
        Self(count)
    }
}

impl std::str::FromStr for Positive {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<usize>() {
            Ok(count) if (1..=1 << 40).contains(&count) => Ok(Self(count)),
            _ => Err(format!("{text:?} is no whole number from 1 to {}", 1_u64 << 40)),
        }
    }
}

impl std::fmt::Display for Positive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A span of more than no time, in seconds.
#[derive(Debug, Clone, Copy)]
struct Seconds(Duration);

impl std::str::FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(seconds) if (0.001..=86_400.0).contains(&seconds) => {
                Ok(Self(Duration::from_secs_f64(seconds)))
            }
            _ => Err(format!("{text:?} is no number of seconds from 0.001 to 86400")),
        }
    }
}

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_secs_f64().fmt(f)
    }
}

impl ServeArguments {
    fn access(&self) -> anyhow::Result<Access> {
        let keys = match &self.keys {
            None => None,
            Some(path) => {
                let file = KeyFile::read(path).context("--keys")?;
                if file.keys.is_empty() {
                    bail!(
                        "--keys: {} holds no key, so that nobody could ask: make one with `assize keys add NAME --file {}`",
                        path.display(),
                        path.display()
                    );
                }
                Some(Keyring::new(&file))
            }
        };
        Ok(Access {
            keys,
            cors: self.cors_origin.clone(),
        })
    }

    fn limits(&self) -> ServerLimits {
        ServerLimits {
            queue_jobs: self.queue.0,
            queue_tokens: self.queue_tokens.0,
            batch_tokens: self.batch_tokens.0,
            request_tokens: self.request_tokens.0,
            deadline: self.deadline.0,
            body_bytes: self.max_body.0,
            media_body_bytes: self.max_media_body.0,
            all_bodies_bytes: self.max_all_bodies.0,
            fetch: self.allow_media_urls.then_some(FetchLimits {
                bytes: self.max_media_body.0,
                time: self.media_url_timeout.0,
            }),
            body_time: self.body_timeout.0,
            header_time: self.header_timeout.0,
            connections: self.connections.0,
            drain_time: self.drain.0,
            ..ServerLimits::default()
        }
    }
}

/// Runs `assize serve` until it is told to stop.
///
/// # Errors
/// The address is taken, or the model cannot be loaded.
pub fn run(arguments: &ServeArguments) -> anyhow::Result<()> {
    logging::start(arguments.log_format, "info")?;
    // Before the model is loaded, so that a taken port is found at once.
    let (host, port) = (arguments.host.as_str(), arguments.port);
    let listener = TcpListener::bind((host, port))
        .with_context(|| format!("listening on {host}:{port}: choose another --host or --port"))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let access = arguments.access()?;
    let keys = access.keys.as_ref().map(Keyring::len);
    let service = Arc::new(arguments.model.open()?);
    let app = App::start_with(Arc::clone(&service), arguments.limits(), access)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let drained = runtime.block_on(async {
        let (stop, abort) = stop_signals()?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let engine = service.engine();
        tracing::info!(
            model = service.name(),
            artifact = %service.artifact_id(),
            head = service.fitted_head().map(FittedHead::id),
            calibration = service.calibration_id(),
            engine = engine.name,
            engine_version = engine.version,
            precision = %engine.precision,
            kernels = engine.kernels,
            threads = engine.threads,
            memory_mib = memory_mib().map(f64::round),
            url = %format_args!("http://{address}"),
            keys,
            "ready"
        );
        match (keys, address.ip().is_loopback()) {
            (Some(_), _) => {}
            (None, true) => tracing::info!("open without keys: every program on this machine may ask"),
            (None, false) => tracing::warn!(
                "{address} can be reached from outside and is open without keys: whoever reaches it may ask. --keys asks \
                 for one"
            ),
        }
        anyhow::Ok(serve(Arc::clone(&app), listener, stop, abort).await)
    })?;
    let ended = app.finish(ENGINE_END);
    runtime.shutdown_background();
    match drained {
        Drained::All if ended => tracing::info!("stopped; every accepted request was answered"),
        Drained::All => tracing::info!("stopped; what the engine still computed, nobody waited for"),
        Drained::OutOfTime => bail!(
            "stopped with requests unanswered, which got a 503: the {} s of --drain were over",
            arguments.drain
        ),
        Drained::Aborted => {
            bail!("stopped at once by a second signal; requests that were unanswered got a 503")
        }
    }
    Ok(())
}

/// Two futures: the first SIGTERM or SIGINT resolves one, the second the other; a third ends the process.
fn stop_signals() -> std::io::Result<(impl Future<Output = ()>, impl Future<Output = ()>)> {
    #[cfg(unix)]
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    #[cfg(unix)]
    let mut interrupt = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
    let (signals, told) = tokio::sync::watch::channel(0);
    tokio::spawn(async move {
        for count in 1.. {
            #[cfg(unix)]
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            #[cfg(not(unix))]
            if tokio::signal::ctrl_c().await.is_err() {
                return;
            }
            match count {
                1 => tracing::info!("stopping: accepted requests are finished, new ones refused"),
                2 => tracing::info!("stopping at once"),
                _ => std::process::exit(1),
            }
            signals.send_replace(count);
        }
    });
    let after = |mut told: tokio::sync::watch::Receiver<i32>, least: i32| async move {
        // An error would mean that no signal can come any more.
        if told.wait_for(|count| *count >= least).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    Ok((after(told.clone(), 1), after(told, 2)))
}
