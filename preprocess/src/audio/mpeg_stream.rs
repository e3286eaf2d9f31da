//! MP3 and ADTS: frames one behind the other, each of which says how long it is, with tags before, between and behind.
//!
//! Neither has a length at its start that must be true, and readers drop a last frame that is cut off. The frames
//! themselves tell.

use std::ops::Range;

/// A kind of stream of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// MPEG audio, layer III.
    Mp3,
    /// AAC with a header on each frame.
    Adts,
}

impl FrameKind {
    /// The size of the frame that begins here; `None` if none does, or if it does not say.
    fn size(self, at: &[u8]) -> Option<usize> {
        let size = match self {
            Self::Mp3 => mp3_size(at)?,
            Self::Adts => adts_size(at)?,
        };
        (size > 4).then_some(size)
    }

    /// Whether a frame, or what is left of its header, begins here.
    fn begins(self, at: &[u8]) -> bool {
        match at {
            [0xff] => true,
            [0xff, second, ..] => match self {
                Self::Mp3 => second & 0xe6 == 0xe2,
                Self::Adts => second & 0xf6 == 0xf0,
            },
            _ => false,
        }
    }
}

/// Where the frames of a file stand, without the tags at its end.
///
/// # Errors
///
/// In words: the file ends within a frame, has fewer than its header counts, or holds something else between two.
pub(super) fn frames(kind: FrameKind, file: &[u8]) -> Result<Range<usize>, String> {
    let file = without_last_tags(file);
    let start = first_frame(kind, file);
    if start >= file.len() {
        return Err("it holds no frame".to_owned());
    }
    let (mut at, mut count, mut end) = (start, 0_u64, start);
    while let Some(rest) = file.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(size) = kind.size(rest) {
            if size > rest.len() {
                return Err(format!(
                    "it ends within a frame, {} bytes too early",
                    size - rest.len()
                ));
            }
            at += size;
            (end, count) = (at, count + 1);
        } else if let Some(size) = tag(rest) {
            at = at.saturating_add(size);
        } else if rest.iter().all(|byte| *byte == 0) {
            break;
        } else if kind.begins(rest) && rest.len() < 7 {
            return Err("it ends within the header of a frame".to_owned());
        } else if kind == FrameKind::Mp3 && count == 0 {
            // A free bit rate: its decoder says what it makes of that.
            return Ok(start..file.len());
        } else {
            return Err(format!("at byte {at} there is no frame"));
        }
    }
    if let (FrameKind::Mp3, Some(counted)) = (kind, file.get(start..).and_then(counted)) {
        // The frame that holds the count is none of them.
        let there = count.saturating_sub(1);
        if there + counted.slack < counted.frames {
            return Err(format!(
                "it ends after {there} of the {} frames that it declares",
                counted.frames
            ));
        }
    }
    Ok(start..end)
}

/// The file as far as the tags that are found from its end: ID3v1, and APE's, which may have no header.
pub(super) fn without_last_tags(mut file: &[u8]) -> &[u8] {
    loop {
        if let Some((rest, last)) = file.split_last_chunk::<128>()
            && last.starts_with(b"TAG")
        {
            file = rest;
            continue;
        }
        let Some((rest, last)) = file.split_last_chunk::<32>() else {
            return file;
        };
        let size = last
            .get(12..)
            .and_then(|b| b.first_chunk())
            .map(|b| u32::from_le_bytes(*b));
        let items = size.and_then(|size| usize::try_from(size).ok()?.checked_sub(32));
        match items.and_then(|items| rest.len().checked_sub(items)) {
            Some(start) if last.starts_with(b"APETAGEX") => {
                let rest = &rest[..start];
                let header = rest
                    .last_chunk::<32>()
                    .is_some_and(|head| head.starts_with(b"APETAGEX"));
                file = &rest[..rest.len() - if header { 32 } else { 0 }];
            }
            _ => return file,
        }
    }
}

/// The first frame that another one, or the end of the file, follows.
fn first_frame(kind: FrameKind, file: &[u8]) -> usize {
    let mut at = 0;
    while let Some(size) = file.get(at..).and_then(tag) {
        at += size;
    }
    let follows = |at: usize| {
        let next = kind.size(file.get(at..)?)?;
        let behind = file.get(at.checked_add(next)?..).unwrap_or_default();
        (behind.is_empty() || kind.begins(behind) || tag(behind).is_some()).then_some(())
    };
    // Padding may stand behind a tag.
    (at..file.len()).find(|at| follows(*at).is_some()).unwrap_or(at)
}

