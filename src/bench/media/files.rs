//! The files that are measured, made once with the `ffmpeg` command.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assize_models::store::Store;

use super::super::BenchError;

/// Noise over a test picture, so that a file has the size of a photograph (0.47 MB at 1920x1080, which is 1.8 bits a pixel).
const PICTURE: &str = "noise=alls=6:all_seed=1";
/// Half a sweep from 200 Hz in one ear, half one from 3 kHz in the other, pink noise in both.
const SOUND: &str = "[0]aformat=channel_layouts=stereo[noise];[noise][1]amix=inputs=2:normalize=0";
const SWEEP: &str = "aevalsrc='0.3*sin(2*PI*(200*t+150*t*t))|0.3*sin(2*PI*(3000*t-100*t*t))':s=44100:d=13";

/// A folder of files of known content.
#[derive(Debug, Clone)]
pub struct MediaFiles {
    folder: PathBuf,
}

impl MediaFiles {
    /// Files in `bench/media` of the cache, which is at `cache` or where the user's caches are.
    ///
    /// # Errors
    /// There is no cache folder and none can be made.
    pub fn open(cache: Option<&Path>) -> Result<Self, BenchError> {
        let folder = Store::open(cache)?.root().join("bench/media");
        std::fs::create_dir_all(&folder).map_err(|source| BenchError::Io {
            path: folder.clone(),
            source,
        })?;
        Ok(Self { folder })
    }

    /// A JPEG of 1920x1080 pixels, colour halved both ways.
    ///
    /// # Errors
    /// As of every file: there is no `ffmpeg`, it fails, or the folder cannot be written to.
    pub fn picture(&self) -> Result<PathBuf, BenchError> {
        self.jpeg("picture.jpg", "1920x1080")
    }

    /// 13 s of MP3: 44.1 kHz, stereo, 128 kbit/s.
    ///
    /// # Errors
    /// As [`picture`](Self::picture).
    pub fn sound(&self) -> Result<PathBuf, BenchError> {
        let noise = "anoisesrc=c=pink:r=44100:d=13:a=0.3:seed=1";
        self.made(
            "sound.mp3",
            &[
                "-f",
                "lavfi",
                "-i",
                noise,
                "-f",
                "lavfi",
                "-i",
                SWEEP,
                "-filter_complex",
                SOUND,
                "-b:a",
                "128k",
            ],
        )
    }

    /// 30 s of H.264 at 1920x1080, 30 frames a second, 5 Mbit/s, a key frame every 2 s, no sound.
    ///
    /// # Errors
    /// As [`picture`](Self::picture).
    pub fn film(&self) -> Result<PathBuf, BenchError> {
        let picture = "testsrc2=size=1920x1080:rate=30:duration=30,noise=alls=6:allf=t+u:all_seed=1";
        self.h264("film.mp4", picture, "5M")
    }

    /// A JPEG of 63 million pixels, just inside the limits.
    pub(super) fn large_picture(&self) -> Result<PathBuf, BenchError> {
        self.jpeg("large.jpg", "9000x7000")
    }

    /// A JPEG of 101 million pixels, beyond the limits.
    pub(super) fn too_large_picture(&self) -> Result<PathBuf, BenchError> {
        self.jpeg("too_large.jpg", "11000x9200")
    }

    /// Two hours of H.264 at 320x240: four seconds, again and again.
    pub(super) fn long_film(&self) -> Result<PathBuf, BenchError> {
        let piece = self.h264("piece.mp4", "testsrc2=size=320x240:rate=25:duration=4", "200k")?;
        let piece = piece.display().to_string();
        self.made(
            "two_hours.mp4",
            &["-stream_loop", "1799", "-i", &piece, "-c", "copy"],
        )
    }

    fn jpeg(&self, name: &str, size: &str) -> Result<PathBuf, BenchError> {
        let source = format!("testsrc2=size={size}:rate=1,{PICTURE}");
        self.made(
            name,
            &[
                "-f",
                "lavfi",
                "-i",
                &source,
                "-frames:v",
                "1",
                "-q:v",
                "2",
                "-pix_fmt",
                "yuvj420p",
            ],
        )
    }

    fn h264(&self, name: &str, source: &str, rate: &str) -> Result<PathBuf, BenchError> {
        self.made(
            name,
            &[
                "-f",
                "lavfi",
                "-i",
                source,
                "-c:v",
                "libx264",
                "-preset",
                "veryfast",
                "-pix_fmt",
                "yuv420p",
                "-b:v",
                rate,
                "-g",
                "60",
                "-keyint_min",
                "60",
                "-sc_threshold",
                "0",
            ],
        )
    }

    /// The file `name`, made by `ffmpeg` with `arguments` if it is not there; it appears whole or not at all.
    fn made(&self, name: &str, arguments: &[&str]) -> Result<PathBuf, BenchError> {
        let path = self.folder.join(name);
        if path.exists() {
            return Ok(path);
        }
        let io = |source| BenchError::Io {
            path: self.folder.clone(),
            source,
        };
        let scratch = tempfile::tempdir_in(&self.folder).map_err(io)?;
        let unfinished = scratch.path().join(name);
        eprintln!("making {} with ffmpeg", path.display());
        let output = Command::new("ffmpeg")
            .args(["-nostdin", "-v", "error", "-y"])
            .args(arguments)
            .arg(&unfinished)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| tool(format!("{error}; install it, or name files of your own")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(tool(format!("making {name}: {}: {}", output.status, said.trim())));
        }
        std::fs::rename(&unfinished, &path).map_err(io)?;
        Ok(path)
    }
}

fn tool(reason: String) -> BenchError {
    BenchError::Tool {
        tool: "ffmpeg".into(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_is_not_made_again() {
        let cache = tempfile::tempdir().unwrap();
        let files = MediaFiles::open(Some(cache.path())).unwrap();
        let path = cache.path().join("bench/media/picture.jpg");
        std::fs::write(&path, b"x").unwrap();
        assert_eq!(files.picture().unwrap(), path);
        assert_eq!(std::fs::read(&path).unwrap(), b"x");
    }

    #[test]
    fn what_ffmpeg_refuses_is_told_and_leaves_nothing() {
        let cache = tempfile::tempdir().unwrap();
        let files = MediaFiles::open(Some(cache.path())).unwrap();
        let message = files
            .made("a.jpg", &["-i", "/nonexistent"])
            .unwrap_err()
            .to_string();
        assert!(message.starts_with("ffmpeg: "), "{message}");
        assert_eq!(std::fs::read_dir(&files.folder).unwrap().count(), 0);
    }
}
