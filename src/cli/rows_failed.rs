//! The end of a command that did its work, but for some rows.

use assize::evaluation::rows::RowFault;

/// Faults that are shown one by one.
const SHOWN: usize = 10;

/// Some rows failed, and all others were dealt with: exit code 3.
#[derive(Debug, thiserror::Error)]
#[error("{failed} of {all} rows failed and are in no figure: {first}")]
pub struct RowsFailed {
    failed: usize,
    all: usize,
    first: String,
}

impl RowsFailed {
    /// The error of these faults; none where there are none.
    pub(super) fn check(faults: &[RowFault], good: usize) -> anyhow::Result<()> {
        if faults.is_empty() {
            return Ok(());
        }
        let mut shown: Vec<String> = faults.iter().take(SHOWN).map(ToString::to_string).collect();
        if faults.len() > SHOWN {
            shown.push(format!("and {} more", faults.len() - SHOWN));
        }
        Err(Self {
            failed: faults.len(),
            all: faults.len() + good,
            first: shown.join("; "),
        }
        .into())
    }
}
