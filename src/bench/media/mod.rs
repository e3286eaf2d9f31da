//! Media alone, without a model: from the bytes of a file to patches and frames, against the Python reference pipeline.

mod files;
mod memory;
mod reference;
mod shape;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use assize_models::Medium;
use assize_preprocess::prompt::{MediaForm, PromptForm};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::report::Record;
use super::{BenchError, Host, Summary, paired_ratio};
use crate::service::{MediumKind, PreparedMedia, RawMedium};

pub use files::MediaFiles;
pub use memory::{MediaMemoryRecord, media_memory, media_memory_probe};
use reference::{Reference, Reply, Work};

/// The form whose budgets count: that of the model which this is for.
const FORM: &str = "jev-omni";
/// Pause before each turn: the worker threads of the other side stop spinning.
const PAUSE: Duration = Duration::from_millis(50);
/// How far the mean squares of both sides may lie apart; resamplers differ in their transition band.
const LOUDNESS: f64 = 0.05;

/// Times of one file on both sides.
#[derive(Debug, Clone, Serialize)]
pub struct MediaRecord {
    /// Always `media`.
    pub test: &'static str,
    /// `image`, `audio` or `video`.
    pub medium: &'static str,
    /// The file.
    pub file: PathBuf,
    /// Its size.
    pub file_bytes: u64,
    /// Soft tokens that it becomes.
    pub soft_tokens: usize,
    /// What it was compared with.
    pub reference: Option<&'static str>,
    /// Median time from the file's bytes to patches or frames.
    pub median_ns: u64,
    /// Median time of decoding in it.
    pub decode_median_ns: u64,
    /// Median time of resampling and cutting in it.
    pub preprocess_median_ns: u64,
    /// Median time of the reference, from the file to its array.
    pub reference_median_ns: Option<u64>,
    /// Reference time over ours, median of the ratios within a round.
    pub speedup: Option<f64>,
    /// `equal` where both sides gave the same numbers, else `alike`: as many of them, and as loud or bright.
    pub numbers: Option<&'static str>,
    /// Mean square of our numbers over that of the reference's.
    pub mean_square_ratio: Option<f64>,
    /// Every time of ours.
    pub samples_ns: Vec<u64>,
    /// Every time of the reference.
    pub reference_samples_ns: Vec<u64>,
    /// Versions of Python and of the reference's packages.
    pub reference_versions: Option<BTreeMap<String, String>>,
    /// Threads that the system offers.
    pub threads: usize,
    /// The processor.
    pub cpu: String,
    /// Version and features of this binary.
    pub build: String,
}

impl Record for MediaRecord {
    const COLUMNS: &'static [&'static str] = &[
        "medium",
        "file_bytes",
        "soft_tokens",
        "reference",
        "median_ns",
        "decode_median_ns",
        "reference_median_ns",
        "speedup",
        "numbers",
    ];
}

/// What to run.
#[derive(Debug, Clone)]
pub struct MediaOptions {
    /// The files, one after the other.
    pub files: Vec<(MediumKind, PathBuf)>,
    /// Timed rounds, after one that is not timed; both sides have one turn in each.
    pub rounds: usize,
    /// The Python interpreter of the reference; none leaves it out.
    pub python: Option<PathBuf>,
}

impl MediaOptions {
    /// Turns of one side in one round, over all files and their references; for a progress bar.
    pub fn steps(&self) -> usize {
        let kinds = self.files.iter().map(|(kind, _)| match &self.python {
            Some(_) => Work::all(*kind).len(),
            None => 1,
        });
        kinds.sum::<usize>() * (self.rounds.max(1) + 1)
    }
}

