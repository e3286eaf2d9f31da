//! Whole numbers of a body, with the range in the type, so that every refusal says it.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::{Number, Value};

use crate::strict_json::excerpt;

/// A whole number from 1 to `MOST`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeNumber<const MOST: u64>(u64);

impl<const MOST: u64> WholeNumber<MOST> {
    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }

    /// Why `written`, as it stands in the body, is none of these numbers.
    pub(super) fn refuse(written: &str) -> String {
        format!("is {}: use a whole number from 1 to {MOST}", excerpt(written))
    }
}

impl<'de, const MOST: u64> Deserialize<'de> for WholeNumber<MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let number = value.as_number().and_then(whole);
        match number {
            Some(number) if (1..=MOST).contains(&number) => Ok(Self(number)),
            _ => Err(D::Error::custom(Self::refuse(&written(&value)))),
        }
    }
}

/// JSON knows one kind of number: `2.0` and `2e0` are 2.
fn whole(number: &Number) -> Option<u64> {
    number.as_u64().or_else(|| {
        let value = number.as_f64()?;
        // Beyond 2^53 a float no longer says which whole number was meant.
        (value.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&value)).then_some(value as u64)
    })
}

fn written(value: &Value) -> String {
    match value {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<u64, String> {
        serde_json::from_value::<WholeNumber<256>>(value)
            .map(WholeNumber::get)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_no_such_number_is_shown_with_the_range() {
        for (value, shown) in [
            (json!(0), "0"),
            (json!(-1), "-1"),
            (json!(257), "257"),
            (json!(u64::MAX), "18446744073709551615"),
            (json!(1.5), "1.5"),
            (json!(1e300), "1e+300"),
            (json!(-0.0), "-0.0"),
            (json!("5"), "\"5\""),
            (json!(true), "true"),
            (json!([5]), "an array"),
            (json!({"a": 5}), "an object"),
        ] {
            assert_eq!(
                read(value),
                Err(format!("is {shown}: use a whole number from 1 to 256"))
            );
        }
        let long = read(json!("x".repeat(100_000))).unwrap_err();
        assert!(long.len() < 300 && long.contains("1 to 256"), "{long}");
    }

    #[test]
    fn a_number_is_whole_however_it_is_written() {
        assert_eq!(read(json!(256)), Ok(256));
        assert_eq!(read(serde_json::from_str("2.0").unwrap()), Ok(2));
        assert_eq!(read(serde_json::from_str("1e2").unwrap()), Ok(100));
    }
}
