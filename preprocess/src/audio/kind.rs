//! Which kind of file a sound is, told from its first bytes; names and declared types are not trusted.

/// A kind of file that can be decoded, with the decoder that is used for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AudioKind {
    Wav,
    Mp3,
    Flac,
    OggVorbis,
    OggOpus,
    Adts,
    Mp4,
    Matroska,
    Amr,
}

impl AudioKind {
    /// The name of the kind in errors.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Wav => "WAV",
            Self::Mp3 => "MP3",
            Self::Flac => "FLAC",
            Self::OggVorbis => "Ogg Vorbis",
            Self::OggOpus => "Ogg Opus",
            Self::Adts => "AAC",
            Self::Mp4 => "M4A",
            Self::Matroska => "WebM or Matroska",
            Self::Amr => "AMR",
        }
    }

    /// The kind of a file, from its first bytes.
    ///
    /// # Errors
    ///
    /// What the bytes look like instead, for [`AudioError::UnsupportedKind`](super::AudioError::UnsupportedKind).
    pub(super) fn of(bytes: &[u8]) -> Result<Self, String> {
        let at = |offset: usize, magic: &[u8]| bytes.get(offset..).is_some_and(|b| b.starts_with(magic));
        if (at(0, b"RIFF") || at(0, b"RIFX")) && at(8, b"WAVE") {
            return Ok(Self::Wav);
        }
        if at(0, b"fLaC") {
            return Ok(Self::Flac);
        }
        if at(0, b"OggS") {
            return Self::in_ogg(bytes);
        }
        if at(4, b"ftyp") {
            return Ok(Self::Mp4);
        }
        if at(0, &[0x1a, 0x45, 0xdf, 0xa3]) {
            return Ok(Self::Matroska);
        }
        if at(0, b"#!AMR") {
            return Ok(Self::Amr);
        }
        if at(0, b"ID3") {
            return Ok(Self::after_id3(bytes));
        }
        match Self::of_mpeg_frame(bytes) {
            Some(kind) => Ok(kind),
            None if bytes.is_empty() => Err("the file is empty".to_owned()),
            None => Err("the file begins like no known kind of sound".to_owned()),
        }
    }

    /// The codec of the first stream is named at the start of the first page's packet (RFC 3533, section 6).
    fn in_ogg(bytes: &[u8]) -> Result<Self, String> {
        let segments = usize::from(bytes.get(26).copied().unwrap_or(0));
        let packet = bytes.get(27 + segments..).unwrap_or_default();
        if packet.starts_with(b"\x01vorbis") {
            Ok(Self::OggVorbis)
        } else if packet.starts_with(b"OpusHead") {
            Ok(Self::OggOpus)
        } else {
            Err("the Ogg file holds neither Vorbis nor Opus".to_owned())
        }
    }

    /// An ID3v2 tag stands before MP3 nearly always and before ADTS now and then; its size is four 7-bit bytes.
    fn after_id3(bytes: &[u8]) -> Self {
        let size = bytes.get(6..10).unwrap_or_default();
        let size = size.iter().fold(0, |n, b| n << 7 | usize::from(b & 0x7f));
        Self::of_mpeg_frame(bytes.get(10 + size..).unwrap_or_default()).unwrap_or(Self::Mp3)
    }

    /// The 12-bit sync word, then the layer: 0 is ADTS, 1 is layer III (ISO 11172-3, 2.4.1.3; ISO 13818-7, 6.2).
    fn of_mpeg_frame(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0xff, second, ..] if second & 0xf6 == 0xf0 => Some(Self::Adts),
            [0xff, second, ..] if second & 0xe6 == 0xe2 => Some(Self::Mp3),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_the_kind() {
        assert_eq!(AudioKind::of(b"RIFF\x24\0\0\0WAVEfmt "), Ok(AudioKind::Wav));
        assert_eq!(AudioKind::of(&[0xff, 0xfb, 0x90]), Ok(AudioKind::Mp3));
        assert_eq!(AudioKind::of(&[0xff, 0xf1, 0x50]), Ok(AudioKind::Adts));
        assert_eq!(
            AudioKind::of(b"ID3\x04\0\0\0\0\0\x02xx\xff\xf9\x50"),
            Ok(AudioKind::Adts)
        );
        assert_eq!(AudioKind::of(b"ID3\x04\0\0\x7f\x7f\x7f\x7f"), Ok(AudioKind::Mp3));
        for not_sound in [
            &b""[..],
            b"R",
            b"RIFF\0\0\0\0AVI ",
            b"\x89PNG\r\n",
            b"#EXTM3U\n",
            b"OggS",
        ] {
            assert!(AudioKind::of(not_sound).is_err(), "{not_sound:?}");
        }
    }
}
