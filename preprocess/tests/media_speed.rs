//! How long media take, on files that are made for it: run with `--release -- --ignored --nocapture`.

#![allow(clippy::unwrap_used)]

use std::process::Command;
use std::time::{Duration, Instant};

use assize_preprocess::audio::{self, AudioLimits};
use assize_preprocess::video::{self, VideoLimits};

fn made(name: &str, arguments: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let status = Command::new("ffmpeg")
        .args(["-v", "error", "-y", "-f", "lavfi", "-i"])
        .args(arguments)
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    std::fs::read(path).unwrap()
}

fn median<T>(what: &str, mut work: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..7)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(work());
            start.elapsed()
        })
        .collect();
    times.sort();
    println!("{what}: median {:?}, {:?} to {:?}", times[3], times[0], times[6]);
    times[3]
}

#[test]
#[ignore = "a measurement: needs the ffmpeg command and idle cores"]
fn thirteen_seconds_of_mp3_take_less_than_31_ms() {
    let noise = "anoisesrc=c=pink:r=44100:d=13,aformat=channel_layouts=stereo";
    let mp3 = made("noise.mp3", &[noise, "-b:a", "128k"]);
    let frames = |_| {
        audio::decode(&mp3, &AudioLimits::default())
            .unwrap()
            .into_frames()
    };
    assert_eq!(frames(()).soft_tokens(), 325);
    assert!(median("13 s of MP3", || frames(())) < Duration::from_millis(31));
}

#[test]
#[ignore = "a measurement: needs the ffmpeg command and idle cores"]
fn thirty_seconds_of_full_hd_take_less_than_400_ms() {
    let picture = "mandelbrot=size=1920x1080:rate=30:end_pts=900,trim=duration=30,format=yuv420p";
    let film = made(
        "film.mp4",
        &[
            picture,
            "-c:v",
            "libx264",
            "-preset",
            "ultrafast",
            "-bf",
            "3",
            "-b:v",
            "5M",
            "-g",
            "60",
        ],
    );
    let run = |_| video::sample_with(&film, video::FRAMES, &VideoLimits::default(), |f| f.rgb.len()).unwrap();
    assert_eq!((run(()).frames.len(), run(()).total_frames), (16, 900));
    println!("{} bytes", film.len());
    assert!(median("30 s of 1080p", || run(())) < Duration::from_millis(400));
}

/// The most memory that this process had, in MB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM")).unwrap();
    let kilobytes = line.split_whitespace().nth(1).unwrap();
    kilobytes.parse::<usize>().unwrap() >> 10
}

#[test]
#[ignore = "a measurement: needs the ffmpeg command, and a process of its own"]
fn two_hours_add_less_than_300_mb() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.mp4");
    let short = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/media/h264.mp4");
    let status = Command::new("ffmpeg")
        .args(["-v", "error", "-stream_loop", "1799", "-i", short, "-c", "copy"])
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    let film = std::fs::read(path).unwrap();
    let before = peak();
    let start = Instant::now();
    let video = video::sample(&film, video::FRAMES, &VideoLimits::default()).unwrap();
    let added = peak() - before;
    println!(
        "{} frames, {} MB file: {added} MB, {:?}",
        video.total_frames,
        film.len() >> 20,
        start.elapsed()
    );
    assert_eq!((video.frames.len(), video.total_frames), (16, 180_000));
    assert!(added < 300);
}
