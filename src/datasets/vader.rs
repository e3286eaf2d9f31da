//! Reader of the human sentiment ratings published with VADER (Hutto and Gilbert, ICWSM 2014).
//!
//! Per set there is `SET_GroundTruth.txt` (id, mean, text) and `SET_anonDataRatings.txt` (id, mean, standard
//! deviation, `[r, r, ...]`), tab separated. Snippet sets give 15 to 20 ratings a row, tweets 20 to 98. For 199 tweets
//! the two files disagree on the mean; `mean` is the one beside the text, and the raw ratings are given as they are.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::DatasetError;

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VaderSet {
    /// Tweet-like texts.
    Tweets,
    /// Sentences of film reviews.
    Movies,
    /// Sentences of product reviews.
    Products,
    /// Sentences of newspaper editorials.
    Editorials,
}

impl VaderSet {
    /// Every set.
    pub const ALL: [VaderSet; 4] = [
        VaderSet::Tweets,
        VaderSet::Movies,
        VaderSet::Products,
        VaderSet::Editorials,
    ];

    /// The name in row ids.
    pub fn as_str(self) -> &'static str {
        match self {
            VaderSet::Tweets => "tweets",
            VaderSet::Movies => "movies",
            VaderSet::Products => "products",
            VaderSet::Editorials => "editorials",
        }
    }

    fn file_prefix(self) -> &'static str {
        match self {
            VaderSet::Tweets => "tweets",
            VaderSet::Movies => "movieReviewSnippets",
            VaderSet::Products => "amazonReviewSnippets",
            VaderSet::Editorials => "nytEditorialSnippets",
        }
    }
}

/// A text with its ratings.
#[derive(Debug, Clone, PartialEq)]
pub struct RatedText {
    /// `SET/ID`, for example `tweets/17`.
    pub id: String,
    /// Where it comes from.
    pub set: VaderSet,
    /// Mean rating as published beside the text, -4 (very negative) to 4 (very positive).
    pub mean: f64,
    /// The raw ratings, -4 to 4.
    pub ratings: Vec<i8>,
    /// The text as published (HTML entities included), invalid UTF-8 replaced.
    pub text: String,
}

/// All four sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Vader {
    /// Every text, in the order of [`VaderSet::ALL`] and of the files.
    pub texts: Vec<RatedText>,
    /// Rows whose published mean is not the mean of the raw ratings.
    pub mean_differs: usize,
    /// Rows whose text held invalid UTF-8.
    pub invalid_utf8: usize,
}

impl Vader {
    /// Reads the eight files in `folder`.
    ///
    /// # Errors
    /// A file is missing, a line has another form, a rating is out of range, or an id has no ratings.
    pub fn read(folder: &Path) -> Result<Self, DatasetError> {
        let mut found = Vader {
            texts: Vec::new(),
            mean_differs: 0,
            invalid_utf8: 0,
        };
        for set in VaderSet::ALL {
            found.read_set(folder, set)?;
        }
        if found.invalid_utf8 > 0 {
            tracing::info!(
                rows = found.invalid_utf8,
                "some texts are no valid UTF-8; they show U+FFFD there"
            );
        }
        Ok(found)
    }

    fn read_set(&mut self, folder: &Path, set: VaderSet) -> Result<(), DatasetError> {
        let ratings = read_ratings(folder.join(format!("{}_anonDataRatings.txt", set.file_prefix())))?;
        let path = folder.join(format!("{}_GroundTruth.txt", set.file_prefix()));
        let bytes = std::fs::read(&path).map_err(DatasetError::io(&path))?;
        for (number, line) in lines(&bytes) {
            let corrupt = |reason: String| DatasetError::Corrupt {
                path: path.clone(),
                line: number,
                reason,
            };
            let text = String::from_utf8_lossy(line);
            let mut fields = text.splitn(3, '\t');
            let (Some(id), Some(mean), Some(text)) = (fields.next(), fields.next(), fields.next()) else {
                return Err(corrupt("is not id, mean and text with tabs between".into()));
            };
            let mean: f64 = mean
                .parse()
                .map_err(|_| corrupt(format!("mean {mean:?} is no number")))?;
            let ratings = ratings
                .get(id)
                .cloned()
                .ok_or_else(|| corrupt(format!("id {id:?} has no raw ratings")))?;
            let own = ratings.iter().map(|rating| f64::from(*rating)).sum::<f64>() / ratings.len() as f64;
            self.mean_differs += usize::from((own - mean).abs() > 1e-3);
            self.invalid_utf8 += usize::from(std::str::from_utf8(line).is_err());
            self.texts.push(RatedText {
                id: format!("{}/{id}", set.as_str()),
                set,
                mean,
                ratings,
                text: text.to_owned(),
            });
        }
        Ok(())
    }
}

