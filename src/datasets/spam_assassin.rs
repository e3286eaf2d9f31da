//! Reader of the SpamAssassin public corpus: one file per mail, the group folder names the label.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::DatasetError;

/// The gold answer of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MailLabel {
    /// Wanted mail (groups `easy-ham-1`, `easy-ham-2`, `hard-ham-1`).
    Ham,
    /// Unwanted mail (groups `spam-1`, `spam-2`).
    Spam,
}

/// One mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// `GROUP/NUMBER.MD5`, for example `spam-1/00001.7848dde101aa985090474a91ec93fcf0`.
    pub id: String,
    /// The gold answer.
    pub label: MailLabel,
    /// The file as it is; [`super::mail_text`] turns it into text.
    pub bytes: Vec<u8>,
}

/// The corpus, ordered by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpamAssassin {
    /// Every mail.
    pub mails: Vec<Mail>,
    /// Mails that are not valid UTF-8 as files, and whose raw text therefore holds U+FFFD.
    pub invalid_utf8: usize,
}

const GROUPS: [(&str, MailLabel); 5] = [
    ("easy-ham-1", MailLabel::Ham),
    ("easy-ham-2", MailLabel::Ham),
    ("hard-ham-1", MailLabel::Ham),
    ("spam-1", MailLabel::Spam),
    ("spam-2", MailLabel::Spam),
];

impl SpamAssassin {
    /// Reads every group folder of `folder`.
    ///
    /// # Errors
    /// A group or a mail cannot be read.
    pub fn read(folder: &Path) -> Result<Self, DatasetError> {
        let mut mails = Vec::new();
        for (group, label) in GROUPS {
            let group_folder = folder.join(group);
            let entries = std::fs::read_dir(&group_folder).map_err(DatasetError::io(&group_folder))?;
            for entry in entries {
                let path = entry.map_err(DatasetError::io(&group_folder))?.path();
                let (Some(stem), Some(extension)) = (path.file_stem(), path.extension()) else {
                    continue;
                };
                if extension != "txt" {
                    continue;
                }
                mails.push(Mail {
                    id: format!("{group}/{}", stem.to_string_lossy()),
                    label,
                    bytes: std::fs::read(&path).map_err(DatasetError::io(&path))?,
                });
            }
        }
        mails.sort_by(|a, b| a.id.cmp(&b.id));
        let invalid_utf8 = mails
            .iter()
            .filter(|mail| std::str::from_utf8(&mail.bytes).is_err())
            .count();
        if invalid_utf8 > 0 {
            tracing::info!(
                invalid_utf8,
                mails = mails.len(),
                "some mails are no valid UTF-8; raw text shows U+FFFD there"
            );
        }
        Ok(Self { mails, invalid_utf8 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (group, _) in GROUPS {
            std::fs::create_dir(dir.path().join(group)).unwrap();
        }
        std::fs::write(dir.path().join("spam-2/00002.b.txt"), b"buy \xff").unwrap();
        std::fs::write(dir.path().join("hard-ham-1/00001.a.txt"), "hello").unwrap();
        std::fs::write(dir.path().join("hard-ham-1/00001.a.json"), "{}").unwrap();
        dir
    }

    #[test]
    fn the_folder_gives_the_label_and_other_files_are_left_out() {
        let dir = fixture();
        let found = SpamAssassin::read(dir.path()).unwrap();
        let rows: Vec<_> = found.mails.iter().map(|m| (m.id.as_str(), m.label)).collect();
        assert_eq!(
            rows,
            [
                ("hard-ham-1/00001.a", MailLabel::Ham),
                ("spam-2/00002.b", MailLabel::Spam)
            ]
        );
        assert_eq!(found.invalid_utf8, 1);
        assert_eq!(found.mails[1].bytes, b"buy \xff");
    }

    #[test]
    fn a_missing_group_is_an_error_with_its_path() {
        let dir = fixture();
        std::fs::remove_dir(dir.path().join("spam-1")).unwrap();
        let message = SpamAssassin::read(dir.path()).unwrap_err().to_string();
        assert!(message.contains("spam-1"), "{message}");
    }
}
