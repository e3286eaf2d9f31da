//! GGUF files: header, tensors, description and tokenizer.
//!
//! Own reader: the crates at hand either parse only the header without bounds on its counts (`gguf`) or bring a whole
//! inference library along (`candle-core`). Format: the GGUF specification of the ggml project, versions 2 and 3.

mod blocks;
mod cursor;
mod description;
mod metadata;
mod source;
mod tokenizer;

use std::collections::BTreeMap;
use std::path::Path;

use blocks::BlockType;
use cursor::Cursor;
pub(crate) use description::description;
pub(crate) use metadata::Metadata;
pub(crate) use source::GgufWeights;
pub(crate) use tokenizer::tokenizer_json;

use super::mapped::MappedFile;
use crate::ModelError;

/// Most key-value pairs or tensors that a file may announce.
const MOST_ENTRIES: u64 = 1 << 16;

/// One tensor of the file.
#[derive(Debug, Clone)]
pub(crate) struct GgufTensor {
    /// `[rows, columns]`; vectors are `[1, width]`.
    pub(crate) shape: [usize; 2],
    pub(crate) block: BlockType,
    /// First byte in the file.
    pub(crate) start: usize,
    /// Length in bytes.
    pub(crate) len: usize,
}

/// An opened GGUF file whose header was read and checked against its length.
pub(crate) struct GgufFile {
    file: MappedFile,
    pub(crate) metadata: Metadata,
    tensors: BTreeMap<String, GgufTensor>,
}

struct RawTensor {
    name: String,
    dimensions: Vec<u64>,
    type_id: u32,
    offset: u64,
}

/// What is wrong with a header.
enum HeaderError {
    Corrupt(String),
    Unsupported(String),
}

impl From<String> for HeaderError {
    fn from(reason: String) -> Self {
        HeaderError::Corrupt(reason)
    }
}

impl GgufFile {
    /// Maps and reads `path`.
    ///
    /// # Errors
    /// The file cannot be read, is damaged or cut short, or holds a tensor type that this crate does not read.
    pub(crate) fn open(path: &Path) -> Result<Self, ModelError> {
        let file = MappedFile::open(path)?;
        let header = read_header(file.bytes()).map_err(|error| match error {
            HeaderError::Corrupt(reason) => ModelError::corrupt(path, reason),
            HeaderError::Unsupported(what) => ModelError::Unsupported(format!("{}: {what}", path.display())),
        })?;
        let (metadata, tensors) = header;
        Ok(Self {
            file,
            metadata,
            tensors,
        })
    }

    /// The file's path.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// The whole file.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.file.bytes()
    }

    /// The tensor called `name`.
    pub(crate) fn tensor(&self, name: &str) -> Option<&GgufTensor> {
        self.tensors.get(name)
    }

    /// All tensors by name.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (&str, &GgufTensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// The bytes of a tensor of this file.
    pub(crate) fn tensor_bytes(&self, tensor: &GgufTensor) -> &[u8] {
        self.bytes()
            .get(tensor.start..tensor.start + tensor.len)
            .unwrap_or_default()
    }

    /// A [`ModelError::Corrupt`] about this file.
    pub(crate) fn corrupt(&self, reason: impl Into<String>) -> ModelError {
        ModelError::corrupt(self.path(), reason)
    }
}

