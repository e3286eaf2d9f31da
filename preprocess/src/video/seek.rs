//! Decoding no more than the chosen frames need: from the last key frame before each one, without the pictures that
//! no other picture refers to.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use ffmpeg_next::Packet;

use super::packets::{PacketEntry, PacketTable};
use super::track::{PictureDecoder, THREADS, VideoTrack};
use super::{Map, SampledFrame, VideoError, sampled_index};

/// Below so many bytes, reading on is cheaper than looking a key frame up.
const NEAR: i64 = 4 << 20;
/// Groups that are decoded at once, each by one thread. A decoder with two threads waits more: its pipeline runs empty at
/// every start, and while a frame is cut.
const WORKERS: usize = THREADS as usize;

/// Decodes `count` of the shown frames; `None` if what comes out is not what the packets promised, so that only
/// decoding everything can tell.
///
/// # Errors
///
/// Only [`VideoError::OutOfTime`] and damage to the container; a frame that cannot be decoded is `None`.
pub(super) fn sample<T: Send>(
    track: &mut VideoTrack<'_>,
    table: &PacketTable,
    shown: &[u32],
    count: usize,
    map: &mut Map<'_, T>,
) -> Result<Option<Vec<SampledFrame<T>>>, VideoError> {
    let Some(groups) = group(&table.packets, shown, count) else {
        return Ok(None);
    };
    let workers = groups.len().clamp(1, WORKERS);
    let work = Work {
        table,
        groups: Mutex::new(longest_last(groups)),
        frames: Mutex::new((0..count).map(|_| None).collect()),
        map: Mutex::new(map),
        threads: if workers == 1 { THREADS } else { 1 },
    };
    let same = (track.bytes, track.kind, track.limits, track.until.clone());
    let all = thread::scope(|scope| {
        let work = &work;
        let other = |_| {
            let (bytes, kind, limits, until) = same.clone();
            scope.spawn(move || match VideoTrack::open(bytes, kind, limits, until) {
                Ok(mut track) => work.run(&mut track),
                Err(error) => Err(error),
            })
        };
        let others: Vec<_> = (1..workers).map(other).collect();
        let mut all = work.run(track);
        for other in others {
            let done = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all = match (all, done) {
                (Ok(all), Ok(done)) => Ok(all && done),
                // Out of time is the one error that another way of decoding does not help against.
                (Err(error @ VideoError::OutOfTime { .. }), _) | (_, Err(error)) | (Err(error), _) => {
                    Err(error)
                }
            };
        }
        all
    });
    match all {
        Ok(true) => Ok(inner(work.frames).into_iter().collect()),
        Ok(false) | Err(VideoError::Damaged { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the workers share. Each takes the next group as soon as it is done with one.
struct Work<'w, T> {
    table: &'w PacketTable,
    groups: Mutex<Vec<(usize, Vec<Wanted>)>>,
    frames: Mutex<Vec<Option<SampledFrame<T>>>>,
    map: Mutex<&'w mut Map<'w, T>>,
    /// Threads of each decoder.
    threads: i32,
}

impl<T> Work<'_, T> {
    /// Decodes groups until there are none; whether all frames of them came out.
    fn run(&self, track: &mut VideoTrack<'_>) -> Result<bool, VideoError> {
        let mut reader = Reader {
            table: self.table,
            // Behind the end, so that the first key frame is looked up.
            next: self.table.packets.len(),
            pending: false,
            packet: Packet::empty(),
        };
        let mut decoder = PictureDecoder::open(track, self.threads)?;
        let next = || lock(&self.groups).pop();
        while let Some((start, wanted)) = next() {
            let done = self.decode_group(track, &mut reader, &mut decoder, start, &wanted);
            if !matches!(done, Ok(true)) {
                // What the others would still decode is of no use.
                lock(&self.groups).clear();
                return done;
            }
        }
        Ok(true)
    }
}

/// The groups, those that take longest at the end, from where they are taken first.
fn longest_last(groups: BTreeMap<usize, Vec<Wanted>>) -> Vec<(usize, Vec<Wanted>)> {
    let mut groups: Vec<_> = groups.into_iter().collect();
    let last = |wanted: &[Wanted]| wanted.iter().map(|w| w.packet).max();
    groups.sort_by_key(|(start, wanted)| last(wanted).unwrap_or(*start) - start);
    groups
}

/// What a panic left half done is never looked at: the panic goes on.
fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn inner<V>(mutex: Mutex<V>) -> V {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
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

impl<T> Work<'_, T> {
    /// Whether all wanted frames of one group came out.
    fn decode_group(
        &self,
        track: &mut VideoTrack<'_>,
        reader: &mut Reader<'_>,
        decoder: &mut PictureDecoder,
        start: usize,
        wanted: &[Wanted],
    ) -> Result<bool, VideoError> {
        let packets = &self.table.packets;
        let last = wanted.iter().map(|w| w.packet).max().unwrap_or(start);
        let by_time: BTreeMap<i64, Wanted> = wanted
            .iter()
            .map(|w| (packets[w.packet].time_stamp, *w))
            .collect();
        let is_wanted = |packet: usize| wanted.iter().any(|w| w.packet == packet);
        let (mut last_shown, mut ordered) = (i64::MIN, true);
        let mut keep = |decoded: &mut super::track::Decoded<'_>| {
            // Decoders give frames in the order in which they are shown, whatever their time stamps say.
            ordered &= decoded.time.ticks > last_shown;
            last_shown = decoded.time.ticks;
            if let Some(w) = by_time.get(&decoded.time.ticks) {
                let picture = decoded.picture()?;
                let picture = (lock(&self.map))(picture);
                let frame = SampledFrame {
                    picture,
                    index: w.index,
                    time: decoded.time,
                };
                if let Some(place) = lock(&self.frames).get_mut(w.place) {
                    *place = Some(frame);
                }
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
        let frames = lock(&self.frames);
        Ok(ordered
            && wanted
                .iter()
                .all(|w| frames.get(w.place).is_some_and(Option::is_some)))
    }
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
