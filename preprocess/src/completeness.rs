//! Whether a file's outermost structure is whole.
//!
//! Demuxers take a file that was cut between two packets for a shorter one, and go on behind damaged bytes as if there had
//! been nothing; the structure that the file declares tells.

pub(crate) mod avi;
mod matroska;
mod ogg;

pub(crate) use ogg::is_chained as ogg_is_chained;

/// What is missing or broken, in words; `None` if nothing is, or if the file does not say.
pub(crate) fn fault(file: &[u8]) -> Option<String> {
    let declared = match file {
        [b'R', b'I', b'F', b'F', _, _, _, _, b'A', b'V', b'I', ..] => riff(file),
        [0x1a, 0x45, 0xdf, 0xa3, ..] => return matroska::fault(file),
        [b'O', b'g', b'g', b'S', ..] => return ogg::fault(file),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => mp4(file),
        _ => None,
    }?;
    too_short(declared, file)
}

fn too_short(declared: u64, file: &[u8]) -> Option<String> {
    let there = file.len() as u64;
    (declared > there).then(|| format!("it declares {declared} bytes and has {there}"))
}

/// One chunk around all others; writers that never closed the file leave 0 or the largest value.
fn riff(file: &[u8]) -> Option<u64> {
    let size = u32::from_le_bytes(*file.get(4..)?.first_chunk()?);
    (size < 0x7fff_0000).then_some(u64::from(size) + 8)
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
            assert_eq!(fault(&whole), None, "{name}");
            assert!(fault(&whole[..whole.len() - 1]).is_some(), "{name}");
            for length in 0..200 {
                let _ = fault(&whole[..length]);
            }
        }
        for name in [
            "chirp_vorbis.ogg",
            "chirp_opus.webm",
            "no_cues.webm",
            "variable_rate.mkv",
            "vp8_alt_ref.webm",
        ] {
            let whole = std::fs::read(format!("{folder}/{name}")).unwrap();
            assert_eq!(fault(&whole), None, "{name}");
        }
        let live = std::fs::read(format!("{folder}/no_cues.webm")).unwrap();
        for length in [live.len() - 1, live.len() / 2] {
            assert!(fault(&live[..length]).is_some(), "{length}");
        }
    }

    #[test]
    fn bytes_that_a_demuxer_would_skip_are_a_fault() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/media");
        let whole = std::fs::read(format!("{folder}/chirp_opus.ogg")).unwrap();
        for at in (0..whole.len()).step_by(97) {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            // A flip in the first four bytes makes it no Ogg file.
            assert_eq!(fault(&flipped).is_some(), at > 3, "{at}");
        }
        // Small blocks: a thousand bytes hold the head of one.
        let mut zeroed = std::fs::read(format!("{folder}/chirp_opus.webm")).unwrap();
        let middle = zeroed.len() / 2;
        zeroed[middle..middle + 1000].fill(0);
        assert!(fault(&zeroed).is_some());
    }
}