fn read_header(bytes: &[u8]) -> Result<(Metadata, BTreeMap<String, GgufTensor>), HeaderError> {
    let mut cursor = Cursor::new(bytes, 0);
    let magic = cursor.take(4, "the magic number")?;
    if magic != b"GGUF" {
        return Err(format!("not a GGUF file: it begins with the bytes {magic:02x?}").into());
    }
    let version = cursor.u32("the version")?;
    if version.swap_bytes() == 2 || version.swap_bytes() == 3 {
        return Err(HeaderError::Unsupported(
            "a big-endian GGUF file; convert it to little-endian".into(),
        ));
    }
    if version != 2 && version != 3 {
        return Err(HeaderError::Unsupported(format!(
            "GGUF version {version}; versions 2 and 3 are read"
        )));
    }
    let tensor_count = cursor.u64("the tensor count")?;
    let pair_count = cursor.u64("the key count")?;
    for (what, count) in [("tensors", tensor_count), ("keys", pair_count)] {
        if count > MOST_ENTRIES {
            return Err(format!("the header claims {count} {what}; at most {MOST_ENTRIES} are read").into());
        }
    }
    let metadata = Metadata::read(&mut cursor, pair_count)?;
    let alignment = metadata.unsigned("general.alignment")?.unwrap_or(32);
    if !alignment.is_power_of_two() || !(8..=1 << 20).contains(&alignment) {
        return Err(
            format!("general.alignment is {alignment}; expected a power of two from 8 to 1048576").into(),
        );
    }
    let mut raw = Vec::new();
    for index in 0..tensor_count {
        raw.push(read_tensor_info(&mut cursor, index)?);
    }
    let data_start = (cursor.position() as u64).next_multiple_of(alignment);
    let mut tensors = BTreeMap::new();
    for tensor in raw {
        let name = tensor.name.clone();
        let placed = place(tensor, data_start, alignment, bytes.len() as u64)?;
        if tensors.insert(name.clone(), placed).is_some() {
            return Err(format!("the tensor {name} stands twice").into());
        }
    }
    Ok((metadata, tensors))
}

fn read_tensor_info(cursor: &mut Cursor<'_>, index: u64) -> Result<RawTensor, String> {
    let name = cursor.text(&format!("the name of tensor {index}"))?.to_owned();
    if name.is_empty() || name.len() > 256 {
        return Err(format!("the name of tensor {index} is {} bytes long", name.len()));
    }
    let rank = cursor.u32(&name)?;
    if !(1..=4).contains(&rank) {
        return Err(format!("tensor {name} has {rank} dimensions; expected 1 to 4"));
    }
    let dimensions = (0..rank)
        .map(|_| cursor.u64(&name))
        .collect::<Result<Vec<_>, _>>()?;
    let type_id = cursor.u32(&name)?;
    let offset = cursor.u64(&name)?;
    Ok(RawTensor {
        name,
        dimensions,
        type_id,
        offset,
    })
}

/// Checks that a tensor's bytes lie inside the file.
fn place(
    tensor: RawTensor,
    data_start: u64,
    alignment: u64,
    file_len: u64,
) -> Result<GgufTensor, HeaderError> {
    let RawTensor {
        name,
        dimensions,
        type_id,
        offset,
    } = tensor;
    let block = BlockType::from_id(type_id).ok_or_else(|| {
        HeaderError::Unsupported(format!(
            "tensor {name} is stored as {} (type {type_id}); F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, \
             Q5_K and Q6_K are read",
            blocks::type_name(type_id)
        ))
    })?;
    let (columns, outer) = dimensions
        .split_first()
        .ok_or_else(|| format!("tensor {name} has no dimensions"))?;
    let too_large = || format!("tensor {name} has the impossible shape {dimensions:?}");
    let rows = outer
        .iter()
        .try_fold(1_u64, |product, dimension| product.checked_mul(*dimension))
        .ok_or_else(too_large)?;
    let columns = usize::try_from(*columns).map_err(|_| too_large())?;
    let rows = usize::try_from(rows).map_err(|_| too_large())?;
    if rows == 0 || columns == 0 {
        return Err(too_large().into());
    }
    if !columns.is_multiple_of(block.block_len()) {
        return Err(format!(
            "tensor {name} has rows of {columns} numbers, which do not fill blocks of {}",
            block.block_len()
        )
        .into());
    }
    let row_bytes = block.row_bytes(columns).ok_or_else(too_large)?;
    let len = row_bytes.checked_mul(rows).ok_or_else(too_large)?;
    if offset % alignment != 0 {
        return Err(format!("tensor {name} begins at {offset}, which is no multiple of {alignment}").into());
    }
    let start = data_start.checked_add(offset).ok_or_else(too_large)?;
    let end = start.checked_add(len as u64).ok_or_else(too_large)?;
    if end > file_len {
        return Err(format!(
            "cut short: tensor {name} ends at byte {end}, and the file has {file_len}; fetch the file again"
        )
        .into());
    }
    // Both fit: `end` is at most the length of a mapped file.
    Ok(GgufTensor {
        shape: [rows, columns],
        block,
        start: start as usize,
        len,
    })
}

#[cfg(test)]
pub(crate) mod tests;
