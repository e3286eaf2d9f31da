//! A key as its holder has it, and what the server keeps of it.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

/// What every key begins with, so that scanners for leaked secrets can find one.
const PREFIX: &str = "assize_";
/// Random bytes of a key.
const SECRET_BYTES: usize = 32;

/// The system gives no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes: {0}")]
pub struct NoRandomness(String);

/// A key's text. It is shown once, when the key is made, and nowhere else.
pub struct ApiKey(String);

impl ApiKey {
    /// A new key: `assize_` and 32 random bytes in URL-safe base64.
    ///
    /// # Errors
    /// The system has no source of randomness.
    pub fn generate() -> Result<Self, NoRandomness> {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret).map_err(|error| NoRandomness(error.to_string()))?;
        Ok(Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(secret))))
    }

    /// The text, for its holder.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn hash(&self) -> KeyHash {
        KeyHash::of(self.0.as_bytes())
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// SHA-256 of a key's text; written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyHash([u8; 32]);

/// A text that is no hash.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0:?} is no SHA-256 in 64 hexadecimal digits: write what `printf %s KEY | sha256sum` prints, or let \
     `assize keys add` write it"
)]
pub struct KeyHashError(String);

impl KeyHash {
    /// The hash of what a caller sent.
    pub fn of(key: &[u8]) -> Self {
        Self(Sha256::digest(key).into())
    }

    /// Whether both are equal, in a time that does not tell where they differ.
    pub(super) fn is(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyHash({self})")
    }
}

impl FromStr for KeyHash {
    type Err = KeyHashError;

    fn from_str(text: &str) -> Result<Self, KeyHashError> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| KeyHashError(text.to_owned()))?;
        Ok(Self(bytes))
    }
}

impl Serialize for KeyHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KeyHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_what_sha256sum_prints() {
        // FIPS 180-2, appendix B.1.
        let hash = KeyHash::of(b"abc");
        let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), digits);
        assert_eq!(digits.parse::<KeyHash>().unwrap(), hash);
        assert!("abc".parse::<KeyHash>().is_err());
        assert!(digits[1..].parse::<KeyHash>().is_err());
    }

    #[test]
    fn keys_differ_and_do_not_show_themselves() {
        let (one, other) = (ApiKey::generate().unwrap(), ApiKey::generate().unwrap());
        assert_ne!(one.expose(), other.expose());
        assert_eq!(one.expose().len(), PREFIX.len() + 43);
        assert!(one.expose().bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(!format!("{one:?}").contains(&one.expose()[PREFIX.len()..]));
    }
}
