//! Names of models: `smollm2-135m-instruct`, or `org/name[@revision]` on the Hugging Face hub.

use crate::ModelError;

/// A name that is safe as a folder name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelName {
    text: String,
}

/// The parts of a hub name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "hub"), allow(dead_code))]
pub(super) struct HubName<'a> {
    /// `org/name`.
    pub(super) repository: &'a str,
    /// Branch, tag or commit.
    pub(super) revision: Option<&'a str>,
}

impl ModelName {
    /// Parses a name.
    ///
    /// # Errors
    /// It is empty, too long, or holds something that no model name does.
    pub(super) fn parse(text: &str) -> Result<Self, ModelError> {
        let wrong = || {
            ModelError::NotFound(format!(
                "{text:?} is no model name: use letters, digits, '.', '_' and '-', as in smollm2-135m-instruct or \
                 org/name@revision"
            ))
        };
        let (base, revision) = match text.split_once('@') {
            Some((base, revision)) => (base, Some(revision)),
            None => (text, None),
        };
        let parts: Vec<&str> = base.split('/').chain(revision).collect();
        let part_fits = |part: &&str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        };
        if text.len() > 160 || base.split('/').count() > 2 || !parts.iter().all(part_fits) {
            return Err(wrong());
        }
        Ok(Self {
            text: text.to_owned(),
        })
    }

    /// The name as given.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Its folder in the cache.
    pub(super) fn folder(&self) -> String {
        self.text.replace('/', "--")
    }

    /// Its parts, if it is a hub name.
    pub(super) fn hub(&self) -> Option<HubName<'_>> {
        let (repository, revision) = match self.text.split_once('@') {
            Some((base, revision)) => (base, Some(revision)),
            None => (self.text.as_str(), None),
        };
        repository
            .contains('/')
            .then_some(HubName { repository, revision })
    }
}

impl std::fmt::Display for ModelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_cache_are_refused() {
        for text in [
            "", ".", "..", "../x", "a/../b", "a/b/c", "/etc", "a\\b", "a b", "a@", "@b", "a\0", "é", "a@../x",
        ] {
            assert!(ModelName::parse(text).is_err(), "{text:?}");
        }
        assert!(ModelName::parse(&"a".repeat(161)).is_err());
    }

    #[test]
    fn hub_names_have_parts() {
        let name = ModelName::parse("Org/Some-Model_1.5@v2").unwrap();
        assert_eq!(name.folder(), "Org--Some-Model_1.5@v2");
        assert_eq!(
            name.hub(),
            Some(HubName {
                repository: "Org/Some-Model_1.5",
                revision: Some("v2")
            })
        );
        assert_eq!(ModelName::parse("smollm2-135m-instruct").unwrap().hub(), None);
    }
}
