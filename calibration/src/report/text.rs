//! Text of callers, made fit to be shown.

/// The first `limit` characters of a text that may be anything, on one line: line breaks become spaces; other control
/// characters, and those that turn the direction of text round, become the replacement character. Says how much was cut.
///
/// Escaping is not done here but by the templates.
pub(super) fn shown(text: &str, limit: usize) -> String {
    let mut shown: String = text.chars().take(limit).map(harmless).collect();
    let kept: usize = text.chars().take(limit).map(char::len_utf8).sum();
    if kept < text.len() {
        let left = text.get(kept..).map_or(0, |rest| rest.chars().count());
        shown.push_str(&format!(" … ({left} more characters)"));
    }
    shown
}

fn harmless(c: char) -> char {
    match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}' => '\u{fffd}',
        c if c.is_control() || is_noncharacter(c) => '\u{fffd}',
        c => c,
    }
}

/// The code points that HTML holds for errors.
fn is_noncharacter(c: char) -> bool {
    let code = u32::from(c);
    (0xfdd0..=0xfdef).contains(&code) || code & 0xfffe == 0xfffe
}

/// A number with so many significant digits as its size needs: four decimals, or an exponent below a thousandth.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() < 0.001 {
        return format!("{value:.2e}");
    }
    format!("{value:.4}")
}

/// A probability: never shown as 0 or 1 unless it is.
pub(super) fn probability(value: f64) -> String {
    if value > 0.999_95 && value < 1.0 {
        return "> 0.9999".to_owned();
    }
    if value > 0.0 && value < 0.000_05 {
        return "< 0.0001".to_owned();
    }
    format!("{value:.4}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_made_harmless_and_cut() {
        assert_eq!(
            shown("a\nb\u{0}c\u{202e}d\u{7f}", 100),
            "a b\u{fffd}c\u{fffd}d\u{fffd}"
        );
        assert_eq!(shown("\u{ffff}\u{fdd0}é", 100), "\u{fffd}\u{fffd}é");
        assert_eq!(shown("äöü", 2), "äö … (1 more characters)");
        assert_eq!(shown("äöü", 3), "äöü");
        assert_eq!(shown(&"x".repeat(1 << 20), 3), "xxx … (1048573 more characters)");
    }

    #[test]
    fn numbers_keep_what_matters() {
        assert_eq!(number(0.123456), "0.1235");
        assert_eq!(number(0.0000123), "1.23e-5");
        assert_eq!(number(-0.5), "-0.5000");
        assert_eq!(number(0.0), "0");
        assert_eq!(probability(1.0), "1.0000");
        assert_eq!(probability(0.99999), "> 0.9999");
        assert_eq!(probability(0.0), "0.0000");
        assert_eq!(probability(1e-9), "< 0.0001");
    }
}
