//! The slot head: one linear layer with a row per slot; option i is always slot i.

use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};
use sha2::{Digest, Sha256};

use crate::HeadError;

/// Largest head file that is read.
const MOST_BYTES: u64 = 256 << 20;
/// Fewest slots and options: with one there is nothing to decide.
const FEWEST: usize = 2;

/// A head that scores options by their place: `z = W ((h - mu) / sd) + b` over the last hidden state, of which the first
/// N numbers are the scores of N options. All arithmetic is float32, sums are float64.
pub struct SlotHead {
    /// `[width]`, the mean of the hidden states that the head was fitted on.
    mean: Vec<f32>,
    /// `[width]`, their standard deviation; positive.
    deviation: Vec<f32>,
    /// `[slots, width]`, row-major.
    weight: Vec<f32>,
    /// `[slots]`
    bias: Vec<f32>,
    fingerprint: String,
}

impl std::fmt::Debug for SlotHead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SlotHead")
            .field("width", &self.width())
            .field("slots", &self.slots())
            .finish_non_exhaustive()
    }
}

impl SlotHead {
    /// Reads a safetensors file with `mu` and `sd` (`[width]` or `[1, width]`), `linear.weight` (`[slots, width]`) and
    /// `linear.bias` (`[slots]`), all float32. `weight` and `bias` are accepted for the last two.
    ///
    /// # Errors
    /// The file cannot be read or is damaged, a tensor is missing, has another type or shape, a number is not finite, or
    /// a deviation is not positive.
    pub fn open(path: &Path) -> Result<Self, HeadError> {
        let io = |source| HeadError::Io {
            path: path.to_path_buf(),
            source,
        };
        let file = HeadFile { path };
        let bytes = std::fs::metadata(path).map_err(io)?.len();
        if bytes > MOST_BYTES {
            return Err(file.broken(format!(
                "{bytes} bytes are more than the {MOST_BYTES} that are read"
            )));
        }
        Self::from_bytes(path, &std::fs::read(path).map_err(io)?)
    }

    fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, HeadError> {
        let file = HeadFile { path };
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| file.broken(error.to_string()))?;
        let (weight, shape) = file.tensor(&tensors, &["linear.weight", "weight"])?;
        let &[slots, width] = shape.as_slice() else {
            return Err(file.broken(format!(
                "linear.weight has shape {shape:?}: it must be [slots, width]"
            )));
        };
        if slots < FEWEST || width == 0 {
            return Err(file.broken(format!(
                "linear.weight has shape {shape:?}: a head has 2 or more slots"
            )));
        }
        let vector = |names: &[&str], length: usize| {
            let (values, shape) = file.tensor(&tensors, names)?;
            if values.len() != length || shape.last() != Some(&length) {
                let name = names.first().unwrap_or(&"");
                return Err(file.broken(format!("{name} has shape {shape:?}: it must be [{length}]")));
            }
            Ok(values)
        };
        let deviation = vector(&["sd"], width)?;
        if let Some(place) = deviation.iter().position(|value| *value <= 0.0) {
            return Err(file.broken(format!(
                "sd[{place}] is {}: it must be positive",
                deviation[place]
            )));
        }
        Ok(Self {
            mean: vector(&["mu"], width)?,
            bias: vector(&["linear.bias", "bias"], slots)?,
            deviation,
            weight,
            fingerprint: hex::encode(Sha256::digest(bytes)),
        })
    }

    /// Width of the hidden states that it reads.
    pub fn width(&self) -> usize {
        self.mean.len()
    }

    /// Most options of one question.
    pub fn slots(&self) -> usize {
        self.bias.len()
    }

    /// sha256 (hex) of the head's file.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Refuses a question that the head has no slots for.
    ///
    /// # Errors
    /// `options` is less than 2 or more than the slots.
    pub fn check_options(&self, question: usize, options: usize) -> Result<(), HeadError> {
        if (FEWEST..=self.slots()).contains(&options) {
            return Ok(());
        }
        Err(HeadError::Slots {
            question,
            options,
            slots: self.slots(),
        })
    }

    /// Scores of the first `slots` slots, from a hidden state of [`Self::width`] numbers.
    ///
    /// # Errors
    /// The hidden state has another width, or there are fewer slots.
    pub fn scores(&self, hidden: &[f32], slots: usize) -> Result<Vec<f32>, HeadError> {
        if hidden.len() != self.width() {
            return Err(HeadError::Width {
                head: self.width(),
                model: hidden.len(),
            });
        }
        if slots > self.slots() {
            return Err(HeadError::Slots {
                question: 0,
                options: slots,
                slots: self.slots(),
            });
        }
        let normalised: Vec<f64> = hidden
            .iter()
            .zip(self.mean.iter().zip(&self.deviation))
            .map(|(value, (mean, deviation))| f64::from((value - mean) / deviation))
            .collect();
        Ok(self
            .weight
            .chunks_exact(self.width())
            .zip(&self.bias)
            .take(slots)
            .map(|(row, bias)| {
                let product: f64 = row.iter().zip(&normalised).map(|(w, x)| f64::from(*w) * x).sum();
                (product + f64::from(*bias)) as f32
            })
            .collect())
    }
}

