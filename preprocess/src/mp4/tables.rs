//! What the header of a file says of one track.

use super::boxes::{duration, each, first, long, number, pairs};

/// Samples that are decoded and shown at even distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) samples: u32,
    /// When the first of them is shown, in units of the track.
    pub(super) start: i128,
    /// How long each lasts.
    pub(super) each: u32,
}

/// A part of the track that is shown, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edit {
    /// In units of the film; 0 is to the end.
    pub(super) duration: u64,
    /// Where it starts, in units of the track.
    pub(super) start: i64,
}

/// The tables of one track that tell when its samples are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrackTables {
    /// Units of the film in a second (`mvhd`).
    pub(super) film_scale: u32,
    /// Units of the track in a second (`mdhd`).
    pub(super) scale: u32,
    /// The length of all samples, in units of the track (`mdhd`).
    pub(super) media_duration: Option<u64>,
    /// The length of what is shown, in units of the film (`tkhd`).
    pub(super) shown_duration: Option<u64>,
    /// Samples with a size (`stsz`).
    pub(super) samples: u32,
    /// Samples in all chunks (`stsc`, `stco`).
    pub(super) in_chunks: Option<u64>,
    /// Samples with a duration (`stts`).
    pub(super) timed: u64,
    /// The sum of these durations.
    pub(super) length: i128,
    /// All samples with a duration, in the order of decoding (`stts` and `ctts`).
    pub(super) runs: Vec<Run>,
    /// Samples with a delay (`ctts`), if there is such a table.
    pub(super) delayed: Option<u64>,
    /// The least and the greatest delay from decoding to showing (`ctts`).
    pub(super) delays: (i32, i32),
    /// `elst`, without the edits that show nothing.
    pub(super) edits: Vec<Edit>,
}

impl TrackTables {
    /// The tables of the track with this number in a file; `None` if the file has its header in another form, or if samples
    /// stand in fragments too, of which these tables know nothing.
    ///
    /// # Errors
    ///
    /// The name of the table that the track lacks.
    pub(crate) fn of(file: &[u8], track: i32) -> Result<Option<Self>, &'static str> {
        let film = first(file, b"moov");
        let Some((film, head)) = film.and_then(|film| Some((film, first(film, b"mvhd")?))) else {
            return Ok(None);
        };
        if first(film, b"mvex").is_some() {
            return Ok(None);
        }
        let film_scale = number(head, if head.first() == Some(&0) { 12 } else { 20 }).ok_or("mvhd")?;
        let tracks = each(film).filter(|(name, _)| name == b"trak");
        let wanted = u32::try_from(track).ok();
        for (_, body) in tracks {
            let head = first(body, b"tkhd").ok_or("tkhd")?;
            let version = *head.first().ok_or("tkhd")?;
            let times = if version == 0 { 12 } else { 20 };
            if number(head, times) == wanted {
                let shown = duration(head, version, times + 8).filter(|d| *d > 0);
                return Self::of_track(body, film_scale, shown);
            }
        }
        Ok(None)
    }

    fn of_track(
        body: &[u8],
        film_scale: u32,
        shown_duration: Option<u64>,
    ) -> Result<Option<Self>, &'static str> {
        let media = first(body, b"mdia").ok_or("mdia")?;
        let head = first(media, b"mdhd").ok_or("mdhd")?;
        let version = *head.first().ok_or("mdhd")?;
        let times = if version == 0 { 12 } else { 20 };
        let scale = number(head, times).ok_or("mdhd")?;
        let media_duration = duration(head, version, times + 4).filter(|d| *d > 0);
        let table = first(media, b"minf")
            .and_then(|media| first(media, b"stbl"))
            .ok_or("stbl")?;
        // The compact table of sizes has its count in the same place.
        let sizes = first(table, b"stsz").or_else(|| first(table, b"stz2"));
        let samples = sizes.and_then(|sizes| number(sizes, 8)).ok_or("stsz")?;
        if samples == 0 {
            return Ok(None);
        }
        let durations = first(table, b"stts").ok_or("stts")?;
        let timed = counted(pairs(durations));
        let length = pairs(durations)
            .map(|(count, each)| i128::from(count) * i128::from(each))
            .sum();
        let delays = first(table, b"ctts").unwrap_or_default();
        let delay = || {
            pairs(delays)
                .filter(|(count, _)| *count > 0)
                .map(|(_, d)| d.cast_signed())
        };
        Ok(Some(Self {
            film_scale,
            scale,
            media_duration,
            shown_duration,
            samples,
            in_chunks: in_chunks(table),
            timed,
            delayed: first(table, b"ctts").map(|delays| counted(pairs(delays))),
            length,
            runs: runs(pairs(durations), pairs(delays)),
            delays: (delay().min().unwrap_or(0), delay().max().unwrap_or(0)),
            edits: first(body, b"edts")
                .and_then(|edits| first(edits, b"elst"))
                .map_or_else(Vec::new, edits),
        }))
    }
}

