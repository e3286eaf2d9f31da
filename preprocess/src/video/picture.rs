//! What a packet tells of its picture before it is decoded.

use ffmpeg_next::ffi::AVCodecID;

/// What the bytes of one packet say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Picture {
    /// How many frames the packet shows; `None` if that cannot be told.
    pub(super) shown: Option<u8>,
    /// Decoding can start here: every frame shown from this one on is exact.
    pub(super) start: bool,
    /// Other pictures may need this one.
    pub(super) reference: bool,
}

/// Reads packets of one codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PictureReader {
    /// H.264, with the size of the length before each unit.
    H264 {
        length: usize,
    },
    /// H.265; the same. Also whether a first and a second start were seen.
    Hevc {
        length: usize,
        starts: u8,
    },
    Vp8,
    Vp9,
    /// One packet is one frame, and the container knows the key frames.
    OnePerPacket,
    /// Only decoding can tell.
    Unknown,
}

impl PictureReader {
    /// The reader of a codec with its header.
    pub(super) fn new(codec: AVCodecID, header: &[u8]) -> Self {
        // The configuration records of MP4 begin with version 1 (ISO 14496-15, 5.3.3 and 8.3.3); without one, units
        // are set apart by start codes, and packets come from a parser.
        let length = |at: usize| match (header.first(), header.get(at)) {
            (Some(1), Some(byte)) => Some(usize::from(byte & 3) + 1),
            _ => None,
        };
        match codec {
            AVCodecID::AV_CODEC_ID_H264 => length(4).map_or(Self::Unknown, |length| Self::H264 { length }),
            AVCodecID::AV_CODEC_ID_HEVC => {
                length(21).map_or(Self::Unknown, |length| Self::Hevc { length, starts: 0 })
            }
            AVCodecID::AV_CODEC_ID_VP8 => Self::Vp8,
            AVCodecID::AV_CODEC_ID_VP9 => Self::Vp9,
            AVCodecID::AV_CODEC_ID_AV1 | AVCodecID::AV_CODEC_ID_MJPEG | AVCodecID::AV_CODEC_ID_PRORES => {
                Self::OnePerPacket
            }
            _ => Self::Unknown,
        }
    }

    /// Reads one packet, in the order of the file; `key` is what the container says.
    pub(super) fn read(&mut self, data: &[u8], key: bool) -> Picture {
        match self {
            Self::H264 { length } => h264(units(data, *length)),
            Self::Hevc { length, starts } => hevc(units(data, *length), starts),
            Self::Vp8 => vp8(data),
            Self::Vp9 => vp9(data, key),
            Self::OnePerPacket => Picture {
                shown: Some(1),
                start: key,
                reference: true,
            },
            Self::Unknown => Picture {
                shown: None,
                start: false,
                reference: true,
            },
        }
    }
}

/// The units of a packet, each behind its length.
fn units(data: &[u8], length: usize) -> impl Iterator<Item = &[u8]> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let (size, after) = rest.split_at_checked(length)?;
        let size = size.iter().fold(0, |n, b| n << 8 | usize::from(*b));
        let (unit, after) = after.split_at_checked(size)?;
        rest = after;
        Some(unit)
    })
}

/// Unit types of ISO 14496-10, table 7-1.
fn h264<'a>(units: impl Iterator<Item = &'a [u8]>) -> Picture {
    let (mut slices, mut start, mut reference) = (false, false, false);
    for unit in units {
        let Some(first) = unit.first() else { continue };
        match first & 0x1f {
            1..=5 => {
                slices = true;
                start |= first & 0x1f == 5;
                reference |= first & 0x60 != 0;
            }
            6 => start |= exact_recovery_point(&unit[1..]),
            _ => {}
        }
    }
    Picture {
        shown: slices.then_some(1),
        start,
        reference,
    }
}

/// Whether the supplemental messages hold a recovery point (type 6, D.1.8) whose first two bits say "from this very
/// picture on" and "exactly".
fn exact_recovery_point(mut messages: &[u8]) -> bool {
    // Both numbers are sums of bytes that end with one below 255.
    fn number(from: &mut &[u8]) -> Option<usize> {
        let mut sum = 0;
        loop {
            let (byte, rest) = from.split_first()?;
            *from = rest;
            sum += usize::from(*byte);
            if *byte < 255 {
                return Some(sum);
            }
        }
    }
    while let (Some(kind), Some(size)) = (number(&mut messages), number(&mut messages)) {
        if kind == 6 {
            return messages.first().is_some_and(|b| b & 0xc0 == 0xc0);
        }
        messages = messages.get(size..).unwrap_or_default();
    }
    false
}

/// Unit types of ISO 23008-2, table 7-1.
fn hevc<'a>(units: impl Iterator<Item = &'a [u8]>, starts: &mut u8) -> Picture {
    let mut picture = Picture {
        shown: None,
        start: false,
        reference: true,
    };
    for unit in units {
        match unit.first().map(|b| b >> 1 & 0x3f) {
            // Leading pictures of the first start are skipped by decoders; after a broken link (16 to 18) as well.
            Some(8 | 9) if *starts < 2 => {
                return Picture {
                    shown: None,
                    ..picture
                };
            }
            Some(kind @ 0..=31) => {
                picture.shown = Some(1);
                picture.start = matches!(kind, 16..=21);
                if picture.start {
                    *starts = if kind <= 18 { 1 } else { (*starts + 1).min(2) };
                }
                return picture;
            }
            _ => {}
        }
    }
    picture
}

/// The frame tag (RFC 6386, 9.1): bit 0 is clear in key frames, bit 4 is set in frames that are shown.
fn vp8(data: &[u8]) -> Picture {
    let tag = data.first().copied();
    Picture {
        shown: tag.map(|t| t >> 4 & 1),
        start: tag.is_some_and(|t| t & 0x11 == 0x10),
        reference: true,
    }
}

/// The frames of a superframe (VP9 bitstream specification, annex B) and the first bits of each (6.2).
fn vp9(data: &[u8], key: bool) -> Picture {
    let mut shown = 0_u8;
    let mut start = key;
    for (place, frame) in vp9_frames(data).into_iter().enumerate() {
        let Some(first) = frame.first() else { continue };
        let profile = first >> 4 & 3;
        // Bits after marker, profile and, in profile 3, one reserved bit.
        let bits = first << if profile == 3 { 5 } else { 4 };
        let existing = bits & 0x80 != 0;
        shown = shown.saturating_add(u8::from(existing || bits & 0x20 != 0));
        start &= place != 0 || (!existing && bits & 0x40 == 0);
    }
    Picture {
        shown: (shown <= 1).then_some(shown),
        start,
        reference: true,
    }
}

fn vp9_frames(data: &[u8]) -> Vec<&[u8]> {
    let whole = vec![data];
    let Some(marker) = data.last().copied().filter(|m| m & 0xe0 == 0xc0) else {
        return whole;
    };
    let (count, width) = (usize::from(marker & 7) + 1, usize::from(marker >> 3 & 3) + 1);
    let Some(index) = data.len().checked_sub(2 + count * width) else {
        return whole;
    };
    if data[index] != marker {
        return whole;
    }
    let mut rest = &data[..index];
    let mut frames = Vec::with_capacity(count);
    for size in data[index + 1..data.len() - 1].chunks_exact(width) {
        let size = size.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b));
        let Some((frame, after)) = rest.split_at_checked(size) else {
            return whole;
        };
        frames.push(frame);
        rest = after;
    }
    frames
}
