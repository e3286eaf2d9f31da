//! The declared size of a WAV file's data, made true.
//!
//! Programs that write into a pipe cannot go back to fill in the size and leave the largest value there.

/// Sizes from here on mean "not known": ffmpeg writes 2^32 - 1, others values just below 2^31 or 2^32.
const UNKNOWN: u32 = 0x7fff_0000;

/// Replaces an unknown size of the `data` chunk by what is there.
///
/// # Errors
///
/// The file ends before the `data` chunk does or goes on in its midst, or has none.
pub(super) fn settle(file: &mut [u8]) -> Result<(), String> {
    if !file.starts_with(b"RIFF") {
        return Ok(());
    }
    let mut at = 12;
    loop {
        let Some((name, size)) = header(file, at) else {
            return Err("it has no `data` chunk".to_owned());
        };
        let body = at + 8;
        let there = file.len() - body;
        if name == *b"data" {
            if size as usize <= there {
                return if is_whole_behind(file, body + size as usize) {
                    Ok(())
                } else {
                    Err(format!(
                        "its `data` chunk declares {size} bytes, and what stands behind them is no chunk"
                    ))
                };
            }
            if size < UNKNOWN {
                return Err(format!("it declares {size} bytes of samples and has {there}"));
            }
            let there = u32::try_from(there).unwrap_or(u32::MAX);
            file[at + 4..body].copy_from_slice(&there.to_le_bytes());
            return Ok(());
        }
        // Chunks begin at even places.
        at = body
            .saturating_add(size as usize)
            .saturating_add(size as usize % 2);
    }
}

/// Whether nothing but chunks stands between `at`, where the samples end, and the end that the file declares.
fn is_whole_behind(file: &[u8], at: usize) -> bool {
    let declared = file
        .get(4..8)
        .and_then(|b| b.first_chunk())
        .map(|b| u32::from_le_bytes(*b));
    let Some(declared) = declared.filter(|size| *size < UNKNOWN) else {
        return true;
    };
    let end = file.len().min(declared as usize + 8);
    let chunks = |mut at: usize| {
        while let Some(rest) = end.checked_sub(at).filter(|rest| *rest > 1) {
            match header(file, at) {
                Some((name, size)) if name.iter().all(|b| (b' '..=b'~').contains(b)) && rest >= 8 => {
                    at = at.saturating_add(8 + size as usize + size as usize % 2);
                }
                _ => return false,
            }
        }
        // The last one may lack its filling byte.
        at <= end + 1
    };
    // Some writers leave the filling byte behind samples out.
    chunks(at + at % 2) || chunks(at)
}

fn header(file: &[u8], at: usize) -> Option<([u8; 4], u32)> {
    let header = file.get(at..at.checked_add(8)?)?;
    let name = header.first_chunk::<4>()?;
    let size = header.last_chunk::<4>()?;
    Some((*name, u32::from_le_bytes(*size)))
}
