//! Whether a file has all the bytes that its outermost structure declares.
//!
//! Demuxers take a file that was cut between two packets for a shorter one; its own declared size tells them apart.

/// What is missing, in words; `None` if nothing is, or if the file does not say.
pub(crate) fn missing(file: &[u8]) -> Option<String> {
    let declared = match file {
        [b'R', b'I', b'F', b'F', _, _, _, _, b'A', b'V', b'I', ..] => riff(file),
        [0x1a, 0x45, 0xdf, 0xa3, ..] => matroska(file),
        [b'O', b'g', b'g', b'S', ..] => ogg(file),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => mp4(file),
        _ => None,
    }?;
    let there = file.len() as u64;
    (declared > there).then(|| format!("it declares {declared} bytes and has {there}"))
}

/// One chunk around all others; writers that never closed the file leave 0 or the largest value.
fn riff(file: &[u8]) -> Option<u64> {
    let size = u32::from_le_bytes(*file.get(4..)?.first_chunk()?);
    (size < 0x7fff_0000).then_some(u64::from(size) + 8)
}

/// The Segment element, which follows the EBML header (RFC 8794, sections 4 to 6).
fn matroska(file: &[u8]) -> Option<u64> {
    let (header, at) = ebml_size(file, 4)?;
    let segment = at.checked_add(usize::try_from(header?).ok()?)?;
    if !file.get(segment..)?.starts_with(&[0x18, 0x53, 0x80, 0x67]) {
        return None;
    }
    let (size, body) = ebml_size(file, segment + 4)?;
    size?.checked_add(body as u64)
}

/// A size of one to eight bytes, the count of leading zero bits being the count of further bytes, and the place after
/// it. All ones stand for "not known".
fn ebml_size(file: &[u8], at: usize) -> Option<(Option<u64>, usize)> {
    let first = *file.get(at)?;
    let further = first.leading_zeros() as usize;
    let bytes = file.get(at..at.checked_add(1 + further)?)?;
    let all = bytes.iter().fold(0_u64, |n, b| n << 8 | u64::from(*b));
    let bits = 7 * (1 + further) as u32;
    if further > 7 {
        return None;
    }
    let mask = (1_u64 << bits) - 1;
    let size = all & mask;
    Some(((size != mask).then_some(size), at + 1 + further))
}

/// The end of the last page (RFC 3533, section 6).
fn ogg(file: &[u8]) -> Option<u64> {
    let mut at = 0;
    while let Some(page) = file.get(at..).filter(|p| p.starts_with(b"OggS")) {
        let segments = page.get(26).map_or(0, |n| usize::from(*n));
        let body: usize = page.iter().skip(27).take(segments).map(|n| usize::from(*n)).sum();
        at += 27 + segments + body;
    }
    Some(at as u64)
}

/// The end of the last box of the top level (ISO 14496-12, section 4.2).
fn mp4(file: &[u8]) -> Option<u64> {
    let mut at = 0_u64;
    while let Some(header) = file.get(usize::try_from(at).ok()?..) {
        let Some(size) = header.first_chunk().map(|b| u32::from_be_bytes(*b)) else {
            break;
        };
        let size = match size {
            // To the end of the file.
            0 => return None,
            1 => u64::from_be_bytes(*header.get(8..)?.first_chunk()?),
            size => u64::from(size),
        };
        if size < 8 {
            return None;
        }
        at = at.checked_add(size)?;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_end_is_seen_and_a_whole_file_is_not_blamed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/media");
        for name in [
            "h264.mp4",
            "h264_with_sound.mov",
            "fragmented.mp4",
            "vp9.webm",
            "h264_open_gop.mkv",
            "mjpeg.avi",
            "chirp_opus.ogg",
            "chirp.m4a",
        ] {
            let whole = std::fs::read(format!("{folder}/{name}")).unwrap();
            assert_eq!(missing(&whole), None, "{name}");
            assert!(missing(&whole[..whole.len() - 1]).is_some(), "{name}");
            for length in 0..200 {
                let _ = missing(&whole[..length]);
            }
        }
        let live = std::fs::read(format!("{folder}/no_cues.webm")).unwrap();
        assert_eq!(missing(&live[..live.len() - 1]), None);
    }
}
