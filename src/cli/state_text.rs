//! The text that `assize decide` judges: given, from a file, or from standard input.

use std::io::Read as _;

use anyhow::{Context as _, bail};

use super::bounded_file;

/// Longest state that is read; no model has a context for more.
const MOST_BYTES: u64 = 64 << 20;
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads the state: `-` is standard input, `@FILE` a file, all else the text itself.
pub fn read(state: &str) -> anyhow::Result<String> {
    if state == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
            .context("reading the state from stdin")?;
        if bytes.len() as u64 > MOST_BYTES {
            bail!("the state from stdin has more than {MOST_BYTES} bytes: give a part of it");
        }
        if bytes.is_empty() {
            bail!(
                "the state from stdin is empty: nothing was written to it; give \"\" instead of - to judge an empty text"
            );
        }
        return decode(bytes, "stdin");
    }
    match state.strip_prefix('@') {
        Some(path) => {
            let bytes = bounded_file::read(path.as_ref(), MOST_BYTES)
                .with_context(|| format!("reading the state from {path}"))?;
            decode(bytes, path)
        }
        None => Ok(state.to_owned()),
    }
}

fn decode(mut bytes: Vec<u8>, from: &str) -> anyhow::Result<String> {
    // Editors write it in front of a text, and it is no part of the text.
    if bytes.starts_with(UTF8_MARK) {
        bytes.drain(..UTF8_MARK.len());
    }
    let encoding = match bytes.as_slice() {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        _ => None,
    };
    if let Some(encoding) = encoding {
        bail!("the state from {from} is {encoding}: convert it with `iconv -f {encoding} -t UTF-8`");
    }
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        anyhow::anyhow!(
            "the state from {from} is not UTF-8: byte {offset} is invalid; \
             convert it, for example with `iconv -f WINDOWS-1252 -t UTF-8`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_no_text() {
        assert_eq!(
            decode(b"\xef\xbb\xbfIt rains.".to_vec(), "f").unwrap(),
            "It rains."
        );
        // Only the first one: a second is what the text begins with.
        assert_eq!(decode("\u{feff}\u{feff}".into(), "f").unwrap(), "\u{feff}");
    }

    #[test]
    fn what_is_no_utf8_is_said_with_its_place_and_a_remedy() {
        for (bytes, says) in [
            (&b"caf\xe9"[..], "byte 3 is invalid"),
            (b"\xff\xfea\0", "-f UTF-16 -t UTF-8"),
            (b"\xfe\xff\0a", "-f UTF-16 -t UTF-8"),
            (b"\xff\xfe\0\0a\0\0\0", "-f UTF-32 -t UTF-8"),
        ] {
            let error = decode(bytes.to_vec(), "stdin").unwrap_err().to_string();
            assert!(
                error.contains(says) && error.contains("iconv") && error.contains("stdin"),
                "{error}"
            );
        }
    }
}
