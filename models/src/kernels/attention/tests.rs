//! Attention against the plain sum over a path, and one path against the same path in a forest.

use std::sync::Arc;

use super::*;
use crate::kernels::parallel::Serial;
use crate::{Medium, PackedBatch, Part, PatchPosition, PatchValues, Picture, PlacedMedium};

struct Case {
    shape: AttentionShape,
    batch: PackedBatch,
    joined: Vec<f32>,
    angles: Vec<f32>,
    pictures: Vec<Range<u32>>,
}

impl Case {
    fn new(batch: PackedBatch, heads: usize, kv_heads: usize, dim: usize, window: Option<usize>) -> Self {
        let shape = AttentionShape {
            heads,
            kv_heads,
            head_dim: dim,
            scale: 0.3,
            window,
            epsilon: 1e-6,
            query_norm: None,
            key_norm: None,
            value_norm: false,
            sight: PictureSight::Causal,
        };
        let width = (heads + 2 * kv_heads) * dim;
        let joined = batch
            .tokens()
            .iter()
            .zip(batch.positions())
            .flat_map(|(token, position)| {
                let seed = *token as usize * 7919 + position as usize * 104_729;
                (0..width).map(move |i| ((seed + i * 15_485_863) % 2003) as f32 / 700.0 - 1.4)
            })
            .collect();
        let angles = batch
            .positions()
            .iter()
            .flat_map(|position| (0..dim / 2).map(move |j| *position as f32 * 0.37f32.powi(j as i32)))
            .collect();
        Self {
            shape,
            batch,
            joined,
            angles,
            pictures: Vec::new(),
        }
    }

    /// The same rows, with the batch's media as pictures that see themselves.
    fn with_sight(mut self, sight: PictureSight) -> Self {
        self.pictures = self.batch.media().iter().map(PlacedMedium::rows).collect();
        self.shape.sight = sight;
        self
    }

    fn run(&self, isa: Isa, rows: &[u32]) -> Vec<f32> {
        let (query, key) = (
            self.shape.heads * self.shape.head_dim,
            self.shape.kv_heads * self.shape.head_dim,
        );
        let stride = query + 2 * key;
        let queries: Vec<f32> = rows
            .iter()
            .flat_map(|row| self.joined[*row as usize * stride..][..query].to_vec())
            .collect();
        let cos: Vec<f32> = self.angles.iter().map(|angle| angle.cos()).collect();
        let sin: Vec<f32> = self.angles.iter().map(|angle| angle.sin()).collect();
        let inputs = AttentionInputs {
            queries: Columns {
                values: &queries,
                stride: query,
                offset: 0,
            },
            keys: Columns {
                values: &self.joined,
                stride,
                offset: query,
            },
            values: Columns {
                values: &self.joined,
                stride,
                offset: query + key,
            },
            query_rows: rows,
            segments: self.batch.segments(),
            pictures: &self.pictures,
            cos: &cos,
            sin: &sin,
        };
        let mut out = vec![f32::NAN; rows.len() * query];
        attend(&Serial, isa, &self.shape, &inputs, &mut Vec::new(), &mut out);
        out
    }

    /// Rows that `row` sees, by the definition: its ancestors' rows and its own segment up to itself.
    fn seen(&self, row: usize) -> Vec<usize> {
        let segments = self.batch.segments();
        let owner = segments
            .iter()
            .position(|s| (s.start..s.start + s.len).contains(&(row as u32)))
            .unwrap();
        let mut seen: Vec<usize> = (segments[owner].start as usize..=row).collect();
        let mut next = segments[owner].parent;
        while let Some(parent) = next {
            let parent = &segments[parent.0 as usize];
            seen.extend(parent.start as usize..(parent.start + parent.len) as usize);
            next = parent.parent;
        }
        let positions = self.batch.positions();
        let window = self.shape.window.unwrap_or(usize::MAX);
        seen.retain(|other| ((positions[row] - positions[*other]) as usize) < window);
        let picture = self
            .pictures
            .iter()
            .find(|picture| picture.contains(&(row as u32)));
        if let Some(picture) = picture {
            let all = picture.start as usize..picture.end as usize;
            seen.extend(all.filter(|other| match self.shape.sight {
                PictureSight::Causal => false,
                PictureSight::Windowed => *other > row,
                PictureSight::Whole => {
                    *other > row || (positions[row] - positions[*other]) as usize >= window
                }
            }));
        }
        seen
    }