/// Measures every file, both sides in turn within each round; the side that starts changes from round to round.
///
/// # Errors
/// A file cannot be read or decoded, Python or one of its packages is missing, or the two sides disagree.
pub fn media(options: &MediaOptions, progress: impl Fn()) -> Result<Vec<MediaRecord>, BenchError> {
    let form = media_form()?;
    let host = Host::read();
    let mut reference = match &options.python {
        Some(python) => Some(Reference::start(python)?),
        None => None,
    };
    let mut records = Vec::new();
    for (kind, path) in &options.files {
        let raw = read(*kind, path)?;
        let works = match &reference {
            Some(_) => Work::all(*kind).iter().copied().map(Some).collect(),
            None => vec![None],
        };
        for work in works {
            let request = match work {
                Some(work) => Some(work.request(&form, path, &raw)?),
                None => None,
            };
            let mut peer = reference.as_mut().zip(request);
            let mut theirs = || match &mut peer {
                Some((reference, request)) => reference.run(request).map(Some),
                None => Ok(None),
            };
            let found = rounds(&form, &raw, options.rounds, &mut theirs, &progress)?;
            records.push(found.record(
                (*kind, path, &raw),
                work,
                reference.as_ref().map(Reference::versions),
                &host,
            )?);
        }
    }
    Ok(records)
}

/// The form of media of the model which this is for.
fn media_form() -> Result<MediaForm, BenchError> {
    let form = PromptForm::built_in(FORM)?;
    form.media().cloned().ok_or_else(|| BenchError::Argument {
        field: "form",
        value: FORM.into(),
        remedy: "it takes no media".into(),
    })
}

fn read(kind: MediumKind, path: &std::path::Path) -> Result<RawMedium, BenchError> {
    let bytes = std::fs::read(path).map_err(|source| BenchError::Io {
        path: path.to_owned(),
        source,
    })?;
    let bytes = bytes.into();
    Ok(RawMedium { kind, bytes })
}

/// What one medium becomes, as the server makes it.
fn prepare(form: &MediaForm, raw: &RawMedium) -> Result<PreparedMedia, BenchError> {
    Ok(PreparedMedia::of(form, raw)?)
}

/// What the rounds of one file gave.
struct Rounds {
    /// Total, decoding and preprocessing of each round.
    ours: Vec<[u64; 3]>,
    theirs: Vec<u64>,
    numbers: Numbers,
    reply: Option<Reply>,
}

fn rounds(
    form: &MediaForm,
    raw: &RawMedium,
    count: usize,
    theirs: &mut dyn FnMut() -> Result<Option<Reply>, BenchError>,
    progress: &impl Fn(),
) -> Result<Rounds, BenchError> {
    // The untimed round: caches are filled, and the numbers of both sides are compared.
    let mut found = Rounds {
        ours: Vec::new(),
        theirs: Vec::new(),
        numbers: Numbers::of(&prepare(form, raw)?),
        reply: theirs()?,
    };
    progress();
    for round in 0..count.max(1) {
        for turn in 0..2 {
            std::thread::sleep(PAUSE);
            if turn == round % 2 {
                let start = Instant::now();
                let prepared = prepare(form, raw)?;
                let times = [start.elapsed(), prepared.decode, prepared.preprocess];
                found.ours.push(times.map(|time| time.as_nanos() as u64));
            } else if let Some(reply) = theirs()? {
                found.theirs.push(reply.ns);
            }
        }
        progress();
    }
    Ok(found)
}

impl Rounds {
    fn record(
        self,
        (kind, path, raw): (MediumKind, &std::path::Path, &RawMedium),
        work: Option<Work>,
        versions: Option<&BTreeMap<String, String>>,
        host: &Host,
    ) -> Result<MediaRecord, BenchError> {
        let as_f64 = |samples: &[u64]| samples.iter().map(|ns| *ns as f64).collect::<Vec<_>>();
        let column = |place: usize| {
            let of_round = |times: &[u64; 3]| times.get(place).copied().unwrap_or(0);
            self.ours.iter().map(of_round).collect::<Vec<_>>()
        };
        let median = |samples: &[u64]| Summary::of(&as_f64(samples)).median.round() as u64;
        let [total, decode, preprocess] = [column(0), column(1), column(2)];
        let compared = match &self.reply {
            Some(reply) => Some(self.numbers.compare(reply)?),
            None => None,
        };
        Ok(MediaRecord {
            test: "media",
            medium: kind.name(),
            file: path.to_owned(),
            file_bytes: raw.bytes.len() as u64,
            soft_tokens: self.numbers.rows,
            reference: work.map(Work::name),
            median_ns: median(&total),
            decode_median_ns: median(&decode),
            preprocess_median_ns: median(&preprocess),
            reference_median_ns: compared.map(|_| median(&self.theirs)),
            speedup: compared.map(|_| paired_ratio(&as_f64(&self.theirs), &as_f64(&total))),
            numbers: compared.map(|(equal, _)| if equal { "equal" } else { "alike" }),
            mean_square_ratio: compared.map(|(_, ratio)| ratio),
            samples_ns: total,
            reference_samples_ns: self.theirs,
            reference_versions: versions.cloned(),
            threads: host.threads,
            cpu: host.cpu.clone(),
            build: host.build.clone(),
        })
    }
}

