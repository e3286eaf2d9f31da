//! MP4 and MOV: whether the tables of a track agree with each other on when its samples are shown, and which.
//!
//! An edit list leaves samples out by their times, so that a time scale or a duration that is not true makes a demuxer drop
//! most of a film without a word.

mod boxes;
mod tables;
mod timing;

pub(crate) use tables::TrackTables;
