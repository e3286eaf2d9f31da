//! Boxes: a size, a name of four bytes, a body (ISO 14496-12, section 4.2).

/// The bodies of the boxes that stand one behind the other in `within`; ends at the first that is not whole.
pub(super) fn each(within: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    let mut rest = within;
    std::iter::from_fn(move || {
        let name = *rest.get(4..)?.first_chunk::<4>()?;
        let (size, head) = match number(rest, 0)? {
            0 => (rest.len(), 8),
            1 => (usize::try_from(long(rest, 8)?).ok()?, 16),
            size => (usize::try_from(size).ok()?, 8),
        };
        let (whole, behind) = rest.split_at_checked(size)?;
        rest = behind;
        Some((name, whole.get(head..)?))
    })
}

/// The first box of a name.
pub(super) fn first<'a>(within: &'a [u8], name: &[u8; 4]) -> Option<&'a [u8]> {
    each(within).find_map(|(found, body)| (found == *name).then_some(body))
}

/// Four bytes as a number.
pub(super) fn number(body: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*body.get(at..)?.first_chunk()?))
}

/// Eight bytes as a number.
pub(super) fn long(body: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*body.get(at..)?.first_chunk()?))
}

/// A duration of four bytes, or of eight where the box is of version 1. All ones stand for "not known".
pub(super) fn duration(body: &[u8], version: u8, at: usize) -> Option<u64> {
    match version {
        0 => number(body, at).filter(|d| *d != u32::MAX).map(u64::from),
        _ => long(body, at).filter(|d| *d != u64::MAX),
    }
}

/// Pairs of numbers behind a count, as `stts` and `ctts` have them; no more than are there.
pub(super) fn pairs(body: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    let count = number(body, 4).unwrap_or(0) as usize;
    let entries = body.get(8..).unwrap_or_default().chunks_exact(8);
    entries
        .take(count)
        .filter_map(|entry| Some((number(entry, 0)?, number(entry, 4)?)))
}
