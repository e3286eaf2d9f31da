//! `assize bench versus-llama`.

use clap::Args;

use super::BenchArguments;
use super::model::ModelArguments;
use super::quality::PromptArguments;

/// Arguments of `assize bench versus-llama`.
#[derive(Debug, Args)]
pub struct VersusArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    prompts: PromptArguments,
    /// Prompt lengths in tokens
    #[arg(short, long, value_delimiter = ',', default_value = "64,256,512,2048")]
    n_prompt: Vec<usize>,
    /// Rounds; every variant has one timed turn in each
    #[arg(short, long, default_value_t = 10)]
    rounds: usize,
    /// The peer's files: F32, BF16, Q8_0, Q4_0, as-shipped
    #[arg(long, value_delimiter = ',', default_value = "BF16,Q8_0,Q4_0,as-shipped")]
    files: Vec<String>,
    /// The peer's flash attention: on, off or both with a comma between
    #[arg(long, value_delimiter = ',', default_value = "on,off")]
    flash_attention: Vec<String>,
    /// What to measure: speed, agreement or both with a comma between
    #[arg(long, value_delimiter = ',', default_value = "speed,agreement")]
    measure: Vec<String>,
}

impl VersusArguments {
    #[cfg(not(feature = "peer-llama"))]
    pub(super) fn run(&self, _: &BenchArguments) -> anyhow::Result<()> {
        anyhow::bail!(
            "this binary was built without the peer: install cmake, clang and libclang-dev, then build with \
             RUSTFLAGS=\"-C target-cpu=native\" cargo build --release --features peer-llama \
             (`assize bench agreement` compares int8 with float32 without it)"
        )
    }

    #[cfg(feature = "peer-llama")]
    pub(super) fn run(&self, arguments: &BenchArguments) -> anyhow::Result<()> {
        use assize::bench::{Host, Versus, VersusOptions};

        let mut flash_attention = Vec::new();
        for name in &self.flash_attention {
            match name.as_str() {
                "on" => flash_attention.push(true),
                "off" => flash_attention.push(false),
                other => anyhow::bail!("--flash-attention {other:?}: use on, off or on,off"),
            }
        }
        for name in &self.measure {
            if !["speed", "agreement"].contains(&name.as_str()) {
                anyhow::bail!("--measure {name:?}: use speed, agreement or speed,agreement");
            }
        }
        let files = self
            .files
            .iter()
            .map(|name| name.parse().map_err(anyhow::Error::msg))
            .collect::<Result<Vec<_>, _>>()?;
        let measured = |what: &str| self.measure.iter().any(|name| name == what);
        let subject = self.model.open()?;
        // Read first: a missing data set should be said before minutes of timing.
        let prompts = if measured("agreement") {
            self.prompts.read(&subject)?
        } else {
            Vec::new()
        };
        let threads = self.model.threads.unwrap_or_else(|| Host::read().threads);
        let versus = Versus::load(
            &subject,
            VersusOptions {
                files,
                flash_attention,
                threads,
            },
        )?;
        let peer = versus.peer_build();
        eprintln!("peer: {}, {}", peer.version, peer.system_info);
        if !peer.native {
            eprintln!(
                "warning: the peer was not built for this host; build with RUSTFLAGS=\"-C target-cpu=native\" \
                 before comparing speed"
            );
        }
        if measured("speed") {
            let bar = super::progress(versus.turns(self.n_prompt.len(), self.rounds), "turns");
            let records = versus.speed(&subject, &self.n_prompt, self.rounds, || bar.inc(1))?;
            bar.finish_and_clear();
            arguments.print(&records)?;
        }
        if measured("agreement") {
            let bar = super::progress(prompts.len(), "prompts");
            let records = versus.agreement(&subject, &prompts, || bar.inc(1))?;
            bar.finish_and_clear();
            arguments.print(&records)?;
        }
        Ok(())
    }
}
