//! What of a mail the model is shown.

use mail_parser::MessageParser;
use serde::{Deserialize, Serialize};

/// The part of a mail that becomes the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MailText {
    /// `Subject: ...`, an empty line, and the text parts with transfer encodings undone and HTML as plain text.
    SubjectBody,
    /// The whole file with all headers, invalid UTF-8 replaced. Headers of this corpus give the answer away.
    Raw,
}

impl std::str::FromStr for MailText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "subject-body" => Ok(MailText::SubjectBody),
            "raw" => Ok(MailText::Raw),
            other => Err(format!("unknown mail text {other:?}: use subject-body or raw")),
        }
    }
}

/// The text of the mail in `bytes`. A mail that does not parse is shown raw.
pub fn mail_text(bytes: &[u8], shown: MailText) -> String {
    let raw = || String::from_utf8_lossy(bytes).into_owned();
    if shown == MailText::Raw {
        return raw();
    }
    // The corpus is in mbox form: its first line is an envelope, which is no header.
    let message = if bytes.starts_with(b"From ") {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        end.and_then(|end| bytes.get(end + 1..)).unwrap_or(bytes)
    } else {
        bytes
    };
    let Some(parsed) = MessageParser::default().parse(message) else {
        return raw();
    };
    let mut text = format!("Subject: {}\n", parsed.subject().unwrap_or("").trim());
    for part in 0..parsed.text_body_count() {
        if let Some(body) = parsed.body_text(part) {
            text.push('\n');
            text.push_str(body.trim());
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIL: &[u8] = b"From a@b  Thu Aug 22 13:17:22 2002\nFrom: a@b\nX-Spam-Status: No\n\
        Subject: =?iso-8859-1?q?Caf=E9?=\n offer\nContent-Type: text/html; charset=\"iso-8859-1\"\n\
        Content-Transfer-Encoding: quoted-printable\n\n<p>Buy =\nnow: caf=E9</p>\n";

    #[test]
    fn headers_go_and_encodings_are_undone() {
        let text = mail_text(MAIL, MailText::SubjectBody);
        assert_eq!(text, "Subject: Café offer\n\nBuy now: café\n");
    }

    #[test]
    fn the_envelope_is_no_header_even_without_a_colon() {
        let text = mail_text(b"From nobody\nSubject: x\n\nbody\n", MailText::SubjectBody);
        assert_eq!(text, "Subject: x\n\nbody\n");
    }

    #[test]
    fn raw_keeps_every_header_and_replaces_invalid_bytes() {
        let text = mail_text(b"From: a\n\ncaf\xe9", MailText::Raw);
        assert_eq!(text, "From: a\n\ncaf\u{fffd}");
    }

    #[test]
    fn an_empty_file_has_a_text() {
        assert!(mail_text(b"", MailText::SubjectBody).len() < 12);
    }
}
