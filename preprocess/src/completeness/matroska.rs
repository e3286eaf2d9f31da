//! Matroska and WebM: elements within elements, each with its size (RFC 8794; RFC 9559).

const SEGMENT: u32 = 0x1853_8067;
const CLUSTER: u32 = 0x1f43_b675;

/// What is wrong with the elements of the segment, down to the blocks of its clusters.
pub(super) fn fault(file: &[u8]) -> Option<String> {
    let (header, at) = size(file, 4)?;
    let segment = at.checked_add(usize::try_from(header?).ok()?)?;
    let (id, at) = id(file, segment)?;
    if id != SEGMENT {
        return None;
    }
    let (segment_size, body) = size(file, at)?;
    let end = match segment_size {
        Some(size) => {
            let end = size.checked_add(body as u64)?;
            if let Some(fault) = super::too_short(end, file) {
                return Some(fault);
            }
            usize::try_from(end).ok()?
        }
        // A live recording: to the end of the file. A cut between two of its blocks cannot be told from its end.
        None => file.len(),
    };
    elements(file.get(..end)?, body)
}

/// Walks the elements from `at` to the end of `file`. Those of clusters are walked as if they stood beside them: a cluster
/// of unknown size ends where the next one starts.
fn elements(file: &[u8], mut at: usize) -> Option<String> {
    while at < file.len() {
        let Some((id, behind)) = id(file, at) else {
            return Some(format!("at byte {at} there is no element"));
        };
        let Some((size, body)) = size(file, behind) else {
            return Some(format!("the element at byte {at} has no size"));
        };
        at = match (id, size) {
            (CLUSTER, _) => body,
            (_, Some(size)) => match usize::try_from(size).ok().and_then(|size| body.checked_add(size)) {
                Some(end) if end <= file.len() => end,
                _ => {
                    return Some(format!(
                        "the element at byte {at} is longer than what it stands in"
                    ));
                }
            },
            // Only clusters and segments may leave their size open.
            (_, None) => return Some(format!("the element at byte {at} has no size")),
        };
    }
    None
}

/// An element's name of one to four bytes, which keeps its length bits, and the place after it.
fn id(file: &[u8], at: usize) -> Option<(u32, usize)> {
    let further = file.get(at)?.leading_zeros() as usize;
    if further > 3 {
        return None;
    }
    let end = at.checked_add(1 + further)?;
    let bytes = file.get(at..end)?;
    Some((bytes.iter().fold(0, |id, byte| id << 8 | u32::from(*byte)), end))
}

/// A size of one to eight bytes, the count of leading zero bits being the count of further bytes, and the place after
/// it. All ones stand for "not known".
fn size(file: &[u8], at: usize) -> Option<(Option<u64>, usize)> {
    let first = *file.get(at)?;
    let further = first.leading_zeros() as usize;
    let end = at.checked_add(1 + further)?;
    let bytes = file.get(at..end)?;
    let all = bytes
        .iter()
        .fold(0_u64, |size, byte| size << 8 | u64::from(*byte));
    let bits = 7 * (1 + further) as u32;
    if further > 7 {
        return None;
    }
    let mask = (1_u64 << bits) - 1;
    let size = all & mask;
    Some(((size != mask).then_some(size), end))
}
