//! `--image`, `--audio` and `--video`: media files, in the order in which the flags stand.

use std::path::PathBuf;

use anyhow::Context as _;
use assize::service::{MediumKind, RawMedium};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::bounded_file;

const FLAGS: [(MediumKind, &str); 3] = [
    (
        MediumKind::Image,
        "A picture that belongs to the text; give several. Media are read before the text, in the order of their flags",
    ),
    (
        MediumKind::Audio,
        "A sound that belongs to the text; give several",
    ),
    (
        MediumKind::Video,
        "A video that belongs to the text; give several",
    ),
];

/// Largest file that is read: the most that any kind of medium may have.
const MOST_BYTES: u64 = 512 << 20;

/// The files that were named, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct MediaFiles {
    files: Vec<(MediumKind, PathBuf)>,
}

impl MediaFiles {
    /// Reads every file.
    ///
    /// # Errors
    /// A file cannot be read; the text names its flag.
    pub(super) fn read(&self) -> anyhow::Result<Vec<RawMedium>> {
        let read = |(kind, path): &(MediumKind, PathBuf)| {
            let bytes = bounded_file::read(path, MOST_BYTES)
                .with_context(|| format!("--{} {}", kind.name(), path.display()))?;
            Ok(RawMedium {
                kind: *kind,
                bytes: bytes.into(),
            })
        };
        self.files.iter().map(read).collect()
    }

    /// The flag and file of one medium, for messages.
    pub(super) fn flag(&self, index: usize) -> String {
        let file = self.files.get(index);
        file.map_or_else(String::new, |(kind, path)| {
            format!("--{} {}", kind.name(), path.display())
        })
    }
}

impl Args for MediaFiles {
    fn augment_args(command: Command) -> Command {
        let flag = |(kind, help): (MediumKind, &'static str)| {
            Arg::new(kind.name())
                .long(kind.name())
                .value_name("FILE")
                .help(help)
                .action(ArgAction::Append)
                .value_parser(value_parser!(PathBuf))
        };
        command.args(FLAGS.map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for MediaFiles {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut placed: Vec<(usize, MediumKind, PathBuf)> = Vec::new();
        for (kind, _) in FLAGS {
            let places = matches.indices_of(kind.name()).into_iter().flatten();
            let paths = matches.get_many::<PathBuf>(kind.name()).into_iter().flatten();
            placed.extend(places.zip(paths).map(|(place, path)| (place, kind, path.clone())));
        }
        placed.sort_by_key(|(place, ..)| *place);
        Ok(Self {
            files: placed.into_iter().map(|(_, kind, path)| (kind, path)).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_the_order_of_their_flags() {
        let command = MediaFiles::augment_args(Command::new("test"));
        let line = [
            "test",
            "--audio",
            "1",
            "--image",
            "2",
            "--audio=3",
            "--image",
            "4",
        ];
        let matches = command.try_get_matches_from(line).unwrap();
        let files = MediaFiles::from_arg_matches(&matches).unwrap();
        let flags: Vec<_> = (0..5).map(|index| files.flag(index)).collect();
        assert_eq!(flags, ["--audio 1", "--image 2", "--audio 3", "--image 4", ""]);
        assert!(files.read().unwrap_err().to_string().contains("--audio 1"));
    }
}