/// Numbered lines without their ends and without a byte order mark; empty ones left out.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(bytes)
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .zip(1..)
        .map(|(line, number)| (number, line))
        .filter(|(_, line)| !line.is_empty())
}

fn read_ratings(path: PathBuf) -> Result<HashMap<String, Vec<i8>>, DatasetError> {
    let bytes = std::fs::read(&path).map_err(DatasetError::io(&path))?;
    let mut found = HashMap::new();
    for (number, line) in lines(&bytes) {
        let corrupt = |reason: String| DatasetError::Corrupt {
            path: path.clone(),
            line: number,
            reason,
        };
        let text = String::from_utf8_lossy(line);
        let fields: Vec<&str> = text.split('\t').collect();
        let [id, _, _, list] = fields[..] else {
            return Err(corrupt(format!("has {} fields, not 4", fields.len())));
        };
        let ratings: Vec<i8> =
            serde_json::from_str(list).map_err(|error| corrupt(format!("ratings {list:?}: {error}")))?;
        if ratings.is_empty() || ratings.iter().any(|rating| rating.unsigned_abs() > 4) {
            return Err(corrupt(format!("ratings {list:?} are not -4 to 4")));
        }
        found.insert(id.to_owned(), ratings);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(tweets: &str, tweet_ratings: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for set in VaderSet::ALL {
            let (texts, ratings) = match set {
                VaderSet::Tweets => (tweets, tweet_ratings),
                // Product ratings start with a byte order mark in the real file.
                VaderSet::Products => ("1_1\t-0.5\tmeh\r\n", "\u{feff}1_1\t-0.5\t0.5\t[-1, 0]\r\n"),
                _ => ("1\t4\tA \"great\"\tone\r\n", "1\t4\t0\t[4]\r\n"),
            };
            let prefix = dir.path().join(set.file_prefix());
            std::fs::write(format!("{}_GroundTruth.txt", prefix.display()), texts).unwrap();
            std::fs::write(format!("{}_anonDataRatings.txt", prefix.display()), ratings).unwrap();
        }
        dir
    }

    #[test]
    fn texts_are_joined_with_their_ratings() {
        let dir = fixture(
            "1\t2.5\tYay &amp; good\r\n2\t1\tOk\r\n",
            "2\t1\t0\t[3]\r\n1\t2.5\t0.5\t[2, 3]\r\n",
        );
        let found = Vader::read(dir.path()).unwrap();
        assert_eq!(found.texts.len(), 5);
        assert_eq!(
            found.texts[0],
            RatedText {
                id: "tweets/1".into(),
                set: VaderSet::Tweets,
                mean: 2.5,
                ratings: vec![2, 3],
                text: "Yay &amp; good".into()
            }
        );
        // A tab inside a text belongs to it.
        assert_eq!(found.texts[2].text, "A \"great\"\tone");
        assert_eq!(found.mean_differs, 1);
        assert_eq!(found.texts[3].ratings, [-1, 0]);
    }

    #[test]
    fn damaged_lines_name_file_and_line() {
        for (texts, ratings, wanted) in [
            (
                "1\t2\tok\n2\tx\tno",
                "1\t2\t0\t[2]\n2\t2\t0\t[2]",
                "line 2: mean \"x\"",
            ),
            ("1\t2", "1\t2\t0\t[2]", "line 1: is not id"),
            ("1\t2\tok", "2\t2\t0\t[2]", "id \"1\" has no raw ratings"),
            ("1\t2\tok", "1\t2\t0\t[5]", "not -4 to 4"),
            ("1\t2\tok", "1\t2\t0\t[2", "ratings \"[2\""),
        ] {
            let message = Vader::read(fixture(texts, ratings).path())
                .unwrap_err()
                .to_string();
            assert!(message.contains(wanted), "{message}");
        }
    }

    #[test]
    fn invalid_utf8_is_replaced_and_counted() {
        let dir = fixture("", "");
        std::fs::write(dir.path().join("tweets_GroundTruth.txt"), b"1\t2\tcaf\xe9\r\n").unwrap();
        std::fs::write(dir.path().join("tweets_anonDataRatings.txt"), "1\t2\t0\t[2]").unwrap();
        let found = Vader::read(dir.path()).unwrap();
        assert_eq!(found.texts[0].text, "caf\u{fffd}");
        assert_eq!(found.invalid_utf8, 1);
    }
}
