//! Whole numbers of the command line, with the range in every refusal.

use std::ops::RangeInclusive;

/// A parser of whole numbers of `range`.
pub fn whole(
    range: RangeInclusive<u16>,
) -> impl Fn(&str) -> Result<u16, String> + Clone + Send + Sync + 'static {
    move |text| match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!(
            "use a whole number from {} to {}",
            range.start(),
            range.end()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_says_the_range() {
        let parse = whole(1..=256);
        assert_eq!((parse("1"), parse("256")), (Ok(1), Ok(256)));
        for text in ["0", "257", "-1", "", "two", "1.5", "99999999999999999999"] {
            assert!(
                parse(text).is_err_and(|error| error.contains("from 1 to 256")),
                "{text}"
            );
        }
    }
}
