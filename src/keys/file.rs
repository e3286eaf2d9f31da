//! The file of keys: TOML, one table `[[key]]` for each.

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::api_key::KeyHash;

/// Longest name of a key.
const LONGEST_NAME: usize = 64;
/// Most bytes of a file.
const MOST_BYTES: u64 = 16 << 20;

/// Why a file of keys is not used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// It cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// It is no TOML, or a field is wrong.
    #[error("{}: {error}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// With line and column.
        error: Box<toml::de::Error>,
    },
    /// What it says makes no sense.
    #[error("{}: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, and the remedy.
        reason: String,
    },
}

/// What the file says of one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyEntry {
    /// Who it is for; in logs and metrics.
    pub name: String,
    /// SHA-256 of the key.
    pub sha256: KeyHash,
    /// Requests in a minute; after a pause as many at once. Without it there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<NonZeroU32>,
    /// Requests at once. Without it there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<NonZeroU32>,
}

/// All keys of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFile {
    /// In the order of the file.
    #[serde(default, rename = "key", skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeyEntry>,
}

impl KeyFile {
    /// Reads a file.
    ///
    /// # Errors
    /// See [`KeyFileError`]; two keys of one name or one hash among it.
    pub fn read(path: &Path) -> Result<Self, KeyFileError> {
        let of_io = |error| KeyFileError::Io {
            path: path.to_owned(),
            error,
        };
        let length = std::fs::metadata(path).map_err(of_io)?.len();
        if length > MOST_BYTES {
            return Err(KeyFileError::Invalid {
                path: path.to_owned(),
                reason: format!(
                    "is {length} bytes and at most {MOST_BYTES} are read: is this the file of keys?"
                ),
            });
        }
        let text = std::fs::read_to_string(path).map_err(of_io)?;
        let file: Self = toml::from_str(&text).map_err(|error| KeyFileError::Toml {
            path: path.to_owned(),
            error: Box::new(error),
        })?;
        file.check().map_err(|reason| KeyFileError::Invalid {
            path: path.to_owned(),
            reason,
        })?;
        Ok(file)
    }

    /// The file as text.
    pub fn to_toml(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::from(
            "# Keys of `assize serve --keys`: SHA-256 of each, never the key itself. Written by `assize keys`.\n",
        );
        for key in &self.keys {
            // Names are checked to need no escape, hashes are hexadecimal digits.
            let _ = write!(
                text,
                "\n[[key]]\nname = \"{}\"\nsha256 = \"{}\"\n",
                key.name, key.sha256
            );
            for (field, value) in [
                ("requests_per_minute", key.requests_per_minute),
                ("concurrency", key.concurrency),
            ] {
                if let Some(value) = value {
                    let _ = writeln!(text, "{field} = {value}");
                }
            }
        }
        text
    }

    /// Adds a key.
    ///
    /// # Errors
    /// Its name is taken or cannot be one; a reason for people.
    pub fn add(&mut self, key: KeyEntry) -> Result<(), String> {
        self.keys.push(key);
        self.check().inspect_err(|_| _ = self.keys.pop())
    }

    /// Removes the key of that name; whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.keys.len();
        self.keys.retain(|key| key.name != name);
        self.keys.len() < before
    }

    fn check(&self) -> Result<(), String> {
        let mut names = HashSet::new();
        for (index, key) in self.keys.iter().enumerate() {
            let name = key.name.as_str();
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
            if !(1..=LONGEST_NAME).contains(&name.len()) || !name.chars().all(is_plain) {
                return Err(format!(
                    "the name {name:?} of a key must be 1 to {LONGEST_NAME} of the characters a-z, A-Z, 0-9, `.`, `_`, \
                     `-` and `@`: it is written into logs and metrics"
                ));
            }
            if !names.insert(name) {
                return Err(format!(
                    "two keys are named {name:?}: give each a name of its own"
                ));
            }
            if let Some(twin) = self
                .keys
                .iter()
                .take(index)
                .find(|other| other.sha256 == key.sha256)
            {
                return Err(format!(
                    "{:?} and {name:?} are the same key: make another with `assize keys add`",
                    twin.name
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<KeyFile, KeyFileError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        KeyFile::read(file.path())
    }

    fn entry(name: &str, key: &[u8]) -> KeyEntry {
        KeyEntry {
            name: name.into(),
            sha256: KeyHash::of(key),
            requests_per_minute: NonZeroU32::new(60),
            concurrency: None,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut file = KeyFile::default();
        file.add(entry("triage", b"a")).unwrap();
        file.add(KeyEntry {
            requests_per_minute: None,
            concurrency: NonZeroU32::new(2),
            ..entry("ops@home.example", b"b")
        })
        .unwrap();
        assert_eq!(read(&file.to_toml()).unwrap(), file);
        assert!(file.remove("triage"));
        assert!(!file.remove("triage"));
        assert_eq!(file.keys.len(), 1);
        assert_eq!(read("").unwrap(), KeyFile::default());
    }

    #[test]
    fn mistakes_are_told() {
        let hash = KeyHash::of(b"a");
        for (text, says) in [
            ("[[key]]\nname = 'a'".to_owned(), "sha256"),
            ("[[key]]\nname = 'a'\nsha256 = 'abc'".into(), "sha256sum"),
            (format!("[[key]]\nname = 'a b'\nsha256 = '{hash}'"), "a b"),
            (format!("[[key]]\nname = ''\nsha256 = '{hash}'"), "1 to 64"),
            (
                format!("[[key]]\nname = 'a'\nsha256 = '{hash}'\nlimit = 3"),
                "limit",
            ),
            (
                format!("[[key]]\nname = 'a'\nsha256 = '{hash}'\nconcurrency = 0"),
                "nonzero",
            ),
            (
                format!("[[key]]\nname = 'a'\nsha256 = '{hash}'\nrequests_per_minute = -1"),
                "-1",
            ),
            (
                format!("[[key]]\nname = 'a'\nsha256 = '{hash}'\n[[key]]\nname = 'b'\nsha256 = '{hash}'"),
                "same key",
            ),
            ("keys = 3".into(), "keys"),
            ("[[key]".into(), "line 1"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let mut file = KeyFile::default();
        file.add(entry("a", b"a")).unwrap();
        assert!(file.add(entry("a", b"b")).unwrap_err().contains("two keys"));
        assert_eq!(file.keys.len(), 1);
    }
}
