//! The key-value section of a GGUF file.

use std::collections::BTreeMap;

use super::cursor::Cursor;

/// Deepest nesting of arrays that is read.
const ARRAY_DEPTH: u32 = 4;

/// One value. Arrays stay in the file and are read on demand, so that a count in the file never sizes an allocation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Array(Array),
}

impl Value {
    fn kind(&self) -> String {
        match self {
            Value::Unsigned(value) => format!("the number {value}"),
            Value::Signed(value) => format!("the number {value}"),
            Value::Float(value) => format!("the number {value}"),
            Value::Bool(value) => format!("{value}"),
            Value::Text(value) => format!("the text {:?}", value.chars().take(40).collect::<String>()),
            Value::Array(array) => format!("an array of {} values", array.count),
        }
    }
}

/// Where an array's elements lie; the walk of the header has checked that they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Array {
    element: u32,
    /// Number of elements.
    pub(crate) count: u64,
    start: usize,
}

/// All key-value pairs of one file.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    values: BTreeMap<String, Value>,
}

mod element {
    pub(super) const U8: u32 = 0;
    pub(super) const I8: u32 = 1;
    pub(super) const U16: u32 = 2;
    pub(super) const I16: u32 = 3;
    pub(super) const U32: u32 = 4;
    pub(super) const I32: u32 = 5;
    pub(super) const F32: u32 = 6;
    pub(super) const BOOL: u32 = 7;
    pub(super) const STRING: u32 = 8;
    pub(super) const ARRAY: u32 = 9;
    pub(super) const U64: u32 = 10;
    pub(super) const I64: u32 = 11;
    pub(super) const F64: u32 = 12;
}

fn fixed_size(kind: u32) -> Option<u64> {
    match kind {
        element::U8 | element::I8 | element::BOOL => Some(1),
        element::U16 | element::I16 => Some(2),
        element::U32 | element::I32 | element::F32 => Some(4),
        element::U64 | element::I64 | element::F64 => Some(8),
        _ => None,
    }
}

fn read_value(cursor: &mut Cursor<'_>, kind: u32, key: &str) -> Result<Value, String> {
    Ok(match kind {
        element::U8 => Value::Unsigned(cursor.u8(key)?.into()),
        element::I8 => Value::Signed((cursor.u8(key)? as i8).into()),
        element::U16 => Value::Unsigned(cursor.u16(key)?.into()),
        element::I16 => Value::Signed((cursor.u16(key)? as i16).into()),
        element::U32 => Value::Unsigned(cursor.u32(key)?.into()),
        element::I32 => Value::Signed((cursor.u32(key)? as i32).into()),
        element::F32 => Value::Float(f32::from_bits(cursor.u32(key)?).into()),
        element::BOOL => match cursor.u8(key)? {
            0 => Value::Bool(false),
            1 => Value::Bool(true),
            other => return Err(format!("{key} is the byte {other}; a bool is 0 or 1")),
        },
        element::STRING => Value::Text(cursor.text(key)?.to_owned()),
        element::ARRAY => Value::Array(skip_array(cursor, key, 0)?),
        element::U64 => Value::Unsigned(cursor.u64(key)?),
        element::I64 => Value::Signed(cursor.u64(key)? as i64),
        element::F64 => Value::Float(f64::from_bits(cursor.u64(key)?)),
        other => return Err(format!("{key} has the unknown value type {other}")),
    })
}

/// Walks over an array and remembers where it lies.
fn skip_array(cursor: &mut Cursor<'_>, key: &str, depth: u32) -> Result<Array, String> {
    if depth >= ARRAY_DEPTH {
        return Err(format!("{key} nests arrays deeper than {ARRAY_DEPTH}"));
    }
    let element = cursor.u32(key)?;
    let count = cursor.u64(key)?;
    let start = cursor.position();
    if let Some(size) = fixed_size(element) {
        let len = count
            .checked_mul(size)
            .ok_or_else(|| format!("{key} claims {count} elements"))?;
        cursor.take(len, key)?;
    } else {
        // Every string takes at least its length, every array its header: a count beyond that is a lie, found early.
        let least = if element == element::STRING { 8 } else { 12 };
        if count > cursor.remaining() / least {
            return Err(format!(
                "cut short: {key} claims {count} elements, and {} bytes are left",
                cursor.remaining()
            ));
        }
        for _ in 0..count {
            match element {
                element::STRING => drop(cursor.text(key)?),
                element::ARRAY => drop(skip_array(cursor, key, depth + 1)?),
                other => return Err(format!("{key} has elements of the unknown type {other}")),
            }
        }
    }
    Ok(Array {
        element,
        count,
        start,
    })
}

