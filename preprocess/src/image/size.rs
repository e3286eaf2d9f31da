//! The size that a picture is resampled to, from its own size and the budget of soft tokens.
//!
//! Source: `gemma4_unified` of transformers 5.24.0. Everything is float64 in a fixed order of operations: the exact value
//! before rounding down can be an integer, and then the order decides the result.

/// Side in pixels of the square that becomes one soft token: patches of 16 pixels, pooled 3 by 3.
pub const SQUARE: u32 = 48;
/// Pixels of one square.
const SQUARE_PIXELS: u64 = SQUARE as u64 * SQUARE as u64;

/// The most soft tokens that one picture may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SoftTokenBudget {
    /// 70, the reference's budget for one video frame.
    Tokens70,
    /// 140.
    Tokens140,
    /// 280, the reference's budget for a picture.
    #[default]
    Tokens280,
    /// 560.
    Tokens560,
    /// 1120.
    Tokens1120,
}

impl SoftTokenBudget {
    /// All budgets, ascending.
    pub const ALL: [Self; 5] = [
        Self::Tokens70,
        Self::Tokens140,
        Self::Tokens280,
        Self::Tokens560,
        Self::Tokens1120,
    ];

    /// The budget as a number of soft tokens.
    pub const fn tokens(self) -> u32 {
        match self {
            Self::Tokens70 => 70,
            Self::Tokens140 => 140,
            Self::Tokens280 => 280,
            Self::Tokens560 => 560,
            Self::Tokens1120 => 1120,
        }
    }

    /// The budget of exactly this many soft tokens; `None` if there is no such budget.
    pub fn from_tokens(tokens: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|budget| budget.tokens() == tokens)
    }

    /// The grid of squares that a picture of this size becomes, sides in pixels (0 counts as 1).
    ///
    /// Keeps the aspect ratio as nearly as whole squares within the budget allow; a side that would get none gets one.
    pub fn grid(self, width: u32, height: u32) -> PatchGrid {
        let (width, height) = (width.max(1), height.max(1));
        let square = f64::from(SQUARE);
        let budget_pixels = u64::from(self.tokens()) * SQUARE_PIXELS;
        let pixels = u64::from(width) * u64::from(height);
        // Budgets and products of real pictures are far below 2^53: both conversions are exact.
        let factor = (budget_pixels as f64 / pixels as f64).sqrt();
        let squares = |side: u32| ((factor * f64::from(side)) / square).floor() as u32;
        let long = |long_side: u32, short_side: u32| (long_side / short_side).clamp(1, self.tokens());
        match (squares(height), squares(width)) {
            (0, 0) => PatchGrid { rows: 1, columns: 1 },
            (0, _) => PatchGrid {
                rows: 1,
                columns: long(width, height),
            },
            (_, 0) => PatchGrid {
                rows: long(height, width),
                columns: 1,
            },
            (rows, columns) => PatchGrid { rows, columns },
        }
    }
}

/// How many squares a picture has in each direction; each is one soft token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PatchGrid {
    /// Squares from top to bottom.
    pub rows: u32,
    /// Squares from left to right.
    pub columns: u32,
}

impl PatchGrid {
    /// Soft tokens of the picture.
    pub const fn soft_tokens(self) -> u32 {
        self.rows * self.columns
    }

    /// Width of the resampled picture in pixels.
    pub const fn width(self) -> u32 {
        self.columns * SQUARE
    }

    /// Height of the resampled picture in pixels.
    pub const fn height(self) -> u32 {
        self.rows * SQUARE
    }
}
