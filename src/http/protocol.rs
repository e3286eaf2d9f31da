//! Whose protocol a route speaks, which decides the shape of its errors.

/// A protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// `/decide` and everything without a protocol of its own.
    Native,
    /// System One.
    SystemOne,
    /// OpenAI's API.
    OpenAi,
    /// Anthropic's API.
    Anthropic,
    /// Ollama's API.
    Ollama,
}

impl Protocol {
    /// The protocol of a path, whether or not there is such a route.
    pub(super) fn of_path(path: &str) -> Self {
        let is_below = |root: &str| {
            path.strip_prefix(root)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if is_below("/api") {
            Self::Ollama
        } else if is_below("/v1/messages") {
            Self::Anthropic
        } else if is_below("/v1/systemone") || path == "/v1/models" {
            Self::SystemOne
        } else if is_below("/v1") {
            Self::OpenAi
        } else {
            Self::Native
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_protocol() {
        for (path, protocol) in [
            ("/decide", Protocol::Native),
            ("/", Protocol::Native),
            ("/apiary", Protocol::Native),
            ("/v1/systemone", Protocol::SystemOne),
            ("/v1/models", Protocol::SystemOne),
            ("/v1/decisions", Protocol::OpenAi),
            ("/v1/chat/completions", Protocol::OpenAi),
            ("/v1/nothing", Protocol::OpenAi),
            ("/v1/messages", Protocol::Anthropic),
            ("/v1/messages/batches", Protocol::Anthropic),
            ("/api/chat", Protocol::Ollama),
        ] {
            assert_eq!(Protocol::of_path(path), protocol, "{path}");
        }
    }
}
