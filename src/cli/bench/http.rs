//! `assize bench http`.

use assize::bench::{self, Address, HttpOptions, HttpRecord, Server};
use clap::Args;

use super::model::{ModelArguments, PrecisionArguments};
use super::progress;

/// Arguments of `assize bench http`.
#[derive(Debug, Args)]
pub struct HttpArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    precision: PrecisionArguments,
    /// A server that runs already, for example http://127.0.0.1:8080; it must serve the same model in the same
    /// precision [default: start one]
    #[arg(long)]
    url: Option<Address>,
    /// Words of each text
    #[arg(long, default_value_t = 100)]
    words: usize,
    /// Decisions compared one by one
    #[arg(short = 'n', long, default_value_t = 200)]
    decisions: usize,
    /// Clients at once
    #[arg(short, long, default_value_t = 64)]
    clients: usize,
    /// Decisions of one throughput round
    #[arg(long, default_value_t = 512)]
    burst: usize,
    /// Throughput rounds
    #[arg(short, long, default_value_t = 5)]
    rounds: usize,
    /// Most rows of one batch of the engine alone
    #[arg(long, default_value_t = 4096)]
    batch_tokens: usize,
}

impl HttpArguments {
    pub(super) fn run(&self) -> anyhow::Result<HttpRecord> {
        let subject = self.model.open()?;
        let backbone = subject.load(self.precision.precision, self.model.threads)?;
        let server = match self.url {
            Some(_) => None,
            None => Some(Server::start(
                &std::env::current_exe()?,
                &self.server_arguments(&*backbone),
            )?),
        };
        let address = match (self.url, &server) {
            (Some(address), _) => address,
            (None, Some(server)) => server.address(),
            (None, None) => anyhow::bail!("no server"),
        };
        let options = HttpOptions {
            words: self.words,
            decisions: self.decisions,
            clients: self.clients,
            burst: self.burst,
            rounds: self.rounds,
            batch_tokens: self.batch_tokens,
        };
        let bar = progress(bench::http_steps(&options), "steps");
        let record = bench::http(&subject, &*backbone, &address, server.as_ref(), &options, || {
            bar.inc(1);
        })?;
        bar.finish_and_clear();
        Ok(record)
    }

    /// The same model, precision and threads as measured here.
    fn server_arguments(&self, backbone: &dyn assize_models::Backbone) -> Vec<String> {
        let engine = backbone.engine();
        let mut arguments = vec![
            "--model".to_owned(),
            self.model.model.clone(),
            "--precision".to_owned(),
            engine.precision.to_string(),
            "--threads".to_owned(),
            engine.threads.to_string(),
            "--device".to_owned(),
            self.model.engine.device.to_string(),
            // A burst of many clients on a slow machine must be timed, not refused.
            "--deadline".to_owned(),
            "600".to_owned(),
        ];
        if let Some(engine) = self.model.engine.engine {
            arguments.extend(["--engine".to_owned(), engine.to_string()]);
        }
        if let Some(cache) = &self.model.cache {
            arguments.extend(["--cache".to_owned(), cache.display().to_string()]);
        }
        arguments
    }
}
