//! Strict JSON: what a caller meant twice, or could not have meant, is refused instead of guessed.
//!
//! Beyond the grammar this refuses duplicate keys (readers disagree on which one counts), deep nesting, invalid UTF-8
//! and lone surrogates, each with its place.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::excerpt::excerpt;
use super::place::{Place, Step};

/// Deepest nesting of objects and arrays in a body.
pub const MAX_DEPTH: usize = 100;

/// Why a body is not the JSON we read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum JsonError {
    /// No bytes.
    #[error("the body is empty: send a JSON object")]
    Empty,
    /// Not UTF-8.
    #[error("the body is not UTF-8: byte {offset} is invalid")]
    InvalidUtf8 {
        /// Offset of the first invalid byte.
        offset: usize,
    },
    /// Not JSON.
    #[error("the body is not valid JSON: {reason}")]
    Syntax {
        /// What is wrong, with line and column.
        reason: String,
    },
    /// UTF-8 that begins with a byte order mark.
    #[error("the body starts with a byte order mark; send UTF-8 without it")]
    ByteOrderMark,
    /// UTF-16 or UTF-32, by its byte order mark.
    #[error("the body starts with the byte order mark of {encoding}; send UTF-8 without one")]
    OtherEncoding {
        /// The encoding.
        encoding: &'static str,
    },
    /// A number beyond what readers of JSON hold.
    #[error("is {number}: numbers go up to 1.8e308; send larger ones as strings")]
    HugeNumber {
        /// As it is written, cut where it is long.
        number: String,
        /// Where it stands.
        place: Place,
    },
    /// A whole number beyond 64 bits, which would be rounded.
    #[error(
        "is {number}: whole numbers go from -9223372036854775808 to 18446744073709551615; send others as \
         strings"
    )]
    BigInteger {
        /// As it is written, cut where it is long.
        number: String,
        /// Where it stands.
        place: Place,
    },
    /// Nested beyond [`MAX_DEPTH`].
    #[error("the JSON is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The same key twice in one object.
    #[error("the key {key:?} is given twice: give it once")]
    DuplicateKey {
        /// The key.
        key: String,
        /// Where it stands.
        place: Place,
    },
}

impl JsonError {
    /// The message with another subject than the body.
    pub(crate) fn about(&self, subject: &str) -> String {
        let message = self.to_string();
        let (place, said) = match self {
            JsonError::HugeNumber { place, .. }
            | JsonError::BigInteger { place, .. }
            | JsonError::DuplicateKey { place, .. } => (place.to_string(), message),
            _ => (String::new(), message),
        };
        match said.strip_prefix("the body") {
            Some(rest) => format!("{subject}{rest}"),
            None if place.is_empty() => said,
            None => format!("{place}: {said}"),
        }
    }
}

/// Reads a whole body.
///
/// # Errors
/// See [`JsonError`].
pub fn parse(body: &[u8]) -> Result<Value, JsonError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(JsonError::Empty);
    }
    refuse_byte_order_mark(body)?;
    let text = std::str::from_utf8(body).map_err(|error| JsonError::InvalidUtf8 {
        offset: error.valid_up_to(),
    })?;
    let context = Context {
        big_integer: first_big_integer(text),
        ..Context::default()
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict {
        context: &context,
        depth: 0,
    }
    .deserialize(&mut reader)
    .and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| {
        if let Some(refused) = context.refused.take() {
            return refused;
        }
        if error.to_string().starts_with("number out of range") {
            return JsonError::HugeNumber {
                number: number_at(text, &error),
                place: Place::from(context.place.take()),
            };
        }
        JsonError::Syntax {
            reason: explain(text, &error),
        }
    })
}

/// Most readers fail on these characters, which editors do not show, with a message about something else.
fn refuse_byte_order_mark(body: &[u8]) -> Result<(), JsonError> {
    match body {
        [0xef, 0xbb, 0xbf, ..] => Err(JsonError::ByteOrderMark),
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            Err(JsonError::OtherEncoding { encoding: "UTF-32" })
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(JsonError::OtherEncoding { encoding: "UTF-16" }),
        _ => Ok(()),
    }
}

/// The first whole number that 64 bits do not hold, with its index among all numbers of the text. serde_json hands such
/// numbers over as floats, rounded; how they were written shows in the text alone.
fn first_big_integer(text: &str) -> Option<(usize, &str)> {
    let bytes = text.as_bytes();
    let (mut at, mut index) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
                    at += if *byte == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                let length = bytes.iter().skip(at).take_while(is_part).count();
                let number = text.get(at..at + length)?;
                let whole = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
                if whole && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                    return Some((index, number));
                }
                index += 1;
                at += length;
            }
            _ => at += 1,
        }
    }
    None
}

