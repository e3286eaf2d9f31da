//! Whether the times in a track's tables can be true.

use std::collections::BTreeMap;

use super::TrackTables;
use super::tables::{Edit, Run};

/// The deepest reordering of pictures that codecs allow is 16; twice that, so that no odd encoder is blamed.
const REORDERED: i128 = 32;

/// How many samples an edit list leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct LeftOut {
    at_start: i128,
    /// At the end, and between two edits.
    behind: i128,
}

impl TrackTables {
    /// What is wrong with the tables of a track, by [`Self::of`] and [`Self::fault`].
    pub(crate) fn fault_of(file: &[u8], track: i32) -> Option<String> {
        match Self::of(file, track) {
            Ok(tables) => tables.and_then(|tables| tables.fault()),
            Err(name) => Some(format!("its track has no table `{name}`")),
        }
    }

    /// What contradicts itself in the tables, or what they leave in doubt, in words; `None` if nothing.
    pub(crate) fn fault(&self) -> Option<String> {
        self.contradiction().or_else(|| {
            let left_out = self.left_out();
            // A time scale that is wrong, of the track or of the film, looks the same as a film that was cut short.
            (left_out.behind > self.reordered()).then(|| {
                format!(
                    "its edit list leaves out {} of {} samples at the end, and whether that or its time scales ({} and {} \
                     units a second) are wrong cannot be told",
                    left_out.behind, self.samples, self.scale, self.film_scale
                )
            })
        })
    }

    /// Samples at the end that an edit list may leave out: those that were stored for the sake of others, as far as
    /// reordering, or a codec that overlaps its packets, asks for any.
    fn reordered(&self) -> i128 {
        let delay = i128::from(self.delays.1) / i128::from(self.usual_duration().max(1));
        delay.max(1).min(i128::from((self.samples / 8).clamp(1, 4)))
    }

    fn contradiction(&self) -> Option<String> {
        if self.scale == 0 || (self.film_scale == 0 && !self.edits.is_empty()) {
            return Some("its time scale is 0 units a second".to_owned());
        }
        if self.timed != u64::from(self.samples) {
            return Some(format!(
                "it has {} samples and durations (`stts`) for {}",
                self.samples, self.timed
            ));
        }
        if self.in_chunks.is_some_and(|held| held != u64::from(self.samples)) {
            return Some(format!(
                "it has {} samples and chunks (`stsc`) that hold {}",
                self.samples,
                self.in_chunks.unwrap_or_default()
            ));
        }
        let unlike = |what: &str| {
            Some(format!(
                "the durations of its samples (`stts`) add up to {} units of 1/{} s, which {what} contradicts",
                self.length, self.scale
            ))
        };
        let left_out = self.left_out();
        if left_out != LeftOut::default() {
            if self.delayed.is_some_and(|delayed| delayed != self.timed) || self.out_of_order() {
                return unlike("the order of showing (`ctts`)");
            }
            if self.media_duration.is_some_and(|declared| !self.fits(declared)) {
                return unlike("the length in `mdhd`");
            }
            // It would show what is not there. Writers round to whole units of the film.
            let behind = self.edits_end().saturating_sub(self.end());
            let slack = self.in_track_units(1) + 1 + i128::from(self.usual_duration() / 2);
            if left_out.at_start > 0 && self.shown().is_some() && behind > slack {
                return unlike("the edit list");
            }
        }
        // The header may be wrong about lengths that nothing hangs on, so long as one of them is right.
        match self.shown() {
            Some(shown) if self.samples > 1 && shown > 2 * self.spread() => {
                unlike("the length of what is shown")
            }
            Some(shown) if self.edits.is_empty() && 2 * shown < self.spread() => {
                unlike("the length of what is shown")
            }
            None if self.media_duration.is_some_and(|declared| !self.fits(declared)) => {
                unlike("the length in `mdhd`")
            }
            _ => None,
        }
    }

    /// Whether the samples last as long as `declared`, with or without what reordering adds.
    fn fits(&self, declared: u64) -> bool {
        let slack = 2 * i128::from(self.usual_duration());
        let (least, most) = (self.length.min(self.spread()), self.length.max(self.end()));
        let declared = i128::from(declared);
        10 * (declared + slack) >= 9 * least && 10 * (declared - slack) <= 11 * most
    }

    /// Whether some samples are shown so much later than decoded that no codec does it.
    fn out_of_order(&self) -> bool {
        let (least, most) = self.delays;
        let longest = self.runs.iter().map(|run| run.each).max().unwrap_or(0);
        i128::from(most) - i128::from(least) > REORDERED * i128::from(longest)
    }

    /// When the last sample ends.
    fn end(&self) -> i128 {
        let ends = self.runs.iter().map(|run| run.start + run.length());
        ends.max().unwrap_or(0)
    }

    /// From the start of the first sample to the end of the last one, in the order of showing.
    fn spread(&self) -> i128 {
        self.end() - self.runs.iter().map(|run| run.start).min().unwrap_or(0)
    }

    /// The duration that most samples have.
    fn usual_duration(&self) -> u32 {
        let mut counts = BTreeMap::new();
        for run in &self.runs {
            *counts.entry(run.each).or_insert(0_u64) += u64::from(run.samples);
        }
        let usual = counts.into_iter().max_by_key(|(_, count)| *count);
        usual.map_or(0, |(each, _)| each)
    }

    /// The length of what is shown, in units of the track; `None` if the header does not say.
    fn shown(&self) -> Option<i128> {
        if self.edits.is_empty() {
            return self.shown_duration.map(|d| self.in_track_units(d));
        }
        let all = self.edits.iter().map(|edit| edit.duration);
        all.map(|d| (d > 0).then(|| self.in_track_units(d))).sum()
    }

    fn in_track_units(&self, film: u64) -> i128 {
        i128::from(film) * i128::from(self.scale) / i128::from(self.film_scale.max(1))
    }

    /// An edit as a stretch of the track, in its units.
    fn stretch(&self, edit: Edit) -> (i128, i128) {
        let start = i128::from(edit.start);
        match edit.duration {
            0 => (start, i128::MAX),
            duration => (start, start + self.in_track_units(duration)),
        }
    }

    fn edits_end(&self) -> i128 {
        self.edits
            .iter()
            .map(|edit| self.stretch(*edit).1)
            .max()
            .unwrap_or(i128::MAX)
    }

    fn left_out(&self) -> LeftOut {
        let mut stretches: Vec<_> = self.edits.iter().map(|edit| self.stretch(*edit)).collect();
        stretches.sort_unstable();
        let Some((start, _)) = stretches.first().copied() else {
            return LeftOut::default();
        };
        let before = |time: i128| -> i128 { self.runs.iter().map(|run| run.before(time)).sum() };
        let mut kept = 0;
        // Two edits may show the same stretch.
        let mut reached = start;
        for (start, end) in stretches {
            let start = start.max(reached);
            kept += (before(end) - before(start)).max(0);
            reached = reached.max(end);
        }
        let at_start = before(start);
        LeftOut {
            at_start,
            behind: i128::from(self.timed) - at_start - kept,
        }
    }
}

impl Run {
    fn length(self) -> i128 {
        i128::from(self.samples) * i128::from(self.each)
    }

    /// How many of its samples are shown before `time`.
    fn before(self, time: i128) -> i128 {
        let all = i128::from(self.samples);
        match i128::from(self.each) {
            0 if self.start < time => all,
            0 => 0,
            each => (time.saturating_sub(self.start) + each - 1)
                .clamp(0, all * each)
                .div_euclid(each),
        }
    }
}
