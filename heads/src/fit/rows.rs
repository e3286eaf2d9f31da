//! What a head is fitted on.

use crate::HeadError;

/// Hidden states with their gold options.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HiddenRows {
    width: usize,
    options: usize,
    values: Vec<f32>,
    gold: Vec<usize>,
    groups: Vec<String>,
}

impl HiddenRows {
    /// No rows yet: hidden states of `width` numbers, gold options below `options`.
    ///
    /// # Errors
    /// A width of 0, or fewer than 2 options.
    pub fn new(width: usize, options: usize) -> Result<Self, HeadError> {
        if width == 0 || options < 2 {
            return Err(HeadError::Fit(format!(
                "hidden states of {width} numbers and {options} options: a head reads at least 1 number and 2 options"
            )));
        }
        Ok(Self {
            width,
            options,
            ..Self::default()
        })
    }

    /// Adds a row. Rows of one group (one text, one author) are never divided between folds.
    ///
    /// # Errors
    /// The hidden state has another width or a number that is not finite, or there is no such option.
    pub fn push(&mut self, hidden: &[f32], gold: usize, group: &str) -> Result<(), HeadError> {
        let row = self.len();
        if hidden.len() != self.width {
            return Err(HeadError::Width {
                head: self.width,
                model: hidden.len(),
            });
        }
        if let Some(value) = hidden.iter().find(|value| !value.is_finite()) {
            return Err(HeadError::Fit(format!(
                "row {row}: its hidden state holds {value}; the model or its engine is at fault"
            )));
        }
        if gold >= self.options {
            return Err(HeadError::Fit(format!(
                "row {row}: gold option {gold} of {} options",
                self.options
            )));
        }
        self.values.extend_from_slice(hidden);
        self.gold.push(gold);
        self.groups.push(group.to_owned());
        Ok(())
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.gold.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.gold.is_empty()
    }

    /// Numbers of one hidden state.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of options.
    pub fn options(&self) -> usize {
        self.options
    }

    /// The gold option of each row.
    pub fn gold(&self) -> &[usize] {
        &self.gold
    }

    /// The group of each row.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// The hidden states, one after the other.
    pub fn hidden(&self) -> impl Iterator<Item = &[f32]> + Clone {
        self.values.chunks_exact(self.width.max(1))
    }

    /// Rows of each option.
    pub fn per_option(&self) -> Vec<usize> {
        let mut counts = vec![0; self.options];
        for gold in &self.gold {
            if let Some(count) = counts.get_mut(*gold) {
                *count += 1;
            }
        }
        counts
    }

    /// The rows for which `keep` holds, by index.
    pub(super) fn select(&self, keep: impl Fn(usize) -> bool) -> Self {
        let mut part = Self {
            width: self.width,
            options: self.options,
            ..Self::default()
        };
        let rows = self.hidden().zip(&self.gold).zip(&self.groups).enumerate();
        for (_, ((hidden, gold), group)) in rows.filter(|(row, _)| keep(*row)) {
            part.values.extend_from_slice(hidden);
            part.gold.push(*gold);
            part.groups.push(group.clone());
        }
        part
    }
}
