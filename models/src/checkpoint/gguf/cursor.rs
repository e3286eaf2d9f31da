//! Bounded little-endian reading of a GGUF header.

/// A position in a file's bytes; every read is checked against the end.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Bytes left to the end of the file.
    pub(super) fn remaining(&self) -> u64 {
        self.bytes.len().saturating_sub(self.position) as u64
    }

    /// The next `len` bytes, which hold `what`.
    pub(super) fn take(&mut self, len: u64, what: &str) -> Result<&'a [u8], String> {
        let taken = usize::try_from(len)
            .ok()
            .and_then(|len| self.position.checked_add(len))
            .and_then(|end| Some((end, self.bytes.get(self.position..end)?)));
        match taken {
            Some((end, bytes)) => {
                self.position = end;
                Ok(bytes)
            }
            None => Err(format!(
                "cut short: {what} needs {len} bytes at offset {}, and {} are left",
                self.position,
                self.remaining()
            )),
        }
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], String> {
        let bytes = self.take(N as u64, what)?;
        <[u8; N]>::try_from(bytes).map_err(|_| format!("cut short: {what}"))
    }

    pub(super) fn u8(&mut self, what: &str) -> Result<u8, String> {
        Ok(u8::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u16(&mut self, what: &str) -> Result<u16, String> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A length-prefixed string.
    pub(super) fn text(&mut self, what: &str) -> Result<&'a str, String> {
        let at = self.position;
        let len = self.u64(what)?;
        let bytes = self.take(len, what)?;
        std::str::from_utf8(bytes).map_err(|_| format!("{what} at offset {at} is not UTF-8"))
    }
}
