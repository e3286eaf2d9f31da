//! Any bytes as a picture, with the limits of the server.
#![no_main]

use assize_preprocess::image::{self, ImageLimits, PATCH_BYTES, PixelScale, SoftTokenBudget};
use libfuzzer_sys::fuzz_target;

const BUDGETS: [SoftTokenBudget; 5] = [
    SoftTokenBudget::Tokens70,
    SoftTokenBudget::Tokens140,
    SoftTokenBudget::Tokens280,
    SoftTokenBudget::Tokens560,
    SoftTokenBudget::Tokens1120,
];

fuzz_target!(|bytes: &[u8]| {
    let limits = ImageLimits::default();
    let decoded = match image::decode(bytes, &limits) {
        Ok(decoded) => decoded,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let (width, height) = decoded.stored_size();
    let pixels = u64::from(width) * u64::from(height);
    assert!(pixels > 0 && pixels <= limits.pixels && width.max(height) <= limits.side);
    assert_eq!(decoded.stored_rgb().len() as u64, 3 * pixels);
    // The budget changes with the file, so that all are met.
    let budget = BUDGETS[bytes.len() % BUDGETS.len()];
    let patches = decoded
        .patches(budget, PixelScale::Image)
        .expect("a decoded picture has patches");
    let grid = patches.grid();
    assert!(!patches.is_empty() && patches.len() <= budget.tokens() as usize);
    assert_eq!(patches.bytes().len(), patches.len() * PATCH_BYTES);
    assert_eq!(patches.positions().count(), patches.len());
    assert!(
        patches
            .positions()
            .all(|(x, y)| x < grid.columns && y < grid.rows)
    );
    assert!(patches.values().all(|value| (0.0..=1.0).contains(&value)));
});
