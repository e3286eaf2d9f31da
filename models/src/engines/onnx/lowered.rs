//! The engine's own form of a model: one file of packed matrices, mapped into memory.
//!
//! Layout: 8 bytes of magic, the header's length as u64 (little endian), the JSON header, then the tensors, each at a
//! multiple of 64 bytes. The header holds the sha256 of everything after it, checked whenever the file is opened.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use memmap2::Mmap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::engines::Source;
use crate::kernels::matrix::{Form, Layout, PackedMatrix};
use crate::store::byte_bar;
use crate::{LayerWeight, MediaDescription, MediaWeight, ModelError, Precision, Weight};

const MAGIC: &[u8; 8] = b"assize\0\x01";
/// Changes whenever the layout of the tensors does.
const VERSION: u32 = 2;
/// Inputs that share a scale in int8 matrices: that of the 4-bit and 8-bit files, whose weights so stay exact.
const GROUP: usize = 32;
const ALIGNMENT: usize = 64;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Header {
    version: u32,
    weights_hash: String,
    precision: Precision,
    /// sha256 of the bytes after the header, as hex; all zeros until it is known.
    sha256: String,
    bytes: u64,
    tensors: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    offset: u64,
    bytes: u64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Vector,
    Packed(Layout),
}

/// A mapped model in the engine's own form.
pub(super) struct Lowered {
    map: Mmap,
    header: Header,
    start: usize,
}

impl Lowered {
    /// Opens the form of `source` in `folder`, made anew where it is missing or damaged.
    pub(super) fn open_or_make(
        folder: &Path,
        source: Source<'_>,
        precision: Precision,
    ) -> Result<Self, ModelError> {
        let path = folder.join(format!("onnx-{precision}-v{VERSION}.assize"));
        match Self::open(&path, source.weights_hash, precision) {
            Ok(found) => return Ok(found),
            Err(ModelError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%error, "the prepared weights are unusable and are made anew"),
        }
        make(&path, source, precision)?;
        Self::open(&path, source.weights_hash, precision)
    }

    fn open(path: &Path, weights_hash: &str, precision: Precision) -> Result<Self, ModelError> {
        let io = |source| ModelError::Io {
            path: path.to_path_buf(),
            source,
        };
        let corrupt = |reason: String| ModelError::Corrupt {
            path: path.to_path_buf(),
            reason,
        };
        let mut file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let mut prefix = [0u8; 16];
        file.read_exact(&mut prefix)
            .map_err(|_| corrupt(format!("{length} bytes are too few")))?;
        let (magic, size) = prefix.split_at(8);
        if magic != MAGIC {
            return Err(corrupt("this is no prepared model".into()));
        }
        let size = u64::from_le_bytes(size.try_into().unwrap_or_default());
        if size > length - 16 || size > 64 << 20 {
            return Err(corrupt(format!("a header of {size} bytes in a file of {length}")));
        }
        let mut json = vec![0u8; size as usize];
        file.read_exact(&mut json).map_err(io)?;
        let header: Header = serde_json::from_slice(&json).map_err(|error| corrupt(error.to_string()))?;
        let start = (16 + size as usize).next_multiple_of(ALIGNMENT);
        if header.version != VERSION || header.weights_hash != weights_hash || header.precision != precision {
            return Err(corrupt("it was made for other weights".into()));
        }
        if start as u64 + header.bytes != length {
            return Err(corrupt(format!(
                "{length} bytes instead of {}",
                start as u64 + header.bytes
            )));
        }
        // SAFETY: the file is the engine's own and is only ever replaced by renaming, never changed in place.
        let map = unsafe { Mmap::map(&file) }.map_err(io)?;
        let found = hex::encode(Sha256::digest(&map[start..]));
        if found != header.sha256 {
            return Err(corrupt(format!("sha256 is {found}, not {}", header.sha256)));
        }
        for (name, entry) in &header.tensors {
            let expected = match entry.kind {
                Kind::Packed(layout) => Some(layout.bytes() as u64),
                Kind::Vector => None,
            };
            let inside = entry
                .offset
                .checked_add(entry.bytes)
                .is_some_and(|end| end <= header.bytes);
            if !inside
                || entry.offset % ALIGNMENT as u64 != 0
                || expected.is_some_and(|bytes| bytes != entry.bytes)
            {
                return Err(corrupt(format!("tensor {name} is misplaced")));
            }
        }
        Ok(Self { map, header, start })
    }

