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

/// What is wrong with the first page that is not whole.
pub(super) fn fault(file: &[u8]) -> Option<String> {
    let mut at = 0;
    while let Some(page) = file.get(at..).filter(|rest| !rest.is_empty()) {
        if !page.starts_with(b"OggS") {
            return Some(format!("at byte {at} there is no page"));
        }
        let segments = page.get(26).map_or(0, |count| usize::from(*count));
        let body: usize = page
            .iter()
            .skip(27)
            .take(segments)
            .map(|size| usize::from(*size))
            .sum();
        let size = 27 + segments + body;
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
        at += size;
    }
    None
}