fn counted(entries: impl Iterator<Item = (u32, u32)>) -> u64 {
    entries.map(|(count, _)| u64::from(count)).sum()
}

/// Samples that the chunks of a track hold (ISO 14496-12, section 8.7.4): so many in each chunk from a first one on.
fn in_chunks(table: &[u8]) -> Option<u64> {
    let chunks = first(table, b"stco").or_else(|| first(table, b"co64"))?;
    let chunks = u64::from(number(chunks, 4)?);
    let body = first(table, b"stsc")?;
    let count = number(body, 4)? as usize;
    let entries = body.get(8..)?.chunks_exact(12).take(count);
    let (mut all, mut open) = (0_u64, (1, 0_u64));
    for entry in entries {
        let (start, each) = (u64::from(number(entry, 0)?), u64::from(number(entry, 4)?));
        all = all.saturating_add(start.saturating_sub(open.0).saturating_mul(open.1));
        open = (start, each);
    }
    Some(all.saturating_add((chunks + 1).saturating_sub(open.0).saturating_mul(open.1)))
}

/// Stretches in which both the duration and the delay stay the same.
fn runs(
    durations: impl Iterator<Item = (u32, u32)>,
    mut delays: impl Iterator<Item = (u32, u32)>,
) -> Vec<Run> {
    let mut found = Vec::new();
    let mut decoded = 0_i128;
    let mut delay = (0, 0);
    for (mut left, each) in durations {
        while left > 0 {
            while delay.0 == 0 {
                // Behind the end of its table the delay is 0.
                delay = delays.next().unwrap_or((u32::MAX, 0));
            }
            let samples = left.min(delay.0);
            found.push(Run {
                samples,
                start: decoded + i128::from(delay.1.cast_signed()),
                each,
            });
            decoded += i128::from(samples) * i128::from(each);
            left -= samples;
            delay.0 -= samples;
        }
    }
    found
}

/// The entries of an edit list that show something (ISO 14496-12, section 8.6.6).
fn edits(body: &[u8]) -> Vec<Edit> {
    let version = body.first().copied().unwrap_or(0);
    let count = number(body, 4).unwrap_or(0) as usize;
    let entries = body.get(8..).unwrap_or_default();
    let read = |entry: &[u8]| match version {
        0 => Some(Edit {
            duration: number(entry, 0)?.into(),
            start: number(entry, 4)?.cast_signed().into(),
        }),
        _ => Some(Edit {
            duration: long(entry, 0)?,
            start: long(entry, 8)?.cast_signed(),
        }),
    };
    let size = if version == 0 { 12 } else { 20 };
    let all = entries.chunks_exact(size).take(count).filter_map(read);
    // -1 is an empty edit: a pause before the start.
    all.filter(|edit| edit.start >= 0).collect()
}