    /// Bytes of the mapped tensors.
    pub(super) fn bytes(&self) -> u64 {
        self.header.bytes
    }

    fn entry(&self, name: &str) -> Result<(&Entry, &[u8]), ModelError> {
        let entry = self.header.tensors.get(name).ok_or_else(|| missing(name))?;
        let start = self.start + entry.offset as usize;
        Ok((entry, &self.map[start..start + entry.bytes as usize]))
    }

    /// A packed matrix.
    pub(super) fn matrix(&self, name: &str) -> Result<PackedMatrix<'_>, ModelError> {
        match self.entry(name)? {
            (
                Entry {
                    kind: Kind::Packed(layout),
                    ..
                },
                bytes,
            ) => Ok(PackedMatrix::new(*layout, bytes)),
            _ => Err(missing(name)),
        }
    }

    /// A vector of float32.
    pub(super) fn vector(&self, name: &str) -> Result<Vec<f32>, ModelError> {
        self.floats(name).map(<[f32]>::to_vec)
    }

    /// A vector of float32 as it lies in the file.
    pub(super) fn floats(&self, name: &str) -> Result<&[f32], ModelError> {
        match self.entry(name)? {
            (
                Entry {
                    kind: Kind::Vector, ..
                },
                bytes,
            ) => Ok(bytemuck::cast_slice(bytes)),
            _ => Err(missing(name)),
        }
    }
}

fn missing(name: &str) -> ModelError {
    ModelError::Engine {
        engine: super::ENGINE,
        reason: format!("no tensor {name} in the prepared model"),
    }
}

/// The name of a layer's tensor.
pub(super) fn layer_name(layer: usize, tensor: &str) -> String {
    format!("layers.{layer}.{tensor}")
}

struct Writer {
    file: BufWriter<File>,
    hasher: Sha256,
    position: u64,
    tensors: BTreeMap<String, Entry>,
    path: PathBuf,
    precision: Precision,
}

impl Writer {
    fn put(&mut self, name: String, kind: Kind, bytes: &[u8]) -> Result<(), ModelError> {
        let padding =
            vec![0u8; self.position.next_multiple_of(ALIGNMENT as u64) as usize - self.position as usize];
        let offset = self.position + padding.len() as u64;
        for part in [&padding[..], bytes] {
            self.file.write_all(part).map_err(|source| ModelError::Io {
                path: self.path.clone(),
                source,
            })?;
            self.hasher.update(part);
            self.position += part.len() as u64;
        }
        self.tensors.insert(
            name,
            Entry {
                offset,
                bytes: bytes.len() as u64,
                kind,
            },
        );
        Ok(())
    }

    fn matrix(
        &mut self,
        name: String,
        values: &[f32],
        columns: usize,
        depth: usize,
    ) -> Result<(), ModelError> {
        let form = match self.precision {
            Precision::Float32 | Precision::Bfloat16 => Form::Float32,
            Precision::Int8 => Form::Int8 { group: GROUP },
        };
        self.matrix_as(form, name, values, columns, depth)
    }

    fn matrix_as(
        &mut self,
        form: Form,
        name: String,
        values: &[f32],
        columns: usize,
        depth: usize,
    ) -> Result<(), ModelError> {
        let layout = Layout { form, columns, depth };
        let mut bytes = vec![0u8; layout.bytes()];
        layout.pack(values, &mut bytes);
        self.put(name, Kind::Packed(layout), &bytes)
    }
}

/// Reads the files of `source` whole: damage that came after they were first read would otherwise be kept under the hash
/// of the sound file.
fn check_files(source: Source<'_>) -> Result<(), ModelError> {
    let bytes = source
        .files
        .iter()
        .filter_map(|file| Some(std::fs::metadata(&file.path).ok()?.len()));
    let bar = byte_bar("checking", bytes.sum());
    let checked = source
        .files
        .iter()
        .try_for_each(|file| file.check(|read| bar.inc(read)));
    bar.finish_and_clear();
    checked
}

