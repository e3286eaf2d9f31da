//! `assize bench media`.

use std::path::PathBuf;

use anyhow::bail;
use assize::bench::{self, MediaFiles, MediaOptions};
use assize::service::MediumKind;
use clap::Args;

use super::{BenchArguments, progress};

const EXAMPLES: &str = "Examples:
  assize bench media --no-reference                       ours alone
  assize bench media --python venv/bin/python             against PIL, ffmpeg and transformers
  assize bench media --only audio --audio talk.m4a -r 20 --python venv/bin/python
  assize bench media --memory                             what large files add

The reference: python3 -m venv venv; venv/bin/pip install transformers==5.24.0 torch torchvision pillow numpy";

/// Arguments of `assize bench media`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MediaArguments {
    /// Kinds to measure: image, audio, video, with commas between
    #[arg(long, value_delimiter = ',', default_value = "image,audio,video", value_parser = kind, value_name = "KINDS")]
    only: Vec<MediumKind>,
    /// A picture of your own [default: a JPEG of 1920x1080, made with ffmpeg]
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    /// A sound of your own [default: 13 s of MP3, made with ffmpeg]
    #[arg(long, value_name = "FILE")]
    audio: Option<PathBuf>,
    /// A video of your own [default: 30 s of H.264 at 1920x1080, a key frame every 2 s, made with ffmpeg]
    #[arg(long, value_name = "FILE")]
    video: Option<PathBuf>,
    /// Timed rounds; both sides have one turn in each
    #[arg(short, long, default_value_t = 11)]
    rounds: usize,
    /// Python interpreter with the packages of the reference
    #[arg(long, default_value = "python3", value_name = "PATH")]
    python: PathBuf,
    /// Measure ours alone
    #[arg(long, conflicts_with = "python")]
    no_reference: bool,
    /// Measure the memory that large files add, instead of times
    #[arg(long, conflicts_with_all = ["python", "no_reference", "image", "audio", "video"])]
    memory: bool,
    /// Cache folder, where the files are made [default: $ASSIZE_CACHE, else the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Read one file and tell the memory of this process
    #[arg(long, value_parser = kind, hide = true)]
    probe: Option<MediumKind>,
}

fn kind(name: &str) -> Result<MediumKind, String> {
    let kinds = [MediumKind::Image, MediumKind::Audio, MediumKind::Video];
    let found = kinds.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| "use image, audio or video".to_owned())
}

impl MediaArguments {
    pub(super) fn run(&self, arguments: &BenchArguments) -> anyhow::Result<()> {
        if let Some(kind) = self.probe {
            let Some(path) = self.named(kind) else {
                bail!("--probe {0} needs --{0}", kind.name());
            };
            return arguments.print(&[bench::media_memory_probe(kind, path)?]);
        }
        if self.memory {
            let files = MediaFiles::open(self.cache.as_deref())?;
            return arguments.print(&bench::media_memory(&files, &std::env::current_exe()?)?);
        }
        let files = self
            .only
            .iter()
            .map(|kind| Ok((*kind, self.file(*kind)?)))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let options = MediaOptions {
            files,
            rounds: self.rounds,
            python: (!self.no_reference).then(|| self.python.clone()),
        };
        let bar = progress(options.steps(), "rounds");
        let records = bench::media(&options, || bar.inc(1))?;
        bar.finish_and_clear();
        arguments.print(&records)
    }

    /// The file that the caller named.
    fn named(&self, kind: MediumKind) -> Option<&PathBuf> {
        match kind {
            MediumKind::Image => self.image.as_ref(),
            MediumKind::Audio => self.audio.as_ref(),
            MediumKind::Video => self.video.as_ref(),
        }
    }

    fn file(&self, kind: MediumKind) -> anyhow::Result<PathBuf> {
        if let Some(path) = self.named(kind) {
            return Ok(path.clone());
        }
        let files = MediaFiles::open(self.cache.as_deref())?;
        Ok(match kind {
            MediumKind::Image => files.picture(),
            MediumKind::Audio => files.sound(),
            MediumKind::Video => files.film(),
        }?)
    }
}
