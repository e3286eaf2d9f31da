//! Pictures become the reference's patches, bit for bit.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use assize_preprocess::image::{
    ImageError, ImageLimits, ImagePatches, PATCH_BYTES, PixelScale, SoftTokenBudget, decode,
    patches_from_bytes, patches_from_rgb,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

const BUDGETS: [(SoftTokenBudget, &str); 2] = [
    (SoftTokenBudget::Tokens280, "budget_280"),
    (SoftTokenBudget::Tokens70, "budget_70"),
];

fn folder() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/golden/gemma4_unified_tiny"
    ))
}

fn file(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

fn manifest() -> Value {
    serde_json::from_slice(&file("golden/manifest.json")).unwrap()
}

fn limits() -> ImageLimits {
    ImageLimits::default()
}

fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn sha256_values(patches: &ImagePatches) -> String {
    sha256(patches.values().flat_map(f32::to_le_bytes).collect::<Vec<u8>>())
}

fn sha256_positions(patches: &ImagePatches) -> String {
    let positions = patches
        .positions()
        .flat_map(|(x, y)| [i64::from(x), i64::from(y)]);
    sha256(positions.flat_map(i64::to_le_bytes).collect::<Vec<u8>>())
}

/// The resampled picture, put together from its patches.
fn whole(patches: &ImagePatches) -> Vec<u8> {
    let width = patches.grid().width() as usize;
    let mut rgb = vec![0; patches.bytes().len()];
    for (patch, (x, y)) in patches.bytes().chunks(6912).zip(patches.positions()) {
        for (row, bytes) in patch.chunks(48 * 3).enumerate() {
            let at = ((y as usize * 48 + row) * width + x as usize * 48) * 3;
            rgb[at..at + bytes.len()].copy_from_slice(bytes);
        }
    }
    rgb
}

#[test]
fn every_picture_at_both_budgets_is_the_references() {
    let manifest = manifest();
    let images = manifest["images"].as_object().unwrap();
    assert_eq!(images.len(), 15);
    for (name, image) in images {
        let bytes = file(image["file"].as_str().unwrap());
        for (budget, key) in BUDGETS {
            let patches = patches_from_bytes(&bytes, budget, &limits()).unwrap();
            let expected = &image[key];
            let case = format!("{name} {key}");
            assert_eq!(patches.grid().width(), expected["resized_width"], "{case}");
            assert_eq!(patches.grid().height(), expected["resized_height"], "{case}");
            assert_eq!(patches.len(), expected["soft_tokens"], "{case}");
            if let Some(png) = expected["resized_png"].as_str() {
                let resized = decode(&file(png), &limits()).unwrap();
                assert_eq!(whole(&patches), resized.stored_rgb(), "{case}: resized picture");
            }
            assert_eq!(sha256(patches.bytes()), expected["sha256_patches_u8"], "{case}");
            assert_eq!(
                sha256_values(&patches),
                expected["sha256_pixel_values_f32"],
                "{case}"
            );
            assert_eq!(
                sha256_positions(&patches),
                expected["sha256_position_ids_i64"],
                "{case}"
            );
        }
    }
}

#[test]
fn video_frames_are_the_references() {
    let manifest = manifest();
    let frames = manifest["video"]["frames"].as_array().unwrap();
    assert_eq!(frames.len(), 16);
    for (i, expected) in frames.iter().enumerate() {
        let frame = decode(
            &file(&format!("media/video/frame_{:03}.png", i * 20 / 16)),
            &limits(),
        )
        .unwrap();
        let (width, height) = frame.stored_size();
        let patches = patches_from_rgb(
            frame.stored_rgb(),
            width,
            height,
            SoftTokenBudget::Tokens70,
            PixelScale::Video,
        )
        .unwrap();
        assert_eq!(patches.len(), expected["soft_tokens"], "frame {i}");
        assert_eq!(
            sha256(patches.bytes()),
            expected["sha256_patches_u8"],
            "frame {i}"
        );
        assert_eq!(
            sha256_values(&patches),
            expected["sha256_pixel_values_f32"],
            "frame {i}"
        );
    }
}

#[test]
fn grid_sizes_are_the_references() {
    let manifest = manifest();
    let sizes = manifest["image_grid_sizes"].as_array().unwrap();
    assert_eq!(sizes.len(), 110);
    for size in sizes {
        let row: Vec<u32> = size
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap() as u32)
            .collect();
        let grids = [SoftTokenBudget::Tokens280, SoftTokenBudget::Tokens70].map(|b| b.grid(row[1], row[0]));
        let found: Vec<u32> = grids.iter().flat_map(|grid| [grid.rows, grid.columns]).collect();
        assert_eq!(found, row[2..], "height {} width {}", row[0], row[1]);
    }
}

#[test]
fn a_grid_is_within_its_budget_at_any_size() {
    let sides = (1..400)
        .chain((0..16).map(|power| (1 << power) + 1))
        .chain([65_535]);
    for budget in SoftTokenBudget::ALL {
        for width in sides.clone() {
            for height in sides.clone() {
                let tokens = budget.grid(width, height).soft_tokens();
                assert!(
                    (1..=budget.tokens()).contains(&tokens),
                    "{width} x {height}: {tokens}"
                );
            }
        }
        assert_eq!(SoftTokenBudget::from_tokens(budget.tokens()), Some(budget));
    }
    assert_eq!(SoftTokenBudget::from_tokens(0), None);
    assert_eq!(SoftTokenBudget::default().tokens(), 280);
}

#[test]
fn jpeg_pixels_are_the_references() {
    let bytes = file("golden/images.safetensors");
    let (length, rest) = bytes.split_first_chunk::<8>().unwrap();
    let (header, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let header: Value = serde_json::from_slice(header).unwrap();
    let range = &header["jpeg_w120_h90.decoded_u8"]["data_offsets"];
    let [start, end] = [0, 1].map(|i| range[i].as_u64().unwrap() as usize);
    let decoded = decode(&file("media/images/jpeg_w120_h90.jpg"), &limits()).unwrap();
    assert_eq!(decoded.stored_size(), (120, 90));
    assert_eq!(decoded.stored_rgb(), &data[start..end]);
}

#[test]
fn pixels_that_do_not_fill_the_size_are_refused() {
    for (width, height) in [(0, 4), (4, 0), (4, 5), (u32::MAX, u32::MAX)] {
        let refused = patches_from_rgb(
            &[0; 48],
            width,
            height,
            SoftTokenBudget::Tokens70,
            PixelScale::Video,
        );
        assert!(
            matches!(refused, Err(ImageError::Pixels { bytes: 48, .. })),
            "{width} x {height}"
        );
    }
}

#[test]
fn one_pixel_and_extreme_shapes_become_patches() {
    let colour = [200, 100, 50];
    for (width, height, tokens) in [(1, 1, 256), (1, 20_000, 280), (20_000, 1, 280), (65_535, 2, 280)] {
        let rgb = colour.repeat(width as usize * height as usize);
        let patches =
            patches_from_rgb(&rgb, width, height, SoftTokenBudget::Tokens280, PixelScale::Image).unwrap();
        assert_eq!(patches.len(), tokens, "{width} x {height}");
        assert_eq!(patches.bytes().len(), tokens * PATCH_BYTES);
        // Rounding of the weights may move a flat colour by one.
        let flat = patches
            .bytes()
            .chunks(3)
            .all(|rgb| rgb.iter().zip(colour).all(|(a, b)| a.abs_diff(b) <= 1));
        assert!(flat, "{width} x {height}");
    }
}
