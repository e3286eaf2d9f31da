//! The output matrix: logits of hidden states, and their log-normaliser, without keeping the logits.

use super::elementary::exp;
use super::matrix::{Form, LeftRows, PackedMatrix, multiply};
use super::quantised_rows::{QuantisedRows, RowShape};
use super::{Isa, PANEL, Parallel, SharedMut, per_isa};

/// The arithmetic of logits.
#[derive(Clone, Copy)]
pub(crate) struct OutputHead<'a> {
    pub(crate) isa: Isa,
    /// `[vocabulary, width]`
    pub(crate) matrix: PackedMatrix<'a>,
    /// c of c * tanh(logit / c), where the model has it.
    pub(crate) softcap: Option<f32>,
}

impl OutputHead<'_> {
    fn capped(&self, logit: f32) -> f32 {
        match self.softcap {
            Some(cap) => cap * (logit / cap).tanh(),
            None => logit,
        }
    }

    /// The logit of one token for one hidden state, from the token's own row; `buffer` is `width` long.
    pub(crate) fn logit(&self, hidden: &[f32], token: usize, buffer: &mut [f32]) -> f32 {
        self.matrix.row(token, buffer);
        let sum: f64 = buffer
            .iter()
            .zip(hidden)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum();
        self.capped(sum as f32)
    }

    /// All logits, `[rows, vocabulary]`.
    pub(crate) fn logits(&self, parallel: &dyn Parallel, hidden: &[f32], out: &mut [f32]) {
        let vocabulary = self.matrix.layout().columns;
        let places = SharedMut::new(out);
        self.each_panel(parallel, hidden, |row, first, logits| {
            // SAFETY: each tile writes its own tokens of its own rows only.
            let place = unsafe { places.slice_mut(row * vocabulary + first, logits.len()) };
            for (place, logit) in place.iter_mut().zip(logits) {
                *place = self.capped(*logit);
            }
        });
    }

    /// log sum exp over the vocabulary for each row of `hidden`.
    pub(crate) fn log_normalizers(&self, parallel: &dyn Parallel, hidden: &[f32], out: &mut [f32]) {
        let panels = self.matrix.layout().panels();
        let mut parts = vec![(f32::NEG_INFINITY, 0f32); panels * out.len()];
        let places = SharedMut::new(&mut parts);
        self.each_panel(parallel, hidden, |row, first, logits| {
            let mut capped = [f32::NEG_INFINITY; PANEL];
            for (capped, logit) in capped.iter_mut().zip(logits) {
                *capped = self.capped(*logit);
            }
            // SAFETY: each tile writes its own parts only.
            let part = unsafe { places.slice_mut(row * panels + first / PANEL, 1) };
            part[0] = largest_and_sum(self.isa, &capped);
        });
        for (out, parts) in out.iter_mut().zip(parts.chunks_exact(panels)) {
            let largest = parts.iter().fold(f32::NEG_INFINITY, |a, part| a.max(part.0));
            let sum: f64 = parts
                .iter()
                .map(|part| f64::from(part.1) * f64::from(part.0 - largest).exp())
                .sum();
            *out = (f64::from(largest) + sum.ln()) as f32;
        }
    }

    /// Calls `sink(row, first token, logits)` for every hidden state and panel of the vocabulary.
    fn each_panel(
        &self,
        parallel: &dyn Parallel,
        hidden: &[f32],
        sink: impl Fn(usize, usize, &[f32]) + Sync,
    ) {
        let layout = self.matrix.layout();
        let rows = hidden.len() / layout.depth;
        let mut quantised = QuantisedRows::default();
        let left = match layout.form {
            Form::Float32 => LeftRows::Float32(hidden),
            Form::Int8 { group } => {
                let shape = RowShape {
                    isa: self.isa,
                    depth: layout.depth,
                    group,
                };
                quantised.fill(parallel, shape, rows, |row, place| {
                    place.copy_from_slice(&hidden[row * layout.depth..][..layout.depth])
                });
                LeftRows::Int8(&quantised)
            }
        };
        multiply(
            parallel,
            self.isa,
            left,
            rows,
            self.matrix,
            |row, first, values| {
                sink(row, first, &values[..PANEL.min(layout.columns - first)]);
            },
        );
    }
}

per_isa! {
    /// The largest logit and the sum of e^(logit - largest).
    fn largest_and_sum(logits: &[f32; PANEL]) -> (f32, f32) = largest_and_sum_body
}

#[inline(always)]
fn largest_and_sum_body<const FMA: bool>(logits: &[f32; PANEL]) -> (f32, f32) {
    let (chunks, _) = logits.as_chunks::<16>();
    let mut tops = [f32::NEG_INFINITY; 16];
    for chunk in chunks {
        for (top, logit) in tops.iter_mut().zip(chunk) {
            *top = if *logit > *top { *logit } else { *top };
        }
    }
    let largest = tops.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
    let mut lanes = [0f32; 16];
    for chunk in chunks {
        for (lane, logit) in lanes.iter_mut().zip(chunk) {
            *lane += exp::<FMA>(*logit - largest);
        }
    }
    (largest, lanes.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::matrix::Layout;
    use crate::kernels::parallel::Serial;

    #[test]
    fn normalizers_equal_the_log_of_the_sum() {
        let (vocabulary, width, rows) = (1000, 72, 7);
        let matrix: Vec<f32> = (0..vocabulary * width)
            .map(|i| ((i * 7919 % 2003) as f32 - 1001.0) / 900.0)
            .collect();
        let hidden: Vec<f32> = (0..rows * width)
            .map(|i| ((i * 104_729 % 997) as f32 - 498.0) / 300.0)
            .collect();
        for (form, isa) in [Form::Float32, Form::Int8 { group: 32 }]
            .into_iter()
            .flat_map(|form| Isa::available().into_iter().map(move |isa| (form, isa)))
        {
            let layout = Layout {
                form,
                columns: vocabulary,
                depth: width,
            };
            let mut bytes = vec![0u8; layout.bytes()];
            layout.pack(&matrix, &mut bytes);
            let packed = PackedMatrix::new(layout, &bytes);
            let head = OutputHead {
                isa,
                matrix: packed,
                softcap: Some(30.0),
            };
            let mut logits = vec![0f32; rows * vocabulary];
            head.logits(&Serial, &hidden, &mut logits);
            let mut normalizers = vec![0f32; rows];
            head.log_normalizers(&Serial, &hidden, &mut normalizers);
            let mut buffer = vec![0f32; width];
            let mut weights = vec![0f32; width];
            for row in 0..rows {
                let mut sum = 0f64;
                let hidden = &hidden[row * width..(row + 1) * width];
                for token in 0..vocabulary {
                    packed.row(token, &mut weights);
                    let exact: f64 = weights
                        .iter()
                        .zip(hidden)
                        .map(|(a, b)| f64::from(*a) * f64::from(*b))
                        .sum();
                    let exact = 30.0 * (exact / 30.0).tanh();
                    let got = f64::from(logits[row * vocabulary + token]);
                    assert!((got - exact).abs() < 2e-3, "{form:?} {isa:?}: {got} {exact}");
                    let alone = f64::from(head.logit(hidden, token, &mut buffer));
                    assert!((alone - exact).abs() < 1e-5);
                    sum += exact.exp();
                }
                assert!(
                    (f64::from(normalizers[row]) - sum.ln()).abs() < 3e-4,
                    "{form:?} {isa:?}"
                );
            }
        }
    }
}