/// The number that an error is about.
fn number_at(text: &str, error: &serde_json::Error) -> String {
    let line = text
        .split('\n')
        .nth(error.line().saturating_sub(1))
        .unwrap_or_default();
    let is_part = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let (before, after) = line.as_bytes().split_at(error.column().min(line.len()));
    let start = before.iter().rev().take_while(is_part).count();
    let end = after.iter().take_while(is_part).count();
    let number = line
        .get(before.len() - start..before.len() + end)
        .unwrap_or_default();
    excerpt(number).into_owned()
}

/// serde_json's message, in plain words where its own would puzzle.
fn explain(text: &str, error: &serde_json::Error) -> String {
    let message = error.to_string();
    let at = format!("at line {} column {}", error.line(), error.column());
    // With this reader these two messages only ever mean half a surrogate pair.
    if message.starts_with("lone leading surrogate") || message.starts_with("unexpected end of hex escape") {
        return format!("a \\u escape is half of a surrogate pair {at}; send whole characters");
    }
    if error.is_eof() {
        return format!("it ends too early, {at}");
    }
    let line = text
        .lines()
        .nth(error.line().saturating_sub(1))
        .unwrap_or_default();
    let rest = line
        .as_bytes()
        .get(error.column().saturating_sub(2)..)
        .unwrap_or_default();
    if ["NaN", "Infinity", "nan"].iter().any(|word| {
        rest.get(..word.len() + 1)
            .is_some_and(|near| near.windows(word.len()).any(|part| part == word.as_bytes()))
    }) {
        return format!("NaN and Infinity are not JSON, {at}; send null or a string");
    }
    message
}

#[derive(Default)]
struct Context<'t> {
    /// Which number of the body, counted from 0, would be rounded, and how it is written.
    big_integer: Option<(usize, &'t str)>,
    /// Numbers read so far.
    numbers: Cell<usize>,
    place: RefCell<Vec<Step>>,
    refused: RefCell<Option<JsonError>>,
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    context: &'a Context<'a>,
    depth: usize,
}

