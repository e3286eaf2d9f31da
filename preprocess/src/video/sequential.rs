//! Decoding everything: the only way where packets do not tell the frames, and what the faster way is tested against.

use ffmpeg_next::Packet;

use super::track::{Decoded, PictureDecoder, THREADS, VideoTrack};
use super::{FrameTime, Map, SampledFrame, VideoError, sampled_index};

/// How many frames decoding gives, with the times of the first and the last one.
///
/// # Errors
///
/// Anything that cannot be decoded.
pub(super) fn count(
    track: &mut VideoTrack<'_>,
) -> Result<(usize, Option<(FrameTime, FrameTime)>), VideoError> {
    let (mut total, mut span) = (0, None);
    decode_all(track, |decoded| {
        total += 1;
        let (first, _) = *span.get_or_insert((decoded.time, decoded.time));
        span = Some((first, decoded.time));
        Ok(true)
    })?;
    Ok((total, span))
}

/// Decodes up to the last of the chosen frames out of `total`.
///
/// # Errors
///
/// As [`count`].
pub(super) fn sample<T>(
    track: &mut VideoTrack<'_>,
    total: usize,
    count: usize,
    map: &mut Map<'_, T>,
) -> Result<Vec<SampledFrame<T>>, VideoError> {
    let mut frames = Vec::with_capacity(count);
    let mut index = 0;
    decode_all(track, |decoded| {
        if index == sampled_index(frames.len(), total, count) {
            frames.push(SampledFrame {
                picture: map(decoded.picture()?),
                index,
                time: decoded.time,
            });
        }
        index += 1;
        Ok(frames.len() < count)
    })?;
    if frames.len() < count {
        return Err(track.damaged("it decodes differently the second time"));
    }
    Ok(frames)
}

fn decode_all(
    track: &mut VideoTrack<'_>,
    mut each: impl FnMut(&mut Decoded<'_>) -> Result<bool, VideoError>,
) -> Result<(), VideoError> {
    track.reopen()?;
    let mut decoder = PictureDecoder::open(track, THREADS)?;
    let mut packet = Packet::empty();
    let mut wanted = true;
    while wanted {
        let more = track.read(&mut packet)?;
        decoder.decode(more.then_some(&packet), |decoded| {
            if wanted {
                wanted = each(decoded)?;
            }
            Ok(())
        })?;
        wanted &= more;
    }
    Ok(())
}
