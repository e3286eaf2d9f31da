//! Which kind of file a video is, told from its first bytes; names and declared types are not trusted.

use std::ffi::CStr;

/// A kind of file that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VideoKind {
    Mp4,
    Matroska,
    Avi,
}

impl VideoKind {
    /// The name of the kind in errors.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mp4 => "MP4 or MOV",
            Self::Matroska => "WebM or MKV",
            Self::Avi => "AVI",
        }
    }

    /// FFmpeg's name for it. No other demuxer runs: no play lists, no network.
    pub(super) fn demuxer(self) -> &'static CStr {
        match self {
            Self::Mp4 => c"mov",
            Self::Matroska => c"matroska",
            Self::Avi => c"avi",
        }
    }

    /// The kind of a file, if it is one of these.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [b'R', b'I', b'F', b'F', _, _, _, _, b'A', b'V', b'I', b' ', ..] => Some(Self::Avi),
            [0x1a, 0x45, 0xdf, 0xa3, ..] => Some(Self::Matroska),
            // Old QuickTime files begin with another box than `ftyp`.
            [_, _, _, _, a, b, c, d, ..] => [b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"]
                .contains(&&[*a, *b, *c, *d])
                .then_some(Self::Mp4),
            _ => None,
        }
    }
}
