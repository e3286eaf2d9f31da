//! Decoding no more than the chosen frames need: from the last key frame before each one, without the pictures that
//! no other picture refers to.

use std::collections::BTreeMap;

use ffmpeg_next::Packet;

use super::packets::{PacketEntry, PacketTable};
use super::track::{PictureDecoder, VideoTrack};
use super::{RgbFrame, SampledFrame, VideoError, sampled_index};

/// Below so many bytes, reading on is cheaper than looking a key frame up.
const NEAR: i64 = 4 << 20;

/// Decodes `count` of the shown frames; `None` if what comes out is not what the packets promised, so that only
/// decoding everything can tell.
///
/// # Errors
///
/// Only [`VideoError::OutOfTime`] and damage to the container; a frame that cannot be decoded is `None`.
pub(super) fn sample<T>(
    track: &mut VideoTrack<'_>,
    table: &PacketTable,
    shown: &[u32],
    count: usize,
    map: &mut dyn FnMut(RgbFrame) -> T,
) -> Result<Option<Vec<SampledFrame<T>>>, VideoError> {
    let Some(groups) = group(&table.packets, shown, count) else {
        return Ok(None);
    };
    let mut reader = Reader {
        table,
        // The scan ended there, so that the first key frame is looked up.
        next: table.packets.len(),
        pending: false,
        packet: Packet::empty(),
    };
    let mut decoder = PictureDecoder::open(track)?;
    let mut frames: Vec<Option<SampledFrame<T>>> = (0..count).map(|_| None).collect();
    for (start, wanted) in groups {
        match decode_group(track, &mut reader, &mut decoder, start, &wanted, &mut frames, map) {
            Ok(true) => {}
            Ok(false) | Err(VideoError::Damaged { .. }) => return Ok(None),
            Err(e) => return Err(e),
        }
    }
    Ok(frames.into_iter().collect())
}

/// A chosen frame: its place among the chosen, its index in the video, its packet.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    place: usize,
    index: usize,
    packet: usize,
}

/// The chosen frames by the packet at which decoding for them starts; `None` if there is no such packet for one.
fn group(packets: &[PacketEntry], shown: &[u32], count: usize) -> Option<BTreeMap<usize, Vec<Wanted>>> {
    let mut groups: BTreeMap<usize, Vec<Wanted>> = BTreeMap::new();
    for place in 0..count {
        let index = sampled_index(place, shown.len(), count);
        let packet = *shown.get(index)? as usize;
        let time = packets.get(packet)?.time_stamp;
        // A frame that is shown before a key frame and stored after it may need the key frame before that.
        let start = (0..=packet)
            .rev()
            .find(|n| packets[*n].start && packets[*n].time_stamp <= time)?;
        groups
            .entry(start)
            .or_default()
            .push(Wanted { place, index, packet });
    }
    Some(groups)
}

/// Whether all wanted frames of one group came out.
fn decode_group<T>(
    track: &mut VideoTrack<'_>,
    reader: &mut Reader<'_>,
    decoder: &mut PictureDecoder,
    start: usize,
    wanted: &[Wanted],
    frames: &mut [Option<SampledFrame<T>>],
    map: &mut dyn FnMut(RgbFrame) -> T,
) -> Result<bool, VideoError> {
    let packets = &reader.table.packets;
    let last = wanted.iter().map(|w| w.packet).max().unwrap_or(start);
    let by_time: BTreeMap<i64, Wanted> = wanted
        .iter()
        .map(|w| (packets[w.packet].time_stamp, *w))
        .collect();
    let is_wanted = |packet: usize| wanted.iter().any(|w| w.packet == packet);
    let mut keep = |decoded: &mut super::track::Decoded<'_>| {
        if let Some(w) = by_time.get(&decoded.time.ticks) {
            frames[w.place] = Some(SampledFrame {
                picture: map(decoded.picture()?),
                index: w.index,
                time: decoded.time,
            });
        }
        Ok(())
    };
    decoder.restart();
    reader.go_to(track, start)?;
    for number in start..=last {
        if !reader.read(track)? {
            return Ok(false);
        }
        let entry = packets[number];
        // Shown before the start: may refer to what was not decoded, and nothing from the start on refers to it.
        let before = entry.time_stamp < packets[start].time_stamp;
        if before || (!entry.reference && !is_wanted(number)) {
            continue;
        }
        decoder.decode(Some(&reader.packet), &mut keep)?;
    }
    decoder.decode(None, &mut keep)?;
    Ok(wanted.iter().all(|w| frames[w.place].is_some()))
}

/// Reads packets by their number in the table.
struct Reader<'t> {
    table: &'t PacketTable,
    /// The number of the packet that is read next.
    next: usize,
    /// Whether that packet is in `packet` already.
    pending: bool,
    packet: Packet,
}

impl Reader<'_> {
    /// Makes `number` the next packet.
    fn go_to(&mut self, track: &mut VideoTrack<'_>, number: usize) -> Result<(), VideoError> {
        let packets = &self.table.packets;
        let near = self.next <= number
            && (0..NEAR).contains(&(packets[number].position - packets[self.next].position));
        if !near && !self.seek(track, number)? {
            track.reopen()?;
            (self.next, self.pending) = (0, false);
        }
        while self.next < number {
            if !self.read(track)? {
                return Err(track.damaged("it reads differently the second time"));
            }
        }
        Ok(())
    }

    /// Goes to `number` or somewhere before it by the file's own index; `false` if that led elsewhere.
    fn seek(&mut self, track: &mut VideoTrack<'_>, number: usize) -> Result<bool, VideoError> {
        let packets = &self.table.packets;
        self.pending = false;
        if !track.input.seek(track.stream, packets[number].time_stamp) {
            return Ok(false);
        }
        // A broken index can point into the middle of nowhere.
        if !matches!(track.read(&mut self.packet), Ok(true)) {
            track.input.in_time().map_err(|_| VideoError::OutOfTime {
                limit: track.limits.time,
            })?;
            return Ok(false);
        }
        match (0..=number).rev().find(|n| self.holds(*n)) {
            Some(found) => {
                (self.next, self.pending) = (found, true);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Reads the next packet into `packet`; `false` if it is not the one of the table.
    fn read(&mut self, track: &mut VideoTrack<'_>) -> Result<bool, VideoError> {
        let there = self.pending || track.read(&mut self.packet)?;
        self.pending = false;
        let same = there && self.holds(self.next);
        self.next += 1;
        Ok(same)
    }

    fn holds(&self, number: usize) -> bool {
        self.table.packets.get(number).is_some_and(|entry| {
            entry.position == self.packet.position() as i64
                && entry.size == self.packet.size()
                && Some(entry.time_stamp) == self.packet.pts()
        })
    }
}