    fn plain(&self, row: usize) -> Vec<f64> {
        let (shape, dim) = (&self.shape, self.shape.head_dim);
        let (query, key) = (shape.heads * dim, shape.kv_heads * dim);
        let stride = query + 2 * key;
        let rotated = |row: usize, offset: usize| -> Vec<f64> {
            let source = &self.joined[row * stride + offset..][..dim];
            let half = dim / 2;
            (0..dim)
                .map(|j| {
                    let (sin, cos) = f64::from(self.angles[row * half + j % half]).sin_cos();
                    let (a, b) = (f64::from(source[j % half]), f64::from(source[j % half + half]));
                    if j < half {
                        a * cos - b * sin
                    } else {
                        b * cos + a * sin
                    }
                })
                .collect()
        };
        let seen = self.seen(row);
        let mut out = Vec::new();
        for head in 0..shape.heads {
            let kv = head / (shape.heads / shape.kv_heads);
            let q = rotated(row, head * dim);
            let scores: Vec<f64> = seen
                .iter()
                .map(|other| {
                    let k = rotated(*other, query + kv * dim);
                    q.iter().zip(&k).map(|(a, b)| a * b).sum::<f64>() * f64::from(shape.scale)
                })
                .collect();
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
            let total: f64 = weights.iter().sum();
            out.extend((0..dim).map(|j| {
                let value =
                    |other: usize| f64::from(self.joined[other * stride + query + key + kv * dim + j]);
                seen.iter()
                    .zip(&weights)
                    .map(|(other, weight)| weight * value(*other))
                    .sum::<f64>()
                    / total
            }));
        }
        out
    }
}

fn tokens(count: usize, seed: u32) -> Vec<u32> {
    (0..count as u32).map(|i| (i * 31 + seed) % 97).collect()
}

/// Two trees: a long state with short and long questions and options, and a short one.
fn forest() -> PackedBatch {
    let mut batch = PackedBatch::new();
    let state = batch.push_segment(None, &tokens(300, 1)).unwrap();
    for (index, len) in [5usize, 7, 40, 1].into_iter().enumerate() {
        let question = batch
            .push_segment(Some(state), &tokens(len, index as u32))
            .unwrap();
        for option in 0..3 {
            batch
                .push_segment(Some(question), &tokens(2 + option, option as u32))
                .unwrap();
        }
    }
    batch.push_segment(None, &tokens(9, 5)).unwrap();
    batch.push_segment(None, &tokens(70, 6)).unwrap();
    batch
}

