//! Ogg: pages, one behind the other, each with a checksum (RFC 3533, section 6).

use crc::{Algorithm, Crc};

/// The polynomial of IEEE 802.3, most significant bit first, from 0 and without a final inversion.
const CHECKSUM: Algorithm<u32> = Algorithm {
    width: 32,
    poly: 0x04c1_1db7,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0x89a1_897f,
    residue: 0,
};
static CRC: Crc<u32> = Crc::<u32>::new(&CHECKSUM);
/// Where the checksum stands in a page; it counts as zeros there.
const CHECKSUM_AT: usize = 22;

/// Flags of a page: the first and the last one of a stream.
const FIRST: u8 = 2;
const LAST: u8 = 4;

/// Whether streams follow one another: one begins behind pages that no stream begins with.
pub(crate) fn is_chained(file: &[u8]) -> bool {
    let (mut at, mut begun) = (0, false);
    while let Some(page) = file.get(at..).filter(|rest| rest.starts_with(b"OggS")) {
        let first = page.get(5).is_some_and(|flags| flags & FIRST != 0);
        if first && begun {
            return true;
        }
        begun |= !first;
        at += size(page);
    }
    false
}

/// The bytes of the page that begins here.
fn size(page: &[u8]) -> usize {
    let segments = page.get(26).map_or(0, |count| usize::from(*count));
    let body: usize = page
        .iter()
        .skip(27)
        .take(segments)
        .map(|size| usize::from(*size))
        .sum();
    27 + segments + body
}

/// What is wrong with the first page that is not whole, or whether the last one is missing.
pub(super) fn fault(file: &[u8]) -> Option<String> {
    let (mut at, mut flags) = (0, LAST);
    while let Some(page) = file.get(at..).filter(|rest| !rest.is_empty()) {
        if !page.starts_with(b"OggS") {
            return Some(format!("at byte {at} there is no page"));
        }
        let size = size(page);
        let Some(page) = page.get(..size) else {
            return super::too_short((at + size) as u64, file);
        };
        let (head, rest) = page.split_at(CHECKSUM_AT);
        let declared = rest.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        let mut digest = CRC.digest();
        digest.update(head);
        digest.update(&[0; 4]);
        digest.update(rest.get(4..).unwrap_or_default());
        if declared != Some(digest.finalize()) {
            return Some(format!("the checksum of the page at byte {at} is wrong"));
        }
        flags = page.get(5).copied().unwrap_or_default();
        at += size;
    }
    (flags & LAST == 0).then(|| "its last page does not say that it is the last".to_owned())
}