/// Reads every tensor of `source` once and writes the engine's form beside `path`, then renames it into place.
fn make(path: &Path, source: Source<'_>, precision: Precision) -> Result<(), ModelError> {
    let io = |source| ModelError::Io {
        path: path.to_path_buf(),
        source,
    };
    check_files(source)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(io)?;
    let temporary = tempfile::NamedTempFile::new_in(folder).map_err(io)?;
    let file = temporary.as_file().try_clone().map_err(io)?;
    let description = source.description;
    let progress = ProgressBar::new(description.layers.len() as u64 + 1).with_style(
        ProgressStyle::with_template("preparing {msg} {bar:30} {pos}/{len} layers {eta}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    progress.set_message(format!("{} ({precision})", source.name));
    // The header comes last in time but first in the file: its place is kept by its largest possible size.
    let reserved = 16 + 512 + 256 * (description.layers.len() * 16 + 32);
    let start = reserved.next_multiple_of(ALIGNMENT);
    let mut writer = Writer {
        file: BufWriter::with_capacity(1 << 20, file),
        hasher: Sha256::new(),
        position: 0,
        tensors: BTreeMap::new(),
        path: path.to_path_buf(),
        precision,
    };
    writer.file.seek(SeekFrom::Start(start as u64)).map_err(io)?;
    write_tensors(&mut writer, source, &progress)?;
    let header = Header {
        version: VERSION,
        weights_hash: source.weights_hash.to_owned(),
        precision,
        sha256: hex::encode(writer.hasher.finalize_reset()),
        bytes: writer.position,
        tensors: std::mem::take(&mut writer.tensors),
    };
    let mut json = serde_json::to_vec(&header).map_err(|error| ModelError::Engine {
        engine: super::ENGINE,
        reason: error.to_string(),
    })?;
    if json.len() > start - 16 {
        let reason = format!("a header of {} bytes", json.len());
        return Err(ModelError::Engine {
            engine: super::ENGINE,
            reason,
        });
    }
    json.resize(start - 16, b' ');
    writer.file.seek(SeekFrom::Start(0)).map_err(io)?;
    writer.file.write_all(MAGIC).map_err(io)?;
    writer
        .file
        .write_all(&(json.len() as u64).to_le_bytes())
        .map_err(io)?;
    writer.file.write_all(&json).map_err(io)?;
    writer.file.flush().map_err(io)?;
    drop(writer);
    temporary.as_file().sync_all().map_err(io)?;
    temporary.persist(path).map_err(|error| io(error.error))?;
    progress.finish_and_clear();
    Ok(())
}

fn write_tensors(writer: &mut Writer, source: Source<'_>, progress: &ProgressBar) -> Result<(), ModelError> {
    let description = source.description;
    let hidden = description.hidden;
    let read = |weight: Weight, rows: usize, width: usize| -> Result<Vec<f32>, ModelError> {
        let tensor = source.weights.tensor(weight)?;
        if tensor.shape[0] * tensor.shape[1] != rows * width || tensor.values.len() != rows * width {
            return Err(ModelError::Unsupported(format!(
                "{}: {weight:?} is {:?}, and the configuration says [{rows}, {width}]",
                source.name, tensor.shape
            )));
        }
        if !tensor.values.iter().all(|value| value.is_finite()) {
            return Err(ModelError::Unsupported(format!(
                "{}: {weight:?} holds NaN or infinity",
                source.name
            )));
        }
        let values = tensor.values.into_owned();
        // Read once: left mapped, the whole checkpoint would stand in memory beside this form of it.
        source.weights.release(weight);
        Ok(values)
    };
    let norm = |weight: Weight, width: usize| -> Result<Vec<f32>, ModelError> {
        let mut values = read(weight, 1, width)?;
        values
            .iter_mut()
            .for_each(|value| *value += description.norm_offset);
        Ok(values)
    };
    let embedding = read(Weight::Embedding, description.vocabulary, hidden)?;
    writer.matrix("embedding".into(), &embedding, description.vocabulary, hidden)?;
    drop(embedding);
    if !description.tied_output {
        let output = read(Weight::Output, description.vocabulary, hidden)?;
        writer.matrix("output".into(), &output, description.vocabulary, hidden)?;
    }
    let vector = |writer: &mut Writer, name: String, values: Vec<f32>| {
        writer.put(name, Kind::Vector, bytemuck::cast_slice(&values))
    };
    vector(writer, "final_norm".into(), norm(Weight::FinalNorm, hidden)?)?;
    progress.inc(1);
    for (index, layer) in description.layers.iter().enumerate() {
        use LayerWeight as W;
        let weight = |weight| Weight::Layer(index, weight);
        let name = |tensor| layer_name(index, tensor);
        let (query, key) = (layer.heads * layer.head_dim, layer.kv_heads * layer.head_dim);
        vector(writer, name("input_norm"), norm(weight(W::InputNorm), hidden)?)?;
        vector(
            writer,
            name("feed_forward_norm"),
            norm(weight(W::FeedForwardNorm), hidden)?,
        )?;
        if layer.qk_norm {
            vector(
                writer,
                name("query_norm"),
                norm(weight(W::QueryNorm), layer.head_dim)?,
            )?;
            vector(
                writer,
                name("key_norm"),
                norm(weight(W::KeyNorm), layer.head_dim)?,
            )?;
        }
        if layer.post_norms {
            vector(
                writer,
                name("post_attention_norm"),
                norm(weight(W::PostAttentionNorm), hidden)?,
            )?;
            vector(
                writer,
                name("post_feed_forward_norm"),
                norm(weight(W::PostFeedForwardNorm), hidden)?,
            )?;
        }
        writer.matrix(
            name("query"),
            &read(weight(W::Query), query, hidden)?,
            query,
            hidden,
        )?;
        let mut pair = read(weight(W::Key), key, hidden)?;
        if !layer.shared_key_value {
            pair.extend(read(weight(W::Value), key, hidden)?);
        }
        writer.matrix(name("key_value"), &pair, layer.key_value_width(), hidden)?;
        writer.matrix(
            name("attention_output"),
            &read(weight(W::AttentionOutput), hidden, query)?,
            hidden,
            query,
        )?;
        let gate = read(weight(W::Gate), layer.intermediate, hidden)?;
        let up = read(weight(W::Up), layer.intermediate, hidden)?;
        let pair = interleave(&gate, &up, hidden);
        writer.matrix(name("gate_up"), &pair, pair.len() / hidden, hidden)?;
        writer.matrix(
            name("down"),
            &read(weight(W::Down), hidden, layer.intermediate)?,
            hidden,
            layer.intermediate,
        )?;
        if layer.output_scale {
            vector(writer, name("output_scale"), read(weight(W::OutputScale), 1, 1)?)?;
        }
        progress.inc(1);
    }
    if let Some(media) = &description.media {
        write_media(writer, media, hidden, &|weight, rows, width| {
            read(Weight::Media(weight), rows, width)
        })?;
    }
    Ok(())
}

/// The embedders of media. They stay float32 in every precision: they are small, and see raw pixels and samples.
fn write_media(
    writer: &mut Writer,
    media: &MediaDescription,
    hidden: usize,
    read: &dyn Fn(MediaWeight, usize, usize) -> Result<Vec<f32>, ModelError>,
) -> Result<(), ModelError> {
    use MediaWeight as W;
    let name = |tensor: &str| format!("media.{tensor}");
    if let Some(vision) = &media.vision {
        let (patch, width) = (vision.patch_width(), vision.width);
        for (tensor, weight, rows, columns) in [
            ("patch_norm", W::PatchNorm, 1, patch),
            ("patch_norm_bias", W::PatchNormBias, 1, patch),
            ("patch_bias", W::PatchBias, 1, width),
            ("projected_norm", W::ProjectedNorm, 1, width),
            ("projected_norm_bias", W::ProjectedNormBias, 1, width),
            ("positions", W::Positions, 2 * vision.positions, width),
            ("position_norm", W::PositionNorm, 1, width),
            ("position_norm_bias", W::PositionNormBias, 1, width),
        ] {
            let values = read(weight, rows, columns)?;
            writer.put(name(tensor), Kind::Vector, bytemuck::cast_slice(&values))?;
        }
        let matrix = read(W::Patch, width, patch)?;
        writer.matrix_as(Form::Float32, name("patch"), &matrix, width, patch)?;
        let matrix = read(W::Picture, hidden, width)?;
        writer.matrix_as(Form::Float32, name("picture"), &matrix, hidden, width)?;
    }
    if let Some(audio) = &media.audio {
        let matrix = read(W::Sound, hidden, audio.frame)?;
        writer.matrix_as(Form::Float32, name("sound"), &matrix, hidden, audio.frame)?;
    }
    Ok(())
}

/// Rows of gate and up in alternating runs of 32, so that one panel holds both sides of 32 products.
fn interleave(gate: &[f32], up: &[f32], width: usize) -> Vec<f32> {
    let run = 32 * width;
    let mut pair = Vec::with_capacity(2 * gate.len().next_multiple_of(run));
    for (gate, up) in gate.chunks(run).zip(up.chunks(run)) {
        for part in [gate, up] {
            pair.extend_from_slice(part);
            pair.resize(pair.len() + run - part.len(), 0.0);
        }
    }
    pair
}
