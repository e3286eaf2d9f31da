//! Mean and deviation of every feature.

use super::HiddenRows;

/// `[width]` means and standard deviations (of the population, as scikit-learn's `StandardScaler`), as float32: what the
/// head's file holds and what the fit sees. A feature that never changes has deviation 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Normaliser {
    /// `[width]`
    pub mean: Vec<f32>,
    /// `[width]`, positive.
    pub deviation: Vec<f32>,
}

impl Normaliser {
    /// Of some rows.
    pub fn of(rows: &HiddenRows) -> Self {
        let count = rows.len().max(1) as f64;
        let mut mean = vec![0.0_f64; rows.width()];
        for hidden in rows.hidden() {
            for (mean, value) in mean.iter_mut().zip(hidden) {
                *mean += f64::from(*value) / count;
            }
        }
        let mut variance = vec![0.0_f64; rows.width()];
        let mut changes = vec![false; rows.width()];
        let first: Vec<f32> = rows.hidden().next().unwrap_or_default().to_vec();
        for hidden in rows.hidden() {
            for (((variance, changes), value), (mean, first)) in variance
                .iter_mut()
                .zip(&mut changes)
                .zip(hidden)
                .zip(mean.iter().zip(&first))
            {
                let off = f64::from(*value) - mean;
                *variance += off * off / count;
                *changes |= value != first;
            }
        }
        let deviation = variance
            .iter()
            .zip(&changes)
            .map(|(variance, changes)| match variance.sqrt() as f32 {
                deviation if *changes && deviation.is_normal() => deviation,
                _ => 1.0,
            })
            .collect();
        Self {
            mean: mean.iter().map(|mean| *mean as f32).collect(),
            deviation,
        }
    }

    /// The rows as the head sees them: the same float32 arithmetic, `[rows, width]`.
    pub fn apply(&self, rows: &HiddenRows) -> Vec<f32> {
        let of_row = |hidden: &[f32]| {
            let scale = self.mean.iter().zip(&self.deviation);
            let values = hidden.iter().zip(scale);
            values
                .map(|(value, (mean, deviation))| (value - mean) / deviation)
                .collect::<Vec<f32>>()
        };
        rows.hidden().flat_map(of_row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand_and_a_constant_has_deviation_one() {
        let mut rows = HiddenRows::new(3, 2).unwrap();
        rows.push(&[1.0, 7.0, 0.1], 0, "a").unwrap();
        rows.push(&[5.0, 7.0, 0.1], 1, "b").unwrap();
        rows.push(&[3.0, 7.0, 0.1], 1, "c").unwrap();
        let found = Normaliser::of(&rows);
        assert_eq!(found.mean, [3.0, 7.0, 0.1]);
        assert_eq!(found.deviation, [(8.0_f64 / 3.0).sqrt() as f32, 1.0, 1.0]);
        assert_eq!(found.apply(&rows)[6..], [0.0, 0.0, 0.0]);
    }
}
