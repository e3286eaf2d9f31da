//! Hidden states on disk, so that a second fit and a fit that was killed need no forward pass twice.
//!
//! ```text
//! <cache>/hidden/<artifact>/<2 digits>/<sha256 of the prompt>.f32    sha256 of what follows, then float32, little endian
//! ```

use std::io::Write as _;
use std::path::{Path, PathBuf};

use assize_models::{ArtifactDescription, TokenId};
use sha2::{Digest, Sha256};

use super::HeadFitError;

/// sha256 of the token ids of a prompt: with the artifact, all that its hidden state depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PromptKey([u8; 32]);

impl PromptKey {
    /// Of a prompt.
    pub fn of(prompt: &[TokenId]) -> Self {
        let mut hasher = Sha256::new();
        for token in prompt {
            hasher.update(token.to_le_bytes());
        }
        Self(hasher.finalize().into())
    }

    /// As hexadecimal digits.
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }
}

/// Bytes of the sum in front of the numbers.
const SUM: usize = 32;

/// The hidden states of one artifact.
#[derive(Debug, Clone)]
pub struct HiddenCache {
    folder: PathBuf,
    width: usize,
}

impl HiddenCache {
    /// The folder for `artifact` under the cache folder `root`; hidden states have `width` numbers. The readout is no part
    /// of the key: hidden states do not depend on it.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(root: &Path, artifact: &ArtifactDescription, width: usize) -> Result<Self, HeadFitError> {
        let unread = ArtifactDescription {
            readout: "hidden state".into(),
            ..artifact.clone()
        };
        let folder = root.join("hidden").join(unread.id().as_str());
        std::fs::create_dir_all(&folder).map_err(|source| HeadFitError::Io {
            path: folder.clone(),
            source,
        })?;
        Ok(Self { folder, width })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of a prompt.
    pub fn path(&self, key: PromptKey) -> PathBuf {
        let name = key.hex();
        let start = name.get(..2).unwrap_or_default().to_owned();
        self.folder.join(start).join(name + ".f32")
    }

    /// The hidden state of a prompt. `None` where it is not there, or the file is damaged: it is computed again then.
    pub fn get(&self, key: PromptKey) -> Option<Vec<f32>> {
        let path = self.path(key);
        let length = (SUM + 4 * self.width) as u64;
        let bytes = match std::fs::metadata(&path) {
            Err(_) => return None,
            // Checked first, so that a file of any size is not read.
            Ok(found) if found.len() != length => Vec::new(),
            Ok(_) => std::fs::read(&path).unwrap_or_default(),
        };
        let sound = bytes.split_first_chunk::<SUM>().filter(|(sum, numbers)| {
            numbers.len() == 4 * self.width && Sha256::digest(numbers).as_slice() == *sum
        });
        let Some((_, numbers)) = sound else {
            tracing::warn!(path = %path.display(), "a kept hidden state is damaged; it is computed again");
            return None;
        };
        let chunks = numbers.as_chunks::<4>().0;
        Some(chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    /// Keeps a hidden state; the file appears whole or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put(&self, key: PromptKey, hidden: &[f32]) -> std::io::Result<()> {
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(folder)?;
        let numbers: Vec<u8> = hidden.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&Sha256::digest(&numbers))?;
        file.write_all(&numbers)?;
        file.persist(&path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(precision: &str, readout: &str) -> ArtifactDescription {
        ArtifactDescription {
            weights: "w".into(),
            tokenizer: "t".into(),
            prompt_form: "p".into(),
            readout: readout.into(),
            precision: precision.into(),
            engine: "onnx/3".into(),
            mask_style: None,
            layers: None,
        }
    }

    #[test]
    fn what_was_kept_is_found_again_unless_it_is_damaged() {
        let root = tempfile::tempdir().unwrap();
        let cache = HiddenCache::open(root.path(), &artifact("int8", "r"), 3).unwrap();
        let key = PromptKey::of(&[1, 2, 3]);
        assert_eq!(cache.get(key), None);
        let hidden = vec![0.5, -1.5, f32::MIN_POSITIVE];
        cache.put(key, &hidden).unwrap();
        assert_eq!(cache.get(key), Some(hidden.clone()));
        let sound = std::fs::read(cache.path(key)).unwrap();
        for place in [0, 31, 32, 43] {
            let mut bytes = sound.clone();
            bytes[place] ^= 1;
            std::fs::write(cache.path(key), &bytes).unwrap();
            assert_eq!(cache.get(key), None, "byte {place} was changed");
        }
        for length in [0, 16, 32, 43] {
            std::fs::write(cache.path(key), &sound[..length]).unwrap();
            assert_eq!(cache.get(key), None, "cut to {length} bytes");
        }
        cache.put(key, &hidden).unwrap();
        assert_eq!(cache.get(key), Some(hidden));
    }

    #[test]
    fn another_artifact_or_prompt_has_files_of_its_own_and_another_readout_has_not() {
        let root = tempfile::tempdir().unwrap();
        let open =
            |precision, readout| HiddenCache::open(root.path(), &artifact(precision, readout), 1).unwrap();
        let key = PromptKey::of(&[1]);
        open("int8", "r").put(key, &[1.0]).unwrap();
        assert_eq!(open("float32", "r").get(key), None);
        assert_eq!(open("int8", "r").get(PromptKey::of(&[2])), None);
        assert_eq!(open("int8", "s").get(key), Some(vec![1.0]));
    }
}
