//! AVI: chunks in lists, each with its size; the pictures of a stream are chunks named after it.

/// Bytes of all pictures of a stream in the file; `None` if its chunks cannot be told apart.
pub(crate) fn stream_bytes(file: &[u8], stream: usize) -> Option<u64> {
    let digits = |n: usize| u8::try_from(n).ok().map(|n| n + b'0');
    let wanted = [digits(stream / 10)?, digits(stream % 10)?];
    let (mut at, mut bytes) = (0_usize, 0);
    while let Some(head) = file.get(at..).and_then(|rest| rest.first_chunk::<12>()) {
        let [a, b, c, d, sizes @ .., e, f, g, h] = *head;
        let size = u32::from_le_bytes(sizes) as usize;
        match ([a, b, c, d], [e, f, g, h]) {
            // Their chunks are walked as if they stood beside them.
            ([b'R', b'I', b'F', b'F'], _)
            | ([b'L', b'I', b'S', b'T'], [b'm', b'o', b'v', b'i'] | [b'r', b'e', b'c', b' ']) => {
                at = at.checked_add(12)?;
                continue;
            }
            ([a, b, b'd', b'b' | b'c'], _) if [a, b] == wanted => bytes += size as u64,
            (name, _) if name.iter().all(|b| (b' '..=b'~').contains(b)) => {}
            _ => return None,
        }
        at = at.checked_add(8 + size + size % 2)?;
    }
    Some(bytes)
}

/// Microseconds of a frame by the main header.
pub(crate) fn frame_microseconds(file: &[u8]) -> Option<u32> {
    let header = file.get(24..)?.strip_prefix(b"avih")?;
    let found = u32::from_le_bytes(*header.get(4..)?.first_chunk()?);
    (found > 0).then_some(found)
}
