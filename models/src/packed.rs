//! The packed form of a batch: a forest of token segments in one row axis, without padding.
//!
//! A request's state is a root segment, each question a child of it, each option text a child of its question.
//! A token attends to every token of its ancestors and to the earlier tokens of its own segment, and its position is
//! counted as if its path from the root stood alone. Requests that share a batch are separate trees.

use crate::ModelError;

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

/// Token segments and the rows to read, for one forward pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackedBatch {
    tokens: Vec<TokenId>,
    segments: Vec<Segment>,
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
        if tokens.is_empty() {
            return Err(ModelError::InvalidBatch("a segment has no tokens".into()));
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
            len: tokens.len() as u32,
            parent,
            first_position,
        });
        self.tokens.extend_from_slice(tokens);
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

    /// Token ids, one per row.
    pub fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// The segments, in the order they were pushed; their rows tile the batch.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
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
