//! Whether what was read of a track agrees with what its file declares elsewhere.

use super::kind::VideoKind;
use super::packets::PacketTable;
use super::track::VideoTrack;
use crate::completeness::avi;

/// More frames a second than any camera's film is shown at.
const MOST_A_SECOND: f64 = 10_000.0;

/// What does not agree, in words; `None` if nothing.
pub(super) fn fault(track: &VideoTrack<'_>, table: &PacketTable) -> Option<String> {
    let (num, den) = track.stream.frame_rate;
    let declared = (num > 0 && den > 0).then(|| f64::from(num) / f64::from(den));
    match track.kind {
        VideoKind::Avi => avi_pictures(track, table).or_else(|| avi_rate(track, declared?)),
        VideoKind::Matroska => gaps(track, table, declared),
        VideoKind::Mp4 => gaps(track, table, None),
    }
}

/// A reader that believes a wrong index skips what stands between.
fn avi_pictures(track: &VideoTrack<'_>, table: &PacketTable) -> Option<String> {
    let there = avi::stream_bytes(track.bytes, usize::try_from(track.stream.index).ok()?)?;
    let read: u64 = table.packets.iter().map(|packet| packet.size as u64).sum();
    (read < there)
        .then(|| format!("its index leads to {read} of the {there} bytes of pictures that it holds"))
}

fn avi_rate(track: &VideoTrack<'_>, stream: f64) -> Option<String> {
    let microseconds = avi::frame_microseconds(track.bytes)?;
    let ratio = stream * f64::from(microseconds) / 1e6;
    (!(0.5..=2.0).contains(&ratio)).then(|| {
        format!(
            "its header declares {microseconds} microseconds a frame (`avih`) and its stream {stream:.3} frames a second \
             (`strh`)"
        )
    })
}

/// The distances between packets in time, against the declared rate: a film with pauses has some frames at its rate, and
/// none has all of them much faster.
fn gaps(track: &VideoTrack<'_>, table: &PacketTable, declared: Option<f64>) -> Option<String> {
    let mut times: Vec<i64> = table.packets.iter().map(|packet| packet.time_stamp).collect();
    times.sort_unstable();
    times.dedup();
    let (num, den) = track.stream.time_base;
    let gaps = times.windows(2).map(|w| w[1].saturating_sub(w[0]));
    let seconds = |ticks: i64| ticks as f64 * f64::from(num) / f64::from(den.max(1));
    let (least, most) = (seconds(gaps.clone().min()?), seconds(gaps.max()?));
    if most * MOST_A_SECOND < 1.0 {
        return Some(format!("its time stamps are at most {most} s apart"));
    }
    let declared = declared.filter(|_| times.len() > 2)?;
    (least * declared > 4.0 || most * declared < 0.25).then(|| {
        format!("its time stamps are {least} to {most} s apart and it declares {declared:.3} frames a second")
    })
}
