//! Patches of the golden PNGs, made here so that the engine is tested on no other code than its own; each picture's patches
//! are held to the reference's hash. The arithmetic is that of the reference's processors (torchvision's 8-bit bicubic).

use std::path::Path;

use assize_models::{Medium, PatchPosition, PatchValues, Picture, PixelScale};
use sha2::{Digest, Sha256};

/// Edge of a patch.
const EDGE: usize = 48;

/// The patches of an RGB file with at most `budget` soft tokens, whose bytes hash to `sha256`.
pub fn picture(path: &Path, budget: usize, scale: PixelScale, sha256: &str) -> Medium {
    let (mut rgb, width, height) = decode(path);
    let (rows, columns) = grid(width, height, budget);
    rgb = resample(&rgb, [height, width, 3], columns * EDGE);
    // A vertical pass is a pass over pixels as wide as a row.
    rgb = resample(&rgb, [1, height, columns * EDGE * 3], rows * EDGE);
    let (mut bytes, mut positions) = (Vec::with_capacity(rgb.len()), Vec::new());
    for y in 0..rows {
        for x in 0..columns {
            for line in 0..EDGE {
                let start = (((y * EDGE + line) * columns + x) * EDGE) * 3;
                bytes.extend_from_slice(&rgb[start..start + EDGE * 3]);
            }
            positions.push(PatchPosition {
                x: x as u32,
                y: y as u32,
            });
        }
    }
    assert_eq!(hex::encode(Sha256::digest(&bytes)), sha256, "{}", path.display());
    let values = PatchValues::Bytes { values: bytes, scale };
    Medium::Picture(Picture::new(values, positions).expect("a picture"))
}

fn decode(path: &Path) -> (Vec<u8>, usize, usize) {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = png::Decoder::new(std::io::BufReader::new(file))
        .read_info()
        .expect("a PNG file");
    let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut bytes).expect("a picture");
    assert_eq!(
        (info.color_type, info.bit_depth),
        (png::ColorType::Rgb, png::BitDepth::Eight),
        "{}",
        path.display()
    );
    bytes.truncate(info.buffer_size());
    (bytes, info.width as usize, info.height as usize)
}

/// Rows and columns of patches.
fn grid(width: usize, height: usize, budget: usize) -> (usize, usize) {
    let pixels = (budget * EDGE * EDGE) as f64;
    let factor = (pixels / (width * height) as f64).sqrt();
    let patches = |side: usize| ((factor * side as f64) / EDGE as f64).floor() as usize;
    match (patches(height), patches(width)) {
        (0, _) => (1, (width / height).min(budget)),
        (_, 0) => ((height / width).min(budget), 1),
        both => both,
    }
}

/// One pass along the middle of three axes, to `target` places.
fn resample(source: &[u8], [outer, length, inner]: [usize; 3], target: usize) -> Vec<u8> {
    if length == target {
        return source.to_vec();
    }
    let step = length as f64 / target as f64;
    let (reach, shrink) = if step >= 1.0 {
        (2.0 * step, 1.0 / step)
    } else {
        (2.0, 1.0)
    };
    let kernels: Vec<(usize, Vec<f64>)> = (0..target)
        .map(|place| {
            let centre = step * (place as f64 + 0.5);
            let low = (centre - reach + 0.5).max(0.0) as usize;
            let high = ((centre + reach + 0.5) as usize).min(length);
            let mut weights: Vec<f64> = (low..high)
                .map(|from| keys((from as f64 - centre + 0.5) * shrink))
                .collect();
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|weight| *weight /= sum);
            (low, weights)
        })
        .collect();
    let largest = kernels
        .iter()
        .flat_map(|(_, weights)| weights)
        .fold(0.0, |a: f64, b| a.max(*b));
    let bits = (0..22)
        .find(|bits| (0.5 + largest * f64::from(1 << (bits + 1))) as i64 >= 32768)
        .unwrap_or(22);
    let mut out = vec![0; outer * target * inner];
    for (place, (low, weights)) in kernels.iter().enumerate() {
        let weights: Vec<i64> = weights
            .iter()
            .map(|weight| (weight * f64::from(1 << bits)).round() as i64)
            .collect();
        for line in 0..outer {
            for element in 0..inner {
                let from = |offset: usize| source[(line * length + low + offset) * inner + element];
                let sum: i64 = weights
                    .iter()
                    .enumerate()
                    .map(|(offset, weight)| weight * i64::from(from(offset)))
                    .sum();
                let value = (sum + (1 << (bits - 1))) >> bits;
                out[(line * target + place) * inner + element] = value.clamp(0, 255) as u8;
            }
        }
    }
    out
}

/// Keys' cubic with a = -0.5.
fn keys(x: f64) -> f64 {
    let (x, a) = (x.abs(), -0.5);
    if x < 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        (((x - 5.0) * x + 8.0) * x - 4.0) * a
    } else {
        0.0
    }
}
