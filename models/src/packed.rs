//! The packed form of a batch: a forest of token segments in one row axis, without padding.
//!
//! A request's state is a root segment, each question a child of it, each option text a child of its question.
//! A token attends to every token of its ancestors and to the earlier tokens of its own segment, and its position is
//! counted as if its path from the root stood alone. Requests that share a batch are separate trees.
//!
//! Pictures and sound take rows of their own, one for each soft token. The rows of one picture also see its later ones,
//! as far as the model's masks let them.

use std::ops::Range;
use std::sync::Arc;

use crate::{Medium, ModelError};

/// An index into the vocabulary.
pub type TokenId = u32;

/// Names a segment of a [`PackedBatch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentIndex(pub u32);

/// Names a row of the hidden states that a forward pass returns: the n-th read asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadIndex(pub u32);

/// A run of consecutive rows with one parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// First row in the packed batch.
    pub start: u32,
    /// Number of rows.
    pub len: u32,
    /// The segment that this one continues.
    pub parent: Option<SegmentIndex>,
    /// Position of the first row: 0 for a root, else the parent's first position plus its length.
    pub first_position: u32,
}

/// A piece of a segment.
#[derive(Debug, Clone)]
pub enum Part<'a> {
    /// Text.
    Tokens(&'a [TokenId]),
    /// A picture, a video frame or sound.
    Medium {
        /// The id that stands in [`PackedBatch::tokens`] for each of its soft tokens; its embedding is never used.
        placeholder: TokenId,
        /// What it is; shared, because it is large.
        medium: Arc<Medium>,
    },
}

/// A medium and its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedMedium {
    /// First row in the packed batch; one row for each soft token follows.
    pub start: u32,
    /// What it is.
    pub medium: Arc<Medium>,
}

impl PlacedMedium {
    /// Its rows.
    pub fn rows(&self) -> Range<u32> {
        self.start..self.start + self.medium.soft_tokens() as u32
    }
}

/// Token segments and the rows to read, for one forward pass.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PackedBatch {
    tokens: Vec<TokenId>,
    segments: Vec<Segment>,
    media: Vec<PlacedMedium>,
    reads: Vec<u32>,
}

impl PackedBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a segment under `parent` (a segment pushed earlier), or as a new root.
    ///
    /// # Errors
    /// `tokens` is empty, or `parent` names no segment of this batch.
    pub fn push_segment(
        &mut self,
        parent: Option<SegmentIndex>,
        tokens: &[TokenId],
    ) -> Result<SegmentIndex, ModelError> {
        self.push_parts(parent, &[Part::Tokens(tokens)])
    }

    /// Appends a segment of text and media under `parent` (a segment pushed earlier), or as a new root.
    ///
    /// Each medium is a block of its own: what marks its begin and end in the prompt is text beside it. Text parts may
    /// be empty as long as the segment is not.
    ///
    /// # Errors
    /// The segment has no rows, the batch would have more than 2^31 of them, or `parent` names no segment of this batch.
    pub fn push_parts(
        &mut self,
        parent: Option<SegmentIndex>,
        parts: &[Part<'_>],
    ) -> Result<SegmentIndex, ModelError> {
        let rows: usize = parts
            .iter()
            .map(|part| match part {
                Part::Tokens(tokens) => tokens.len(),
                Part::Medium { medium, .. } => medium.soft_tokens(),
            })
            .sum();
        if rows == 0 {
            return Err(ModelError::InvalidBatch("a segment has no tokens".into()));
        }
        if self.tokens.len() + rows > i32::MAX as usize {
            return Err(ModelError::InvalidBatch(format!(
                "{} rows in one batch",
                self.tokens.len() + rows
            )));
        }
        let first_position = match parent {
            None => 0,
            Some(index) => {
                let parent = self
                    .segments
                    .get(index.0 as usize)
                    .ok_or_else(|| ModelError::InvalidBatch(format!("no segment {}", index.0)))?;
                parent.first_position + parent.len
            }
        };
        let index = SegmentIndex(self.segments.len() as u32);
        self.segments.push(Segment {
            start: self.tokens.len() as u32,
            len: rows as u32,
            parent,
            first_position,
        });
        for part in parts {
            match part {
                Part::Tokens(tokens) => self.tokens.extend_from_slice(tokens),
                Part::Medium { placeholder, medium } => {
                    let start = self.tokens.len();
                    self.media.push(PlacedMedium {
                        start: start as u32,
                        medium: Arc::clone(medium),
                    });
                    self.tokens.resize(start + medium.soft_tokens(), *placeholder);
                }
            }
        }
        Ok(index)
    }

    /// Asks for the hidden state at token `offset` of `segment`. Asking twice for one row is allowed.
    ///
    /// # Errors
    /// `segment` or `offset` is out of range.
    pub fn read(&mut self, segment: SegmentIndex, offset: usize) -> Result<ReadIndex, ModelError> {
        let found = self
            .segments
            .get(segment.0 as usize)
            .ok_or_else(|| ModelError::InvalidBatch(format!("no segment {}", segment.0)))?;
        if offset >= found.len as usize {
            return Err(ModelError::InvalidBatch(format!(
                "offset {offset} in a segment of {} tokens",
                found.len
            )));
        }
        let index = ReadIndex(self.reads.len() as u32);
        self.reads.push(found.start + offset as u32);
        Ok(index)
    }

    /// Asks for the hidden state at the last token of `segment`.
    ///
    /// # Errors
    /// `segment` names no segment of this batch.
    pub fn read_last(&mut self, segment: SegmentIndex) -> Result<ReadIndex, ModelError> {
        let len = self
            .segments
            .get(segment.0 as usize)
            .map_or(1, |found| found.len as usize);
        self.read(segment, len - 1)
    }

    /// Token ids, one per row; rows of media hold their placeholder.
    pub fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// The segments, in the order they were pushed; their rows tile the batch.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The media, in the order of their rows.
    pub fn media(&self) -> &[PlacedMedium] {
        &self.media
    }

    /// Rows whose hidden states are wanted, in the order asked for.
    pub fn reads(&self) -> &[u32] {
        &self.reads
    }

    /// Position of every row.
    pub fn positions(&self) -> Vec<u32> {
        self.segments
            .iter()
            .flat_map(|segment| segment.first_position..segment.first_position + segment.len)
            .collect()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sound;

    fn sound(frames: usize) -> Arc<Medium> {
        Arc::new(Medium::Sound(Sound::new(vec![0.0; frames * 2], 2).unwrap()))
    }

    #[test]
    fn media_take_rows_between_text() {
        let mut batch = PackedBatch::new();
        let part = |frames| Part::Medium {
            placeholder: 9,
            medium: sound(frames),
        };
        let root = batch
            .push_parts(
                None,
                &[Part::Tokens(&[1, 2]), part(3), Part::Tokens(&[]), part(1)],
            )
            .unwrap();
        let child = batch.push_segment(Some(root), &[4]).unwrap();
        assert_eq!(batch.tokens(), [1, 2, 9, 9, 9, 9, 4]);
        let rows: Vec<_> = batch.media().iter().map(PlacedMedium::rows).collect();
        assert_eq!(rows, [2..5, 5..6]);
        assert_eq!(batch.segments()[child.0 as usize].first_position, 6);
        assert_eq!(batch.positions(), [0, 1, 2, 3, 4, 5, 6]);
        assert!(batch.push_parts(None, &[Part::Tokens(&[])]).is_err());
        assert!(batch.push_parts(None, &[]).is_err());
        assert!(batch.push_parts(Some(SegmentIndex(7)), &[part(1)]).is_err());
    }
}