impl Strict<'_> {
    /// A number, unless it is the one that would be rounded.
    fn number<E: serde::de::Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        let index = self.context.numbers.get();
        self.context.numbers.set(index + 1);
        if let Some((big, number)) = self.context.big_integer
            && big == index
        {
            *self.context.refused.borrow_mut() = Some(JsonError::BigInteger {
                number: excerpt(number).into_owned(),
                place: Place::from(self.context.place.borrow().clone()),
            });
            return Err(E::custom("big integer"));
        }
        Ok(value.into())
    }

    /// The seed of a container's children.
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            *self.context.refused.borrow_mut() = Some(JsonError::TooDeep);
            return Err(E::custom("too deep"));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.number(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.number(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.number(value)
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut list = Vec::new();
        loop {
            self.context.place.borrow_mut().push(Step::Index(list.len()));
            let item = items.next_element_seed(inner)?;
            self.context.place.borrow_mut().pop();
            match item {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.context.place.borrow_mut().push(Step::Key(key.clone()));
            if map.contains_key(&key) {
                let place = Place::from(self.context.place.borrow().clone());
                *self.context.refused.borrow_mut() = Some(JsonError::DuplicateKey { key, place });
                return Err(A::Error::custom("duplicate key"));
            }
            let value = entries.next_value_seed(inner)?;
            self.context.place.borrow_mut().pop();
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(body: &str) -> String {
        parse(body.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn keeps_order_and_text() {
        let text = r#"{"b":1,"a":[null,true,-2.5,"é\n"],"":{}}"#;
        assert_eq!(parse(text.as_bytes()).unwrap().to_string(), text);
    }

    #[test]
    fn names_a_duplicate_key_and_its_place() {
        let error = parse(br#"{"q":[{"a":1},{"b":{"x":1,"x":1}}]}"#).unwrap_err();
        let JsonError::DuplicateKey { key, place } = &error else {
            panic!("{error}")
        };
        assert_eq!((key.as_str(), place.to_string().as_str()), ("x", "q[1].b.x"));
    }

    #[test]
    fn a_whole_number_that_would_be_rounded_is_refused_with_its_place() {
        for (body, written, at) in [
            (r#"{"a":18446744073709551616}"#, "18446744073709551616", "a"),
            (
                r#"{"a":1,"b":[2.5,-9223372036854775809]}"#,
                "-9223372036854775809",
                "b[1]",
            ),
            (
                r#"{"7\\\"8":"9","c":{"d":100000000000000000000}}"#,
                "100000000000000000000",
                "c.d",
            ),
        ] {
            let error = parse(body.as_bytes()).unwrap_err();
            let JsonError::BigInteger { number, place } = &error else {
                panic!("{error}")
            };
            assert_eq!((number.as_str(), place.to_string().as_str()), (written, at));
        }
        for kept in [
            "[18446744073709551615,-9223372036854775808,0]",
            r#"["99999999999999999999","\\",1e20]"#,
        ] {
            assert!(parse(kept.as_bytes()).is_ok(), "{kept}");
        }
    }

    /// What the API's description promises of numbers in a state.
    #[test]
    fn decimals_are_the_nearest_floats_in_their_shortest_form() {
        for (written, shown) in [
            ("0.50", "0.5"),
            ("1E2", "100.0"),
            ("9007199254740993.0", "9007199254740992.0"),
            ("1e-400", "0.0"),
            ("-0", "-0.0"),
            // Fast readers of decimals miss the nearest float here.
            ("2.638344616030823e-256", "2.638344616030823e-256"),
            ("0.30000000000000004", "0.30000000000000004"),
        ] {
            assert_eq!(parse(written.as_bytes()).unwrap().to_string(), shown, "{written}");
        }
    }

    #[test]
    fn names_a_number_that_is_too_large_and_its_place() {
        let long = "9".repeat(400);
        for (body, written, at) in [
            ("{\"a\":1e999}", "1e999", "a"),
            ("{\"a\": [0,\n-1.5E+400 ]}", "-1.5E+400", "a[1]"),
            (
                "{\"a\":{\"b\":1e99999999999999999999}}",
                "1e99999999999999999999",
                "a.b",
            ),
            (&format!("[{long}]"), &format!("{}…", &long[..120]), "[0]"),
        ] {
            let error = parse(body.as_bytes()).unwrap_err();
            let JsonError::HugeNumber { number, place } = &error else {
                panic!("{error}")
            };
            assert_eq!((number.as_str(), place.to_string().as_str()), (written, at));
        }
        // What is too small is nothing, which is no error.
        assert!(parse(b"[1e-999]").is_ok());
    }

    #[test]
    fn names_a_byte_order_mark() {
        assert_eq!(parse(b"\xef\xbb\xbf{}"), Err(JsonError::ByteOrderMark));
        for (body, encoding) in [
            (&b"\xff\xfe{\0}\0"[..], "UTF-16"),
            (b"\xfe\xff\0{\0}", "UTF-16"),
            (b"\xff\xfe\0\0{\0\0\0", "UTF-32"),
            (b"\0\0\xfe\xff\0\0\0{", "UTF-32"),
        ] {
            assert_eq!(parse(body), Err(JsonError::OtherEncoding { encoding }));
        }
        // Inside a string it is a character like any other.
        assert!(parse("\"\u{feff}\"".as_bytes()).is_ok());
    }

    #[test]
    fn refuses_deep_nesting_without_overflow() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert_eq!(parse(nested(MAX_DEPTH + 1).as_bytes()), Err(JsonError::TooDeep));
        assert_eq!(parse("[".repeat(1_000_000).as_bytes()), Err(JsonError::TooDeep));
        assert_eq!(
            parse(r#"{"a":"#.repeat(200_000).as_bytes()),
            Err(JsonError::TooDeep)
        );
    }

    #[test]
    fn explains_what_is_not_json() {
        assert_eq!(parse(b" \n"), Err(JsonError::Empty));
        assert_eq!(parse(b"\"a\xff\""), Err(JsonError::InvalidUtf8 { offset: 2 }));
        for lone in [
            r#"{"a":"\ud83d"}"#,
            r#"{"a":"\ud83d\u0041"}"#,
            r#"{"a":"\udc00"}"#,
            r#"{"a":"\ud83dx"}"#,
        ] {
            assert!(
                refusal(lone).contains("surrogate pair at line 1"),
                "{}",
                refusal(lone)
            );
        }
        for number in [
            r#"{"a":NaN}"#,
            r#"{"a": NaN}"#,
            r#"[1,Infinity]"#,
            r#"[-Infinity]"#,
        ] {
            assert!(
                refusal(number).contains("NaN and Infinity"),
                "{}",
                refusal(number)
            );
        }
        assert!(refusal(r#"{"a":1"#).contains("ends too early"));
        assert!(refusal(r#"{"a":1} x"#).contains("trailing characters"));
        assert!(refusal("{'a':1}").contains("column 2"));
    }
}
