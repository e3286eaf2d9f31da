//! How a file asks its pictures to be turned: the display matrix of its track (ISO 14496-12, 8.3.2).

use super::{RgbFrame, VideoError};

/// A turn by a multiple of 90 degrees, mirrored or not: the axes change places, then each may run backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Orientation {
    swap: bool,
    mirror_x: bool,
    mirror_y: bool,
}

impl Orientation {
    /// The turn of a display matrix: a point (x, y) is shown at (m0 x + m3 y, m1 x + m4 y). As in FFmpeg's command,
    /// anything within a degree of a right angle counts as one.
    ///
    /// # Errors
    ///
    /// [`VideoError::Rotation`] for another angle.
    pub(super) fn of(matrix: Option<[i32; 9]>) -> Result<Self, VideoError> {
        let Some([a, b, _, c, d, ..]) = matrix else {
            return Ok(Self::default());
        };
        if (a, b) == (0, 0) || (c, d) == (0, 0) {
            return Ok(Self::default());
        }
        // The length of each column is a scaling, which is not applied.
        let (column_x, column_y) = (f64::from(a).hypot(f64::from(c)), f64::from(b).hypot(f64::from(d)));
        let turn = (f64::from(b) / column_y.max(1.0))
            .atan2(f64::from(a) / column_x.max(1.0))
            .to_degrees();
        let degrees = turn.round() as i32;
        let off = degrees.rem_euclid(90);
        if off > 1 && off < 89 {
            return Err(VideoError::Rotation {
                degrees: degrees.rem_euclid(360),
            });
        }
        let swap = (degrees + 45).rem_euclid(180) >= 90;
        Ok(Self {
            swap,
            mirror_x: if swap { c < 0 } else { a < 0 },
            mirror_y: if swap { b < 0 } else { d < 0 },
        })
    }

    /// Turns a picture.
    pub(super) fn apply(self, frame: RgbFrame) -> RgbFrame {
        if self == Self::default() {
            return frame;
        }
        let (width, height) = if self.swap {
            (frame.height, frame.width)
        } else {
            (frame.width, frame.height)
        };
        let mut rgb = Vec::with_capacity(frame.rgb.len());
        for y in 0..height {
            let y = if self.mirror_y { height - 1 - y } else { y };
            for x in 0..width {
                let x = if self.mirror_x { width - 1 - x } else { x };
                let (column, row) = if self.swap { (y, x) } else { (x, y) };
                let at = (row * frame.width + column) * 3;
                rgb.extend_from_slice(&frame.rgb[at..at + 3]);
            }
        }
        RgbFrame { rgb, width, height }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: i32 = 1 << 16;

    fn turned(a: i32, b: i32, c: i32, d: i32) -> (usize, usize, Vec<u8>) {
        // 1 2 3
        // 4 5 6
        let frame = RgbFrame {
            rgb: (1..=6).flat_map(|n| [n, n, n]).collect(),
            width: 3,
            height: 2,
        };
        let matrix = [a * ONE, b * ONE, 0, c * ONE, d * ONE, 0, 0, 0, 1 << 30];
        let frame = Orientation::of(Some(matrix)).unwrap().apply(frame);
        (
            frame.width,
            frame.height,
            frame.rgb.into_iter().step_by(3).collect(),
        )
    }

    #[test]
    fn right_angles_and_mirrors() {
        assert_eq!(turned(1, 0, 0, 1), (3, 2, vec![1, 2, 3, 4, 5, 6]));
        assert_eq!(turned(0, 1, -1, 0), (2, 3, vec![4, 1, 5, 2, 6, 3]));
        assert_eq!(turned(-1, 0, 0, -1), (3, 2, vec![6, 5, 4, 3, 2, 1]));
        assert_eq!(turned(0, -1, 1, 0), (2, 3, vec![3, 6, 2, 5, 1, 4]));
        assert_eq!(turned(-1, 0, 0, 1), (3, 2, vec![3, 2, 1, 6, 5, 4]));
        assert_eq!(turned(0, 1, 1, 0), (2, 3, vec![1, 4, 2, 5, 3, 6]));
    }

    #[test]
    fn a_slant_is_refused() {
        let (cos, sin) = (56_756, 32_768);
        let matrix = [cos, sin, 0, -sin, cos, 0, 0, 0, 1 << 30];
        assert_eq!(
            Orientation::of(Some(matrix)),
            Err(VideoError::Rotation { degrees: 30 })
        );
    }
}