/// Bytes of a frame of layer III (ISO 11172-3, 2.4.1.3 and 2.4.3.1; ISO 13818-3 for the lower rates).
fn mp3_size(at: &[u8]) -> Option<usize> {
    const MPEG_1: [usize; 14] = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
    const MPEG_2: [usize; 14] = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
    let [0xff, second, third, _, ..] = *at else {
        return None;
    };
    // Layer III is 01; version 01 is reserved.
    let version = second >> 3 & 3;
    if second & 0xe6 != 0xe2 || version == 1 {
        return None;
    }
    let first_rate: usize = [44_100, 48_000, 32_000]
        .get(usize::from(third >> 2 & 3))
        .copied()?;
    let (rates, slots, rate) = match version {
        3 => (MPEG_1, 144_000, first_rate),
        2 => (MPEG_2, 72_000, first_rate / 2),
        _ => (MPEG_2, 72_000, first_rate / 4),
    };
    // 0 is a free rate and 15 is none.
    let kilobits = rates.get(usize::from(third >> 4).checked_sub(1)?)?;
    Some(slots * kilobits / rate + usize::from(third >> 1 & 1))
}

/// Bytes of an ADTS frame (ISO 13818-7, 6.2), in 13 bits.
fn adts_size(at: &[u8]) -> Option<usize> {
    let [0xff, second, _, fourth, fifth, sixth, ..] = *at else {
        return None;
    };
    let size = usize::from(fourth & 3) << 11 | usize::from(fifth) << 3 | usize::from(sixth >> 5);
    (second & 0xf6 == 0xf0 && size >= 7).then_some(size)
}

/// Bytes of the tag that begins here.
fn tag(at: &[u8]) -> Option<usize> {
    let seven_bits = |bytes: &[u8]| bytes.iter().fold(0, |n, b| n << 7 | usize::from(b & 0x7f));
    let little = |from: usize| -> Option<usize> {
        let size = u32::from_le_bytes(*at.get(from..)?.first_chunk()?);
        usize::try_from(size).ok()
    };
    match at {
        [b'I', b'D', b'3', _, _, flags, ..] => {
            let footer = if flags & 0x10 == 0 { 0 } else { 10 };
            Some(10 + seven_bits(at.get(6..10)?) + footer)
        }
        // ID3v1, and the longer form that stands before it.
        [b'T', b'A', b'G', b'+', ..] if at.len() >= 227 => Some(227),
        [b'T', b'A', b'G', ..] if at.len() >= 128 => Some(128),
        // The size counts everything behind a header, the footer too.
        [b'A', b'P', b'E', b'T', b'A', b'G', b'E', b'X', ..] => {
            let header = little(20)? & 1 << 31 != 0 && little(20)? & 1 << 29 != 0;
            Some(if header { 32 + little(12)? } else { 32 })
        }
        // Lyrics3: as far as the mark of its end.
        [
            b'L',
            b'Y',
            b'R',
            b'I',
            b'C',
            b'S',
            b'B',
            b'E',
            b'G',
            b'I',
            b'N',
            ..,
        ] => {
            let ends = |w: &[u8]| w == b"LYRICS200" || w == b"LYRICSEND";
            at.windows(9).position(ends).map(|end| end + 9)
        }
        _ => None,
    }
}

/// The count of frames in a file's first frame.
struct Counted {
    frames: u64,
    /// How many fewer there may be: some writers count the frame with the count.
    slack: u64,
}

/// The count of frames that Xing's and LAME's header has behind the side information of an empty frame.
fn counted(frame: &[u8]) -> Option<Counted> {
    let (version, mono) = (frame.get(1)? >> 3 & 3, frame.get(3)? >> 6 == 3);
    let side = match (version, mono) {
        (3, false) => 32,
        (3, true) | (_, false) => 17,
        (_, true) => 9,
    };
    let header = frame.get(4 + side..)?;
    if !header.starts_with(b"Xing") && !header.starts_with(b"Info") {
        return None;
    }
    let number = |at: usize| Some(u32::from_be_bytes(*header.get(at..)?.first_chunk()?));
    let flags = number(4)?;
    if flags & 1 == 0 {
        return None;
    }
    let fields = [(1, 4), (2, 4), (4, 100), (8, 4)];
    let behind: usize = fields
        .iter()
        .filter(|(bit, _)| flags & bit != 0)
        .map(|(_, size)| size)
        .sum();
    let writer = header.get(8 + behind..).unwrap_or_default();
    let exact = writer.starts_with(b"LAME") || writer.starts_with(b"Lav");
    Some(Counted {
        frames: number(8)?.into(),
        slack: u64::from(!exact),
    })
}