/// The numbers that a model would take, in short.
#[derive(Debug, Clone, PartialEq)]
struct Numbers {
    rows: usize,
    columns: usize,
    /// Of all float32 values, little-endian, row by row.
    sha256: String,
    mean_square: f64,
}

impl Numbers {
    fn of(prepared: &PreparedMedia) -> Self {
        let (mut rows, mut count, mut squares) = (0, 0, 0.0);
        let mut hash = Sha256::new();
        for medium in prepared.media() {
            rows += medium.soft_tokens();
            let floats = match &**medium {
                Medium::Picture(picture) => picture.floats(),
                Medium::Sound(sound) => sound.samples().to_vec(),
            };
            count += floats.len();
            for value in floats {
                hash.update(value.to_le_bytes());
                squares += f64::from(value).powi(2);
            }
        }
        Self {
            rows,
            columns: count / rows.max(1),
            sha256: hex::encode(hash.finalize()),
            mean_square: squares / count.max(1) as f64,
        }
    }

    /// Whether all numbers are those of the reference, and our mean square over its.
    fn compare(&self, reply: &Reply) -> Result<(bool, f64), BenchError> {
        let ratio = self.mean_square / reply.mean_square;
        let differs = |what: String| BenchError::Tool {
            tool: "the reference".into(),
            reason: format!("{what}: the two sides did not do the same work, and their times say nothing"),
        };
        if reply.shape != [self.rows, self.columns] {
            let ours = [self.rows, self.columns];
            return Err(differs(format!(
                "it gave an array of {:?}, we gave {ours:?}",
                reply.shape
            )));
        }
        let equal = self.sha256 == reply.sha256;
        if !equal && (ratio - 1.0).abs() > LOUDNESS {
            return Err(differs(format!("our mean square is {ratio:.3} times its")));
        }
        Ok((equal, if equal { 1.0 } else { ratio }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> Numbers {
        Numbers {
            rows: 2,
            columns: 3,
            sha256: "ab".into(),
            mean_square: 0.25,
        }
    }

    fn reply() -> Reply {
        Reply {
            ns: 1,
            shape: vec![2, 3],
            sha256: "ab".into(),
            mean_square: 0.25,
        }
    }

    #[test]
    fn the_same_checksum_is_equal_and_a_near_mean_square_is_alike() {
        assert_eq!(numbers().compare(&reply()).unwrap(), (true, 1.0));
        let near = Reply {
            sha256: "cd".into(),
            mean_square: 0.2475,
            ..reply()
        };
        let (equal, ratio) = numbers().compare(&near).unwrap();
        assert!(!equal && (ratio - 1.0101).abs() < 1e-4, "{ratio}");
    }

    #[test]
    fn other_work_is_an_error() {
        for other in [
            Reply {
                shape: vec![3, 2],
                ..reply()
            },
            Reply {
                sha256: "cd".into(),
                mean_square: 0.5,
                ..reply()
            },
        ] {
            let message = numbers().compare(&other).unwrap_err().to_string();
            assert!(message.contains("did not do the same work"), "{message}");
        }
    }

    #[test]
    fn the_side_that_starts_changes_and_both_have_a_turn_in_each_round() {
        let raw = RawMedium {
            kind: MediumKind::Audio,
            bytes: std::fs::read("tests/media/chirp_16000_u8.wav").unwrap().into(),
        };
        let mut turns = 0;
        let mut theirs = || {
            turns += 1;
            Ok(Some(reply()))
        };
        let found = rounds(&media_form().unwrap(), &raw, 3, &mut theirs, &|| ()).unwrap();
        assert_eq!((found.ours.len(), found.theirs.len()), (3, 3));
        assert_eq!(turns, 4);
        assert_eq!(found.numbers.columns, 640);
    }
}