impl Metadata {
    /// Reads `count` pairs.
    ///
    /// # Errors
    /// A sentence that says what is wrong and where.
    pub(super) fn read(cursor: &mut Cursor<'_>, count: u64) -> Result<Self, String> {
        let mut values = BTreeMap::new();
        for index in 0..count {
            let key = cursor.text(&format!("key {index}"))?.to_owned();
            if key.is_empty() || key.len() > 65_535 {
                return Err(format!("key {index} is {} bytes long", key.len()));
            }
            let kind = cursor.u32(&key)?;
            let value = read_value(cursor, kind, &key)?;
            if values.insert(key.clone(), value).is_some() {
                return Err(format!("the key {key} stands twice"));
            }
        }
        Ok(Self { values })
    }

    /// The value of `key`, if the file has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// A whole number, `None` where the key is absent.
    ///
    /// # Errors
    /// The value is no whole number at or above zero.
    pub(crate) fn unsigned(&self, key: &str) -> Result<Option<u64>, String> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Unsigned(value)) => Ok(Some(*value)),
            Some(Value::Signed(value)) if *value >= 0 => Ok(Some(value.unsigned_abs())),
            Some(other) => Err(format!("{key} is {}; expected a whole number", other.kind())),
        }
    }

    /// A number, `None` where the key is absent.
    ///
    /// # Errors
    /// The value is no number.
    pub(crate) fn float(&self, key: &str) -> Result<Option<f64>, String> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Float(value)) => Ok(Some(*value)),
            Some(Value::Unsigned(value)) => Ok(Some(*value as f64)),
            Some(Value::Signed(value)) => Ok(Some(*value as f64)),
            Some(other) => Err(format!("{key} is {}; expected a number", other.kind())),
        }
    }

    /// A truth value, `None` where the key is absent.
    ///
    /// # Errors
    /// The value is neither true nor false.
    pub(crate) fn bool(&self, key: &str) -> Result<Option<bool>, String> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(format!("{key} is {}; expected true or false", other.kind())),
        }
    }

    /// A text, `None` where the key is absent.
    ///
    /// # Errors
    /// The value is no text.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&str>, String> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Text(value)) => Ok(Some(value)),
            Some(other) => Err(format!("{key} is {}; expected a text", other.kind())),
        }
    }

    /// An array, `None` where the key is absent.
    ///
    /// # Errors
    /// The value is no array.
    pub(crate) fn array(&self, key: &str) -> Result<Option<Array>, String> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Array(value)) => Ok(Some(*value)),
            Some(other) => Err(format!("{key} is {}; expected an array", other.kind())),
        }
    }
}

impl Array {
    /// The strings of the array, read from the file's bytes.
    pub(crate) fn strings<'a>(
        self,
        bytes: &'a [u8],
        key: &'a str,
    ) -> Result<impl Iterator<Item = Result<&'a str, String>>, String> {
        if self.element != element::STRING {
            return Err(format!(
                "{key} holds values of type {}; expected strings",
                self.element
            ));
        }
        let mut cursor = Cursor::new(bytes, self.start);
        Ok((0..self.count).map(move |_| cursor.text(key)))
    }

    /// The numbers of the array as 64-bit integers.
    pub(crate) fn integers<'a>(
        self,
        bytes: &'a [u8],
        key: &'a str,
    ) -> Result<impl Iterator<Item = Result<i64, String>>, String> {
        if !matches!(
            self.element,
            element::U8
                | element::I8
                | element::U16
                | element::I16
                | element::U32
                | element::I32
                | element::I64
        ) {
            return Err(format!(
                "{key} holds values of type {}; expected whole numbers",
                self.element
            ));
        }
        let mut cursor = Cursor::new(bytes, self.start);
        Ok(
            (0..self.count).map(move |_| match read_value(&mut cursor, self.element, key)? {
                Value::Unsigned(value) => i64::try_from(value).map_err(|_| format!("{key} holds {value}")),
                Value::Signed(value) => Ok(value),
                other => Err(format!("{key} holds {}", other.kind())),
            }),
        )
    }
}