#[test]
fn every_row_equals_the_plain_sum_over_its_path() {
    for (heads, kv_heads, dim, window) in [
        (9, 3, 64, None),
        (4, 1, 24, Some(16)),
        (2, 2, 96, Some(260)),
        (1, 1, 16, Some(1)),
    ] {
        let case = Case::new(forest(), heads, kv_heads, dim, window);
        let rows: Vec<u32> = (0..case.batch.len() as u32).collect();
        for isa in Isa::available() {
            let out = case.run(isa, &rows);
            // The long state is checked in part, everything after it row by row.
            let checked = |row: &usize| *row >= 290 || row.is_multiple_of(7);
            for (row, got) in out
                .chunks_exact(heads * dim)
                .enumerate()
                .filter(|(row, _)| checked(row))
            {
                for (got, expected) in got.iter().zip(case.plain(row)) {
                    assert!(
                        (f64::from(*got) - expected).abs() < 2e-5,
                        "{isa:?} {heads} {dim} {window:?} row {row}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_path_alone_gives_the_same_bits_as_in_a_forest() {
    let mut alone = PackedBatch::new();
    let state = alone.push_segment(None, &tokens(300, 1)).unwrap();
    let question = alone.push_segment(Some(state), &tokens(40, 2)).unwrap();
    alone.push_segment(Some(question), &tokens(4, 2)).unwrap();
    for isa in Isa::available() {
        let together = Case::new(forest(), 4, 2, 32, Some(200));
        let single = Case::new(alone.clone(), 4, 2, 32, Some(200));
        let segments = together.batch.segments();
        // The third question and its third option.
        let (question, option) = (segments[9], segments[12]);
        let rows: Vec<u32> = (0..300)
            .chain(question.start..question.start + question.len)
            .chain(option.start..option.start + option.len)
            .collect();
        let all: Vec<u32> = (0..together.batch.len() as u32).collect();
        let out = together.run(isa, &all);
        let expected: Vec<f32> = rows
            .iter()
            .flat_map(|row| out[*row as usize * 128..][..128].to_vec())
            .collect();
        let own: Vec<u32> = (0..single.batch.len() as u32).collect();
        assert_eq!(single.run(isa, &own), expected, "{isa:?}");
    }
}

fn picture(patches: u32) -> Part<'static> {
    let positions = (0..patches).map(|x| PatchPosition { x, y: 0 }).collect();
    let values = PatchValues::Floats(vec![0.5; patches as usize]);
    Part::Medium {
        placeholder: 7,
        medium: Arc::new(Medium::Picture(Picture::new(values, positions).unwrap())),
    }
}

/// Pictures wider and narrower than windows, first and last in their segment, in a state and in a question.
fn illustrated() -> PackedBatch {
    let mut batch = PackedBatch::new();
    let (some, more) = (tokens(9, 1), tokens(30, 2));
    let parts = [
        picture(70),
        Part::Tokens(&some),
        picture(5),
        Part::Tokens(&more),
        picture(280),
    ];
    let state = batch.push_parts(None, &parts).unwrap();
    for len in [3, 40] {
        batch.push_segment(Some(state), &tokens(len, 4)).unwrap();
    }
    let question = [Part::Tokens(&some), picture(20), picture(6), Part::Tokens(&some)];
    batch.push_parts(Some(state), &question).unwrap();
    batch.push_parts(None, &[picture(12)]).unwrap();
    batch
}

#[test]
fn pictures_see_themselves_as_their_layer_says() {
    for sight in [PictureSight::Causal, PictureSight::Windowed, PictureSight::Whole] {
        for window in [None, Some(16), Some(128)] {
            let case = Case::new(illustrated(), 4, 2, 16, window).with_sight(sight);
            let rows: Vec<u32> = (0..case.batch.len() as u32).collect();
            for isa in Isa::available() {
                let out = case.run(isa, &rows);
                for (row, got) in out.chunks_exact(64).enumerate().step_by(3) {
                    for (got, expected) in got.iter().zip(case.plain(row)) {
                        assert!(
                            (f64::from(*got) - expected).abs() < 2e-5,
                            "{isa:?} {sight:?} {window:?} row {row}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_few_reads_in_a_picture_equal_all_rows() {
    let case = Case::new(illustrated(), 4, 1, 32, Some(20)).with_sight(PictureSight::Whole);
    let all: Vec<u32> = (0..case.batch.len() as u32).collect();
    let out = case.run(Isa::detect(), &all);
    let few = [400u32, 0, 69, 200, 75];
    let found = case.run(Isa::detect(), &few);
    for (row, found) in few.iter().zip(found.chunks_exact(128)) {
        assert_eq!(found, &out[*row as usize * 128..][..128], "row {row}");
    }
}

#[test]
fn values_pass_their_norm() {
    let mut case = Case::new(forest(), 2, 1, 16, None);
    case.shape.value_norm = true;
    let rows: Vec<u32> = (0..case.batch.len() as u32).collect();
    let found = case.run(Isa::detect(), &rows);
    // The same by hand: normalise the value columns first.
    let mut plain = case;
    plain.shape.value_norm = false;
    for row in plain.joined.chunks_exact_mut(4 * 16) {
        let value = &mut row[3 * 16..];
        let mean = value.iter().map(|x| x * x).sum::<f32>() / 16.0;
        value.iter_mut().for_each(|x| *x /= (mean + 1e-6).sqrt());
    }
    for (found, wanted) in found.iter().zip(plain.run(Isa::detect(), &rows)) {
        assert!((found - wanted).abs() < 1e-5);
    }
}
