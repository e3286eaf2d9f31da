//! What every engine refuses before it runs: descriptions and batches that make no sense.

use std::borrow::Cow;

use super::Source;
use crate::{DecoderDescription, Medium, ModelError, PackedBatch};

/// Refuses descriptions that the engines' index arithmetic does not cover.
///
/// # Errors
/// Which layer has which sizes.
pub(super) fn description(source: Source<'_>) -> Result<(), ModelError> {
    let description = source.description;
    let refuse = |reason: String| Err(ModelError::Unsupported(format!("{}: {reason}", source.name)));
    if description.layers.is_empty() || description.hidden == 0 || description.vocabulary == 0 {
        return refuse("the model has no layers, no width or no vocabulary".into());
    }
    for (index, layer) in description.layers.iter().enumerate() {
        let heads_fit = layer.kv_heads > 0 && layer.heads % layer.kv_heads == 0;
        let half = layer.rope.inverse_frequencies.len();
        if !heads_fit || layer.head_dim == 0 || layer.head_dim != 2 * half || layer.intermediate == 0 {
            return refuse(format!(
                "layer {index}: {} heads, {} key heads, head width {}, {half} rotary frequencies, feed-forward width {}",
                layer.heads, layer.kv_heads, layer.head_dim, layer.intermediate
            ));
        }
        if layer.output_scale && !layer.post_norms {
            return refuse(format!(
                "layer {index}: a factor on the output without post norms"
            ));
        }
    }
    Ok(())
}

/// What of the model is run: its description, or that of its first `layers`.
///
/// # Errors
/// It has fewer layers, or none are asked for.
pub(super) fn depth<'a>(
    source: Source<'a>,
    layers: Option<usize>,
) -> Result<Cow<'a, DecoderDescription>, ModelError> {
    let all = source.description.layers.len();
    match layers {
        None => Ok(Cow::Borrowed(source.description)),
        Some(layers) if layers == all => Ok(Cow::Borrowed(source.description)),
        Some(layers) if layers == 0 || layers > all => Err(ModelError::Unsupported(format!(
            "{layers} layers of {}: it has {all}, so use 1 to {all}",
            source.name
        ))),
        Some(layers) => {
            let mut shallow = source.description.clone();
            shallow.layers.truncate(layers);
            Ok(Cow::Owned(shallow))
        }
    }
}

/// Refuses batches that `description` cannot run, and returns their number of rows.
///
/// # Errors
/// No reads, a token outside the vocabulary, a path longer than the context, or a medium that the model does not read or
/// of another size than it takes.
pub(super) fn batch(description: &DecoderDescription, batch: &PackedBatch) -> Result<i32, ModelError> {
    if batch.reads().is_empty() {
        return Err(ModelError::InvalidBatch("nothing is to be read".into()));
    }
    let rows = i32::try_from(batch.len())
        .map_err(|_| ModelError::InvalidBatch(format!("{} tokens in one batch", batch.len())))?;
    for token in batch.tokens() {
        if *token as usize >= description.vocabulary {
            return Err(ModelError::InvalidBatch(format!(
                "token {token} in a vocabulary of {}",
                description.vocabulary
            )));
        }
    }
    for segment in batch.segments() {
        let end = segment.first_position as usize + segment.len as usize;
        if end > description.context {
            return Err(ModelError::InvalidBatch(format!(
                "a path of {end} tokens in a context of {}",
                description.context
            )));
        }
    }
    media(description, batch)?;
    Ok(rows)
}

/// Refuses media that `description` does not read or that are of other sizes than its embedders.
///
/// # Errors
/// What is wrong with which medium.
fn media(description: &DecoderDescription, batch: &PackedBatch) -> Result<(), ModelError> {
    let media = description.media.as_ref();
    for (index, placed) in batch.media().iter().enumerate() {
        let refuse = |reason: String| Err(ModelError::InvalidBatch(format!("medium {index}: {reason}")));
        match placed.medium.as_ref() {
            Medium::Picture(picture) => {
                let Some(vision) = media.and_then(|media| media.vision) else {
                    return refuse("the batch holds a picture, and this model reads none".into());
                };
                let (width, wanted) = (picture.patch_width(), vision.patch_width());
                if width != wanted {
                    return refuse(format!(
                        "patches of {width} values; this model takes {wanted}, squares of {0} by {0} pixels",
                        vision.patch_edge
                    ));
                }
                let most = vision.positions;
                if let Some(place) = picture
                    .positions()
                    .iter()
                    .find(|place| place.x as usize >= most || place.y as usize >= most)
                {
                    return refuse(format!(
                        "a patch at column {}, row {}; this model knows {most} of each",
                        place.x, place.y
                    ));
                }
            }
            Medium::Sound(sound) => {
                let Some(audio) = media.and_then(|media| media.audio) else {
                    return refuse("the batch holds sound, and this model reads none".into());
                };
                if sound.frame() != audio.frame {
                    return refuse(format!(
                        "frames of {} samples; this model takes {}",
                        sound.frame(),
                        audio.frame
                    ));
                }
            }
        }
    }
    Ok(())
}