/// The file that a head is read from, for messages.
struct HeadFile<'p> {
    path: &'p Path,
}

impl HeadFile<'_> {
    fn broken(&self, reason: String) -> HeadError {
        HeadError::HeadFile {
            path: PathBuf::from(self.path),
            reason,
        }
    }

    /// The first of `names` that the file has: its numbers and shape.
    fn tensor(&self, tensors: &SafeTensors<'_>, names: &[&str]) -> Result<(Vec<f32>, Vec<usize>), HeadError> {
        let found = names
            .iter()
            .find_map(|name| tensors.tensor(name).ok().map(|tensor| (name, tensor)));
        let Some((name, tensor)) = found else {
            return Err(self.broken(format!("it has no tensor {}", names.join(" or "))));
        };
        if tensor.dtype() != Dtype::F32 {
            return Err(self.broken(format!("{name} is {:?}: it must be F32", tensor.dtype())));
        }
        let values: Vec<f32> = tensor
            .data()
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect();
        if let Some(place) = values.iter().position(|value| !value.is_finite()) {
            return Err(self.broken(format!("{name} holds {} at place {place}", values[place])));
        }
        Ok((values, tensor.shape().to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use safetensors::tensor::TensorView;

    use super::*;

    type Tensors = Vec<(&'static str, Vec<usize>, Vec<f32>)>;

    fn tensors() -> Tensors {
        vec![
            ("mu", vec![1, 2], vec![1.0, -1.0]),
            ("sd", vec![1, 2], vec![2.0, 0.5]),
            ("linear.weight", vec![3, 2], vec![1.0, 0.0, 0.0, 1.0, -1.0, 2.0]),
            ("linear.bias", vec![3], vec![0.5, 0.0, -1.0]),
        ]
    }

    fn read(tensors: &Tensors) -> Result<SlotHead, HeadError> {
        let bytes: Vec<(&str, &Vec<usize>, Vec<u8>)> = tensors
            .iter()
            .map(|(name, shape, values)| {
                let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                (*name, shape, bytes)
            })
            .collect();
        let views: HashMap<_, _> = bytes
            .iter()
            .map(|(name, shape, bytes)| {
                (
                    *name,
                    TensorView::new(Dtype::F32, (*shape).clone(), bytes).unwrap(),
                )
            })
            .collect();
        SlotHead::from_bytes(Path::new("head"), &safetensors::serialize(&views, None).unwrap())
    }

    #[test]
    fn scores_by_hand() {
        let head = read(&tensors()).unwrap();
        assert_eq!((head.width(), head.slots()), (2, 3));
        // ((3 - 1) / 2, (0 + 1) / 0.5) = (1, 2)
        assert_eq!(head.scores(&[3.0, 0.0], 3).unwrap(), [1.5, 2.0, 2.0]);
        assert_eq!(head.scores(&[3.0, 0.0], 2).unwrap(), [1.5, 2.0]);
        assert!(head.scores(&[3.0], 2).is_err());
        assert!(head.scores(&[3.0, 0.0], 4).is_err());
        assert!(head.check_options(0, 3).is_ok());
        for options in [0, 1, 4] {
            let error = head.check_options(2, options).unwrap_err().to_string();
            assert!(
                error.contains("question 2") && error.contains("2 to 3"),
                "{error}"
            );
        }
    }

    #[test]
    fn damaged_heads_are_refused() {
        let change = |name: &str, shape: Vec<usize>, values: Vec<f32>| {
            let mut all = tensors();
            all.retain(|tensor| tensor.0 != name);
            let name = ["mu", "sd", "linear.weight", "linear.bias"]
                .into_iter()
                .find(|known| *known == name)
                .unwrap();
            if !values.is_empty() {
                all.push((name, shape, values));
            }
            read(&all).unwrap_err().to_string()
        };
        for (error, says) in [
            (change("mu", vec![], vec![]), "no tensor mu"),
            (change("linear.bias", vec![], vec![]), "linear.bias or bias"),
            (change("mu", vec![3], vec![0.0; 3]), "[2]"),
            (change("sd", vec![2], vec![1.0, 0.0]), "sd[1] is 0"),
            (change("sd", vec![2], vec![1.0, -1.0]), "positive"),
            (change("linear.weight", vec![6], vec![0.0; 6]), "[slots, width]"),
            (change("linear.weight", vec![1, 2], vec![0.0; 2]), "2 or more"),
            (
                change("linear.bias", vec![3], vec![0.0, f32::NAN, 0.0]),
                "NaN at place 1",
            ),
        ] {
            assert!(error.contains(says), "{error}");
        }
        assert!(SlotHead::from_bytes(Path::new("head"), &[0; 7]).is_err());
        assert!(SlotHead::open(Path::new("/no/such/head")).is_err());
    }
}
