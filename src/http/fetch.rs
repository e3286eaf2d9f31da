//! Media by URL, where the operator allows it: public hosts only, within bounds of size and time.
//!
//! Every address that a name resolves to is checked where the connection is made, on every redirect, so that neither a
//! redirect nor a name that changes between two look-ups leads into the operator's own network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use axum::body::Bytes;
use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// Redirects that are followed.
const MAX_REDIRECTS: u32 = 3;

/// Bounds on a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// Most bytes of a file.
    pub bytes: usize,
    /// Time from the look-up to the last byte.
    pub time: Duration,
}

/// Why a medium could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// The URL is none, or of another scheme.
    #[error("{0:?} is no http or https URL")]
    Url(String),
    /// The server answered otherwise, or not at all.
    #[error("fetching {url} failed: {reason}")]
    Failed {
        /// The URL.
        url: String,
        /// What happened.
        reason: String,
    },
    /// More than the limit.
    #[error("{url} is larger than the {limit} bytes that are fetched")]
    TooLarge {
        /// The URL.
        url: String,
        /// The limit.
        limit: usize,
    },
}

/// Fetches media from public hosts.
#[derive(Debug)]
pub(super) struct Fetcher {
    agent: Agent,
    limits: FetchLimits,
}

impl Fetcher {
    pub(super) fn new(limits: FetchLimits) -> Self {
        Self::with_resolver(limits, PublicOnly(DefaultResolver::default()))
    }

    fn with_resolver(limits: FetchLimits, resolver: impl Resolver) -> Self {
        let config = Config::builder()
            .timeout_global(Some(limits.time))
            .max_redirects(MAX_REDIRECTS)
            // A proxy would look names up itself, past the check of addresses.
            .proxy(None)
            .user_agent(concat!("assize/", env!("CARGO_PKG_VERSION")))
            .build();
        Self {
            agent: Agent::with_parts(config, DefaultConnector::default(), resolver),
            limits,
        }
    }

    /// The bytes behind `url`. Blocks.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub(super) fn get(&self, url: &str) -> Result<Bytes, FetchError> {
        let shown: String = url.chars().take(200).collect();
        let uri: Uri = url.parse().map_err(|_| FetchError::Url(shown.clone()))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(FetchError::Url(shown));
        }
        let failed = |error: &dyn std::fmt::Display| FetchError::Failed {
            url: shown.clone(),
            reason: error.to_string(),
        };
        let mut response = self.agent.get(uri).call().map_err(|error| failed(&error))?;
        let limit = self.limits.bytes;
        let reading = response
            .body_mut()
            .with_config()
            .limit(limit as u64)
            .read_to_vec();
        reading.map(Bytes::from).map_err(|error| match error {
            ureq::Error::BodyExceedsLimit(_) => FetchError::TooLarge {
                url: shown.clone(),
                limit,
            },
            other => failed(&other),
        })
    }
}

/// Looks names up and refuses those with an address that is not public.
#[derive(Debug)]
struct PublicOnly<R>(R);

impl<R: Resolver> Resolver for PublicOnly<R> {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.0.resolve(uri, config, timeout)?;
        match found.iter().find(|address| !is_public(address.ip())) {
            None => Ok(found),
            Some(_) => Err(std::io::Error::new(
                std::io::ErrorKind::PermissionDenied,
                "the host has an address that is not public",
            )
            .into()),
        }
    }
}

/// Whether an address is one of the public internet: outside every block of the IANA special-purpose address registries
/// (RFC 6890 and its updates), multicast and the reserved class E. Addresses that carry an IPv4 one are judged by it.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        // Shared address space of carriers, IETF protocols, 6to4 relays, benchmarks.
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19)))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let parts = address.segments();
    let embedded = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match parts {
        // NAT64 and 6to4 carry an IPv4 address.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(embedded(high, low)),
        [0x2002, high, low, ..] => is_public_v4(embedded(high, low)),
        // Global unicast is 2000::/3; of it, IETF protocols (Teredo among them) and documentation are not public.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    const LIMITS: FetchLimits = FetchLimits {
        bytes: 10,
        time: Duration::from_secs(5),
    };

    #[test]
    fn only_public_addresses_are_public() {
        for address in [
            "8.8.8.8",
            "1.1.1.1",
            "100.63.0.1",
            "172.32.0.1",
            "2606:4700::1111",
            "64:ff9b::808:808",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
            "3fff::1",
            "100::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    /// Answers each connection in turn, and gives the address.
    fn host(answers: Vec<String>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        format!("http://{address}/")
    }

    fn ok(body: &str) -> String {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    }

    #[test]
    fn private_hosts_are_refused() {
        let fetcher = Fetcher::new(LIMITS);
        for url in [
            "http://127.0.0.1:1/",
            "http://localhost:1/",
            "http://[::1]:1/",
            "http://2130706433:1/",
        ] {
            let error = fetcher.get(url).unwrap_err().to_string();
            assert!(error.contains("failed"), "{error}");
        }
        let error = fetcher.get(&host(vec![ok("x")])).unwrap_err().to_string();
        assert!(error.contains("not public"), "{error}");
        for url in ["file:///etc/passwd", "ftp://a/", "x", "", "http://"] {
            assert!(fetcher.get(url).is_err(), "{url}");
        }
    }

    #[test]
    fn bytes_and_redirects_are_bounded() {
        let fetcher = Fetcher::with_resolver(LIMITS, DefaultResolver::default());
        assert_eq!(fetcher.get(&host(vec![ok("0123456789")])).unwrap(), "0123456789");
        let error = fetcher.get(&host(vec![ok("0123456789+")])).unwrap_err();
        assert!(matches!(error, FetchError::TooLarge { limit: 10, .. }), "{error}");
        let redirect =
            "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        assert!(fetcher.get(&host(vec![redirect.to_owned(); 8])).is_err());
        let missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned();
        assert!(fetcher.get(&host(vec![missing])).is_err());
        // A redirect is looked up anew.
        let inside = host(vec![ok("secret")]);
        let outside = host(vec![format!(
            "HTTP/1.1 302 Found\r\nLocation: {inside}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )]);
        let port = inside
            .trim_end_matches('/')
            .rsplit(':')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        let fetcher = Fetcher::with_resolver(LIMITS, NotThisPort(port));
        let error = fetcher.get(&outside).unwrap_err().to_string();
        assert!(error.contains("not public"), "{error}");
    }

    /// Takes all but one port for public.
    #[derive(Debug)]
    struct NotThisPort(u16);

    impl Resolver for NotThisPort {
        fn resolve(
            &self,
            uri: &Uri,
            config: &Config,
            timeout: NextTimeout,
        ) -> Result<ResolvedSocketAddrs, ureq::Error> {
            let found = DefaultResolver::default();
            if uri.port_u16() == Some(self.0) {
                return PublicOnly(found).resolve(uri, config, timeout);
            }
            found.resolve(uri, config, timeout)
        }
    }
}
