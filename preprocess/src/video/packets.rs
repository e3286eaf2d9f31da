//! All packets of a video track, in the order of the file: what tells how many frames there truly are, whatever the
//! header says.

use ffmpeg_next::Packet;

use super::kind::VideoKind;
use super::picture::PictureReader;
use super::{VideoError, VideoTrack};

/// One packet, without its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PacketEntry {
    pub(super) time_stamp: i64,
    /// Offset of the packet in the file.
    pub(super) position: i64,
    pub(super) size: usize,
    pub(super) shown: bool,
    pub(super) start: bool,
    pub(super) reference: bool,
}

/// The packets of a track.
#[derive(Debug)]
pub(super) struct PacketTable {
    pub(super) packets: Vec<PacketEntry>,
    /// The packets that show a frame, in the order in which they are shown; `None` if only decoding can tell.
    pub(super) shown: Option<Vec<u32>>,
}

impl PacketTable {
    /// Reads all packets once.
    ///
    /// # Errors
    ///
    /// The file ends within a packet, is damaged, has too many packets, or the time is up.
    pub(super) fn scan(track: &mut VideoTrack<'_>) -> Result<Self, VideoError> {
        let mut pictures = PictureReader::new(track.stream.codec, track.input.extradata(track.stream));
        let mut packets = Vec::new();
        let mut known = !track.stream.interlaced;
        let mut durations = Durations::default();
        let mut packet = Packet::empty();
        while track.read(&mut packet)? {
            if packets.len() >= track.limits.frames {
                return Err(VideoError::TooLarge {
                    what: "frames",
                    value: packets.len() as u64 + 1,
                    limit: track.limits.frames as u64,
                });
            }
            let picture = pictures.read(packet.data().unwrap_or_default(), packet.is_key());
            known &= picture.shown.is_some() && packet.pts().is_some();
            durations.add(packet.duration());
            packets.push(PacketEntry {
                time_stamp: packet.pts().unwrap_or_default(),
                position: packet.position() as i64,
                size: packet.size(),
                // An edit list leaves some out.
                shown: picture.shown == Some(1) && !discarded(&packet),
                start: picture.start,
                reference: picture.reference,
            });
        }
        let shown = if known { in_order(&packets) } else { None };
        let even = match (track.kind, durations) {
            // Its time stamps are as exact as its durations.
            (VideoKind::Mp4, Durations::Equal(each)) => Some(each),
            _ => None,
        };
        let shown = shown.filter(|shown| even.is_none_or(|each| evenly_spaced(&packets, shown, each)));
        Ok(Self { packets, shown })
    }
}

/// Whether all packets last equally long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Durations {
    #[default]
    Unknown,
    Equal(i64),
    Different,
}

impl Durations {
    fn add(&mut self, duration: i64) {
        *self = match *self {
            Self::Unknown => Self::Equal(duration),
            Self::Equal(other) if other == duration => Self::Equal(other),
            _ => Self::Different,
        };
    }
}

/// Whether shown packets begin whole durations apart; a packet may be missing between two.
fn evenly_spaced(packets: &[PacketEntry], shown: &[u32], each: i64) -> bool {
    let time = |n: u32| packets[n as usize].time_stamp;
    shown.windows(2).all(|w| {
        let gap = time(w[1]).checked_sub(time(w[0]));
        gap.and_then(|gap| gap.checked_rem(each)) == Some(0)
    })
}

/// Whether the frame of a packet is decoded and not shown.
fn discarded(packet: &Packet) -> bool {
    use ffmpeg_next::packet::Ref as _;
    // SAFETY: the packet is valid; its flags are a plain integer.
    let flags = unsafe { (*packet.as_ptr()).flags };
    flags & ffmpeg_next::ffi::AV_PKT_FLAG_DISCARD != 0
}

/// The shown packets by time stamp; `None` if two have the same.
fn in_order(packets: &[PacketEntry]) -> Option<Vec<u32>> {
    let time = |n: &u32| packets[*n as usize].time_stamp;
    let count = u32::try_from(packets.len()).ok()?;
    let mut shown: Vec<u32> = (0..count).filter(|n| packets[*n as usize].shown).collect();
    shown.sort_by_key(time);
    let distinct = shown.windows(2).all(|w| time(&w[0]) != time(&w[1]));
    distinct.then_some(shown)
}
