//! Video: from the bytes of a file to a few of its frames, evenly spread.
//!
//! Of T frames in the order in which they are shown, frame floor(i * T / n) is taken for i = 0 to n - 1. T is counted,
//! never taken from a header. What becomes of the frames (resizing, patches) is the caller's: each is handed over as
//! soon as it is decoded, so that no more than two are held at their full size.

mod agreement;
mod colour;
mod error;
mod kind;
mod limits;
mod packets;
mod picture;
mod rotation;
mod seek;
mod sequential;
mod time;
mod track;

use std::num::NonZeroUsize;

pub use error::VideoError;
use kind::VideoKind;
pub use limits::VideoLimits;
use packets::PacketTable;
pub use time::{FrameRate, FrameTime};
use track::VideoTrack;

use crate::completeness;
use crate::mp4::TrackTables;

/// How many frames the model was made for.
pub const FRAMES: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// A picture of 8-bit RGB.
#[derive(Clone, PartialEq, Eq)]
pub struct RgbFrame {
    /// Rows from the top, pixels from the left, three bytes each: [height, width, 3].
    pub rgb: Vec<u8>,
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl std::fmt::Debug for RgbFrame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RgbFrame({} x {})", self.width, self.height)
    }
}

/// One chosen frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampledFrame<T> {
    /// What was made of the picture.
    pub picture: T,
    /// Its index in the video, from 0, in the order in which frames are shown.
    pub index: usize,
    /// When it is shown: its own time stamp, also where frames are not evenly spaced.
    pub time: FrameTime,
}

/// The chosen frames of a video.
#[derive(Debug, Clone, PartialEq)]
pub struct VideoFrames<T> {
    /// The frames in order; fewer than were asked for only if the video has no more.
    pub frames: Vec<SampledFrame<T>>,
    /// How many frames the video has.
    pub total_frames: usize,
    /// Frames a second, averaged over the video.
    pub frame_rate: FrameRate,
    /// Whether there is a sound track. It is not looked at.
    pub ignored_sound: bool,
    /// Whether the file holds other video tracks, which are not read.
    pub others: bool,
}

impl<T> VideoFrames<T> {
    /// The times of the frames as texts, "MM:SS", from their index and the frame rate.
    pub fn time_texts(&self) -> impl Iterator<Item = String> {
        self.frames.iter().map(|f| self.frame_rate.time_text(f.index))
    }
}

/// Takes `count` frames from an MP4, MOV, WebM, MKV or AVI file.
///
/// # Errors
///
/// See [`VideoError`]; never a part of what was asked for.
pub fn sample(
    bytes: &[u8],
    count: NonZeroUsize,
    limits: &VideoLimits,
) -> Result<VideoFrames<RgbFrame>, VideoError> {
    sample_with(bytes, count, limits, |frame| frame)
}

/// Takes `count` frames as [`sample`] does, and hands each to `map` as soon as it is decoded, one at a time but in any order
/// and from any thread. A frame can be handed over twice, if the faster way of decoding turns out not to do for the file.
///
/// # Errors
///
/// See [`VideoError`]; what `map` made until then is dropped.
pub fn sample_with<T: Send>(
    bytes: &[u8],
    count: NonZeroUsize,
    limits: &VideoLimits,
    mut map: impl FnMut(RgbFrame) -> T + Send,
) -> Result<VideoFrames<T>, VideoError> {
    sample_by(bytes, count, limits, Way::Shortest, &mut map)
}

/// What a caller makes of a frame.
type Map<'m, T> = dyn FnMut(RgbFrame) -> T + Send + 'm;

/// How the frames are reached. Both ways give the same frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// From key frame to key frame, where the file allows it.
    Shortest,
    /// Decoding everything.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "what the shortest way is tested against")
    )]
    Everything,
}

fn sample_by<T: Send>(
    bytes: &[u8],
    count: NonZeroUsize,
    limits: &VideoLimits,
    way: Way,
    map: &mut Map<'_, T>,
) -> Result<VideoFrames<T>, VideoError> {
    if bytes.len() > limits.bytes {
        return Err(VideoError::TooLarge {
            what: "bytes",
            value: bytes.len() as u64,
            limit: limits.bytes as u64,
        });
    }
    if bytes.is_empty() {
        return Err(VideoError::Empty);
    }
    let kind = VideoKind::of(bytes).ok_or_else(|| {
        VideoError::UnsupportedKind("the file begins like no known kind of video".to_owned())
    })?;
    if let Some(reason) = completeness::fault(bytes) {
        return Err(VideoError::Damaged {
            kind: kind.name(),
            reason,
        });
    }
    let until = limits.until.within(limits.time);
    let mut track = VideoTrack::open(bytes, kind, limits, until)?;
    if kind == VideoKind::Mp4
        && let Some(reason) = TrackTables::fault_of(bytes, track.stream.id)
    {
        return Err(track.damaged(&reason));
    }
    let table = PacketTable::scan(&mut track)?;
    if let Some(reason) = agreement::fault(&track, &table) {
        return Err(track.damaged(&reason));
    }
    if let (Way::Shortest, Some(shown)) = (way, &table.shown)
        && let (Some(first), Some(last)) = (shown.first(), shown.last())
    {
        let count = count.get().min(shown.len());
        if let Some(frames) = seek::sample(&mut track, &table, shown, count, map)? {
            let ticks = |n: &u32| table.packets[*n as usize].time_stamp;
            let span = ticks(last).saturating_sub(ticks(first));
            return Ok(result(&track, frames, shown.len(), span));
        }
    }
    let (total, span) = sequential::count(&mut track)?;
    let Some((first, last)) = span else {
        return Err(VideoError::Empty);
    };
    let frames = sequential::sample(&mut track, total, count.get().min(total), map)?;
    Ok(result(
        &track,
        frames,
        total,
        last.ticks.saturating_sub(first.ticks),
    ))
}

fn result<T>(
    track: &VideoTrack<'_>,
    frames: Vec<SampledFrame<T>>,
    total: usize,
    span: i64,
) -> VideoFrames<T> {
    VideoFrames {
        frames,
        total_frames: total,
        frame_rate: frame_rate(track, total, span),
        ignored_sound: track.has_sound(),
        others: track.has_others(),
    }
}

/// The rate that the frames have; the file's own number where it agrees, since that is exact.
fn frame_rate(track: &VideoTrack<'_>, total: usize, span: i64) -> FrameRate {
    let (num, den) = track.stream.frame_rate;
    let declared = FrameRate::new(f64::from(num) / f64::from(den));
    let unit = f64::from(track.stream.time_base.0) / f64::from(track.stream.time_base.1);
    let intervals = total.saturating_sub(1) as f64;
    let measured = (intervals > 0.0)
        .then(|| FrameRate::new(intervals / (span as f64 * unit)))
        .flatten();
    match (declared, measured) {
        (Some(declared), Some(measured)) => {
            // Time stamps are whole units, one at either end.
            let slack = (2.0 / span as f64).max(1e-3);
            if (declared.per_second() / measured.per_second() - 1.0).abs() <= slack {
                declared
            } else {
                measured
            }
        }
        (declared, measured) => measured.or(declared).unwrap_or(FrameRate::ASSUMED),
    }
}

/// The index of the `place`-th of `count` frames out of `total`: floor(place * total / count).
fn sampled_index(place: usize, total: usize, count: usize) -> usize {
    let exact = place as u128 * total as u128 / count.max(1) as u128;
    usize::try_from(exact).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
