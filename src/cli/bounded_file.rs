//! Files that the command line names, read up to a limit: some have no end.

use std::io::Read as _;
use std::path::Path;

use anyhow::bail;

/// Reads a file of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(most + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        bail!("it has more than {most} bytes: give a smaller file");
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_limit_is_read_and_a_larger_one_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert!(
            read(&path, 4)
                .unwrap_err()
                .to_string()
                .contains("more than 4 bytes")
        );
    }
}
