//! Picture files of every kind: Pillow's pixels, or a refusal that says why; never a part of a picture.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use assize_preprocess::image::{
    DecodedImage, ImageError, ImageKind, ImageLimit, ImageLimits, PixelScale, SoftTokenBudget, decode,
    patches_from_bytes, patches_from_rgb,
};
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/pictures"))
}

fn file(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

/// Names with what Pillow makes of them; for the refused ones nothing.
fn pictures() -> Vec<(String, Value)> {
    let manifest: Value = serde_json::from_slice(&file("manifest.json")).unwrap();
    manifest["pictures"]
        .as_object()
        .unwrap()
        .clone()
        .into_iter()
        .collect()
}

fn readable() -> Vec<(String, Vec<u8>)> {
    let names = pictures().into_iter().map(|(name, _)| name);
    names
        .filter(|name| !name.starts_with("refused_"))
        .map(|name| (name.clone(), file(&name)))
        .collect()
}

fn read(bytes: &[u8]) -> Result<DecodedImage, ImageError> {
    decode(bytes, &ImageLimits::default())
}

fn kind_named(name: &str) -> ImageKind {
    match name.rsplit('.').next().unwrap() {
        "jpg" => ImageKind::Jpeg,
        "png" => ImageKind::Png,
        "webp" => ImageKind::WebP,
        "gif" => ImageKind::Gif,
        "bmp" => ImageKind::Bmp,
        _ => ImageKind::Tiff,
    }
}

#[test]
fn every_kind_has_pillows_pixels() {
    for (name, expected) in pictures() {
        if name.starts_with("refused_") {
            continue;
        }
        let image = read(&file(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(image.kind(), kind_named(&name));
        let (width, height) = image.upright_size();
        assert_eq!(width, expected["width"], "{name}");
        assert_eq!(height, expected["height"], "{name}");
        assert_eq!(
            hex::encode(Sha256::digest(image.upright_rgb())),
            expected["sha256_rgb"],
            "{name}"
        );
    }
}

#[test]
fn patches_of_a_turned_picture_are_those_of_the_upright_one() {
    for orientation in 1..=8 {
        let image = read(&file(&format!("jpeg_exif_{orientation}.jpg"))).unwrap();
        let (width, height) = image.upright_size();
        for budget in SoftTokenBudget::ALL {
            let turned = image.patches(budget, PixelScale::Image).unwrap();
            let upright =
                patches_from_rgb(&image.upright_rgb(), width, height, budget, PixelScale::Image).unwrap();
            assert!(turned == upright, "orientation {orientation}, {budget:?}");
        }
    }
}

#[test]
fn variants_without_certain_colours_are_refused() {
    let refused: Vec<_> = pictures()
        .into_iter()
        .filter(|(name, _)| name.starts_with("refused_"))
        .collect();
    assert_eq!(refused.len(), 5);
    for (name, _) in refused {
        let error = read(&file(&name)).map(|image| image.stored_size()).unwrap_err();
        assert!(
            matches!(
                error,
                ImageError::UnsupportedFeature {
                    kind: ImageKind::Tiff,
                    ..
                }
            ),
            "{name}: {error}"
        );
    }
}

#[test]
fn other_content_is_refused_by_what_it_is() {
    assert_eq!(read(b"").unwrap_err(), ImageError::Empty);
    for (bytes, found) in [
        (&b"\0\0\0\x18ftypheic"[..], "HEIC"),
        (b"\0\0\0\x18ftypavif", "AVIF"),
        (b"\0\0\0\x18ftypmp42", "a video (MP4 or QuickTime)"),
        (b"%PDF-1.7", "PDF"),
        (b"<svg xmlns=", "text such as SVG or HTML"),
        (b"RIFF\0\0\0\0WAVE", "a RIFF file such as WAV or AVI"),
        (b"\0", "unknown"),
        (b"\xff\xd8", "unknown"),
    ] {
        assert_eq!(
            read(bytes).unwrap_err(),
            ImageError::UnsupportedKind { found },
            "{bytes:?}"
        );
    }
}

#[test]
fn a_file_that_is_cut_off_is_never_shown_in_part() {
    for (name, bytes) in readable() {
        let whole = read(&bytes).unwrap();
        let mut refused = 0;
        let cuts = (0..bytes.len())
            .rev()
            .step_by(17)
            .chain([1, 2, 8, bytes.len() / 2, bytes.len() - 1]);
        for length in cuts {
            match read(&bytes[..length]) {
                // What was cut off holds no pixels, such as the trailer of a PNG or a second frame.
                Ok(image) => assert!(image.stored_rgb() == whole.stored_rgb(), "{name}, {length} bytes"),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 4, "{name}");
        // The first frame of an animation may be complete by then.
        if !name.contains("animated") {
            let quarter = read(&bytes[..bytes.len() / 4]).map(|image| image.stored_size());
            assert!(
                matches!(quarter, Err(ImageError::Damaged { .. })),
                "{name}: {quarter:?}"
            );
        }
    }
}

/// Replaces bytes of a file.
fn patched(name: &str, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = file(name);
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

#[test]
fn headers_that_claim_too_much_are_refused_before_pixels_are_decoded() {
    let sixty_thousand = 60_000_u32.to_be_bytes();
    let mut png = patched("png_rgb.png", 16, &[sixty_thousand, sixty_thousand].concat());
    let checksum = crc32(&png[12..29]).to_be_bytes();
    png[29..33].copy_from_slice(&checksum);
    let jpeg = file("jpeg_420.jpg");
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    let side = 60_000_u16.to_be_bytes();
    let frames = [
        png,
        patched("jpeg_420.jpg", frame + 5, &[side, side].concat()),
        patched("gif_palette.gif", 6, &[0xff; 4]),
        patched(
            "bmp_rgb.bmp",
            18,
            &[60_000_u32.to_le_bytes(), 60_000_u32.to_le_bytes()].concat(),
        ),
        // 14 bits each of width and height less one, after the signature byte of the lossless stream.
        patched("webp_lossless.webp", 21, &[0xfe, 0xbf, 0xff, 0x0f]),
    ];
    for bytes in frames {
        let error = read(&bytes).map(|image| image.stored_size()).unwrap_err();
        assert!(
            matches!(
                error,
                ImageError::TooLarge {
                    width: 16_383..,
                    height: 16_383..,
                    limit: ImageLimit::Pixels,
                    ..
                }
            ),
            "{error}"
        );
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |mut sum, byte| {
        sum ^= u32::from(*byte);
        (0..8).fold(sum, |sum, _| {
            if sum & 1 == 1 {
                sum >> 1 ^ 0xedb8_8320
            } else {
                sum >> 1
            }
        })
    })
}

#[test]
fn each_limit_is_kept() {
    let bytes = file("jpeg_420.jpg");
    let progressive = file("jpeg_progressive_420.jpg");
    let pixels = 53 * 38;
    let none = ImageLimits {
        file_bytes: u64::MAX,
        side: u32::MAX,
        pixels: u64::MAX,
        decoding_bytes: u64::MAX,
    };
    let over = |bytes: &[u8], limits: ImageLimits| match decode(bytes, &limits) {
        Ok(_) => None,
        Err(ImageError::TooLarge {
            limit,
            found,
            allowed,
            ..
        }) => {
            assert_eq!(found, allowed + 1, "{limit}");
            Some(limit)
        }
        Err(error) => panic!("{error}"),
    };
    let size = bytes.len() as u64;
    assert_eq!(
        over(
            &bytes,
            ImageLimits {
                file_bytes: size,
                ..none
            }
        ),
        None
    );
    assert_eq!(
        over(
            &bytes,
            ImageLimits {
                file_bytes: size - 1,
                ..none
            }
        ),
        Some(ImageLimit::FileBytes)
    );
    assert_eq!(over(&bytes, ImageLimits { side: 53, ..none }), None);
    assert_eq!(
        over(&bytes, ImageLimits { side: 52, ..none }),
        Some(ImageLimit::Side)
    );
    assert_eq!(over(&bytes, ImageLimits { pixels, ..none }), None);
    assert_eq!(
        over(
            &bytes,
            ImageLimits {
                pixels: pixels - 1,
                ..none
            }
        ),
        Some(ImageLimit::Pixels)
    );
    // Three bytes per pixel; in several scans, three more for coefficients at halved colour.
    let memory = |decoding_bytes| ImageLimits {
        decoding_bytes,
        ..none
    };
    assert_eq!(over(&bytes, memory(3 * pixels)), None);
    assert_eq!(
        over(&bytes, memory(3 * pixels - 1)),
        Some(ImageLimit::DecodingBytes)
    );
    assert_eq!(over(&progressive, memory(6 * pixels)), None);
    assert_eq!(
        over(&progressive, memory(6 * pixels - 1)),
        Some(ImageLimit::DecodingBytes)
    );
}

#[test]
fn pictures_behind_the_first_are_told() {
    for (name, bytes) in readable() {
        let others = read(&bytes).unwrap().has_others();
        assert_eq!(others, name.contains("animated"), "{name}");
    }
}

#[test]
fn a_gif_is_white_where_its_first_frame_does_not_reach() {
    let mut bytes = file("gif_palette.gif");
    bytes[6..10].copy_from_slice(&[60, 0, 40, 0]);
    let image = read(&bytes).unwrap();
    let whole = read(&file("gif_palette.gif")).unwrap();
    assert_eq!(image.stored_size(), (60, 40));
    for (y, row) in image.stored_rgb().chunks(60 * 3).enumerate() {
        let (inside, outside) = row.split_at(if y < 38 { 53 * 3 } else { 0 });
        assert!(outside.iter().all(|&byte| byte == 255), "row {y}");
        assert_eq!(
            inside,
            &whole.stored_rgb()[y.min(37) * 53 * 3..][..inside.len()],
            "row {y}"
        );
    }
}

#[test]
fn bytes_between_the_last_sample_and_the_end_of_a_jpeg_do_no_harm() {
    let whole = file("jpeg_420.jpg");
    let (data, end) = whole.split_at(whole.len() - 2);
    assert_eq!(end, [0xff, 0xd9]);
    let padded = [data, &[0; 40], end, b"trailing"].concat();
    assert!(read(&padded).unwrap() == read(&whole).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn broken_files_are_refused_or_read_but_never_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let files = readable();
        let (name, mut bytes) = which.get(&files).clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let limits = ImageLimits { pixels: 1 << 20, decoding_bytes: 16 << 20, ..ImageLimits::default() };
        if let Ok(patches) = patches_from_bytes(&bytes, SoftTokenBudget::Tokens70, &limits) {
            prop_assert!((1..=70).contains(&patches.len()), "{name}");
        }
    }
}
