//! Where in a body something stands, for messages (`questions[0].options`) and for `loc` lists.

use std::fmt;

/// One step into a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A key of an object.
    Key(String),
    /// A place in an array.
    Index(usize),
}

/// A path into the body; empty for the body itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place(Vec<Step>);

impl Place {
    /// The body itself.
    pub fn body() -> Self {
        Self::default()
    }

    /// The place of a key inside this one.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Key(key.into()));
        Self(steps)
    }

    /// The place of an item inside this one.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Index(index));
        Self(steps)
    }

    /// The steps, outermost first.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether this is the body itself.
    pub fn is_body(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Vec<Step>> for Place {
    fn from(steps: Vec<Step>) -> Self {
        Self(steps)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if depth == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}
