//! The report: complete, self-contained, and unharmed by hostile text.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use assize_calibration::evaluation::{Evaluation, EvaluationOptions, Gold, JudgedRow};
use assize_calibration::report::{ProvenanceSection, Report, ShownRow};
use assize_calibration::{Probability, Shape};

const FEW: EvaluationOptions = EvaluationOptions {
    resamples: 50,
    seed: 0,
    confidence: 0.95,
};

fn row(id: &str, p: &[f64], gold: usize) -> JudgedRow {
    let probabilities = p.iter().map(|p| Probability::new(*p).unwrap()).collect();
    JudgedRow::new(id, Shape::Choice, probabilities, Gold::Option(gold)).unwrap()
}

fn evaluate(rows: &[JudgedRow]) -> Evaluation {
    Evaluation::of(rows, &FEW).unwrap()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The page about rows that all have this state, question and options.
fn page(rows: &[JudgedRow], before: Option<&[JudgedRow]>, state: &str, options: &[String]) -> String {
    let before = before.map(evaluate);
    let shown: Vec<ShownRow<'_>> = rows
        .iter()
        .map(|row| ShownRow {
            row,
            state,
            question: "which one?",
            options,
        })
        .collect();
    let provenance = [ProvenanceSection {
        name: "Model".to_owned(),
        entries: vec![
            ("artifact".to_owned(), "abc123".to_owned()),
            ("state".to_owned(), state.to_owned()),
        ],
    }];
    Report {
        title: state,
        provenance: &provenance,
        evaluation: &evaluate(rows),
        rows: &shown,
        before: before.as_ref(),
        notes: &[state.to_owned()],
    }
    .html()
    .unwrap()
}

/// Ten rows, of which 1, 4 and 7 are wrong at 0.75, 0.6 and 0.9.
fn rows() -> Vec<JudgedRow> {
    let p = [0.9, 0.75, 0.8, 0.7, 0.6, 0.55, 0.95, 0.9, 0.65, 0.85];
    (0..10)
        .map(|index| {
            let wrong = [1, 4, 7].contains(&index);
            row(
                &format!("row-{index}"),
                &[p[index], 1.0 - p[index]],
                usize::from(wrong),
            )
        })
        .collect()
}

fn is_self_contained(page: &str) {
    let lower = page.to_lowercase();
    for outside in [
        "<script",
        "<link",
        "<img",
        "<iframe",
        "<object",
        "src=",
        "@import",
        "url(",
        "javascript:",
    ] {
        assert!(!lower.contains(outside), "{outside}");
    }
    // The name space of SVG is the only address in it, and nothing fetches that.
    let addresses = lower.matches("http://").count() + lower.matches("https://").count();
    assert_eq!(
        addresses,
        lower.matches("xmlns=\"http://www.w3.org/2000/svg\"").count()
    );
    assert!(page.contains("default-src 'none'"));
    let control = page.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(control, None);
}

/// Every element that is opened is closed, in order.
fn is_well_formed(page: &str) {
    let mut open: Vec<String> = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').unwrap();
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(|c| c.is_alphanumeric())
            .collect();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.starts_with('!') && !tag.ends_with('/') && !["meta", "br"].contains(&name.as_str()) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<String>::new());
}

#[test]
fn it_shows_the_figures_and_where_they_come_from() {
    let rows = rows();
    let page = page(&rows, None, "a state", &names(&["yes", "no"]));
    is_self_contained(&page);
    is_well_formed(&page);
    for part in [
        "Calibration and selection",
        "All metrics",
        "By group",
        "Confusion matrix",
        "Worst mistakes",
        "Metrics without a value",
        "Provenance",
        "abc123",
        // The accuracy.
        "0.7000",
        "no predicate row has a gold option",
        "No row has a group.",
        "3 rows were answered wrong.",
        "prefers-color-scheme: dark",
        "The intervals resample 10 rows: with fewer than 30 they are rough",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<svg").count(), 3);
    for axis in [
        "Top probability (promised)",
        "Accuracy (kept)",
        "Coverage (share of rows answered)",
    ] {
        assert!(page.contains(axis), "{axis}");
    }
    // The worst mistake first.
    let at = |id: &str| page.find(&format!("<bdi>{id}</bdi>")).unwrap();
    assert!(at("row-7") < at("row-1") && at("row-1") < at("row-4"));
    assert!(!page.contains("<bdi>row-0</bdi>"));
    // 7 right of option 0, 3 of option 1 taken for option 0.
    assert!(page.contains("--share: 1.000\">7</td>"));
    assert!(page.contains("--share: 1.000\">3</td>"));
    // Without a second evaluation nothing speaks of one.
    assert!(!page.contains("before calibration"));
    assert_eq!(page, self::page(&rows, None, "a state", &names(&["yes", "no"])));
}

#[test]
fn raw_figures_stand_beside() {
    let calibrated = rows();
    let raw: Vec<JudgedRow> = calibrated
        .iter()
        .map(|judged| row(judged.id(), &[0.99, 0.01], judged.gold_option().unwrap()))
        .collect();
    let page = page(&calibrated, Some(&raw), "a state", &names(&["yes", "no"]));
    is_well_formed(&page);
    assert!(page.contains("before calibration"));
    // -(0.7 ln 0.99 + 0.3 ln 0.01)
    assert!(page.contains("before: 1.3886"), "{page}");
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "</td></style></svg><script>alert(1)</script><img src=x onerror=alert(1)>\
                   \" onmouseover=\"alert(1)' &lt;b&gt; \u{0}\u{8}\u{1b}[31m\u{202e}\u{ffff} ]]> <!-- {{ }} ${x}";
    let options = vec![hostile.to_owned(), format!("{hostile}2")];
    let rows: Vec<JudgedRow> = (0..10)
        .map(|index| row(&format!("{hostile}{index}"), &[0.75, 0.25], index % 2).in_group(hostile))
        .collect();
    let page = page(&rows, None, hostile, &options);
    is_well_formed(&page);
    let lower = page.to_lowercase();
    assert!(!lower.contains("<script") && !lower.contains("<img") && !lower.contains("<!--"));
    assert_eq!(page.chars().find(|c| c.is_control() && *c != '\n'), None);
    assert!(!page.contains('\u{202e}') && !page.contains('\u{ffff}'));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    // What was an entity to the caller is shown as they wrote it.
    assert!(page.contains("&amp;lt;b&amp;gt;"));
    // In every place: the title twice, note, group, provenance; two options twice in the matrix; row, state, gold and said
    // of five mistakes.
    assert_eq!(page.matches("&lt;/td&gt;").count(), 5 + 4 + 20);
    // No attribute holds text of a caller.
    let tags = page
        .split('<')
        .filter_map(|part| part.split_once('>'))
        .map(|(tag, _)| tag);
    assert!(tags.into_iter().all(|tag| !tag.contains("alert")));
}

#[test]
fn long_text_is_cut() {
    let long = "ä<".repeat(1 << 19);
    let page = page(&rows(), None, &long, &[long.clone(), "no".to_owned()]);
    assert!(page.len() < 200_000, "{}", page.len());
    assert!(page.contains("more characters)"));
    is_well_formed(&page);
}

#[test]
fn odd_rows_have_a_page() {
    let p: Vec<Probability> = (0..255).map(|_| Probability::new(1.0 / 255.0).unwrap()).collect();
    let many = JudgedRow::new("many", Shape::Choice, p, Gold::Option(254)).unwrap();
    let many_names: Vec<String> = (0..255).map(|option| option.to_string()).collect();
    let whole = page(&[many], None, "s", &many_names);
    is_well_formed(&whole);
    assert!(whole.contains("there are 255 options"));
    assert!(whole.contains("there is one row"));
    // No gold option at all.
    let half = vec![Probability::new(0.5).unwrap(); 2];
    let tied = JudgedRow::new("tied", Shape::Score, half, Gold::Ratings(vec![0.5, 0.5])).unwrap();
    let whole = page(&[tied], None, "s", &names(&["low", "high"]));
    is_well_formed(&whole);
    assert!(whole.contains("several leading options") && whole.contains("KL divergence from ratings"));
    assert!(!whole.contains("<svg"));
    // Every row right, and one so at 1.
    let whole = page(
        &[row("a", &[1.0, 0.0], 0), row("b", &[1.0, 0.0], 0)],
        None,
        "s",
        &names(&["x", "y"]),
    );
    is_well_formed(&whole);
    assert!(whole.contains("No row with a gold option was answered wrong."));
}

#[test]
fn different_lists_of_options_have_no_matrix() {
    let rows = [row("a", &[0.75, 0.25], 0), row("b", &[0.75, 0.25], 1)];
    let (one, other) = (names(&["x", "y"]), names(&["x", "z"]));
    let shown = |row, options| ShownRow {
        row,
        state: "",
        question: "",
        options,
    };
    let evaluation = evaluate(&rows);
    let report = |rows: &[ShownRow<'_>]| {
        Report {
            title: "t",
            provenance: &[],
            evaluation: &evaluation,
            rows,
            before: None,
            notes: &[],
        }
        .html()
    };
    let page = report(&[shown(&rows[0], &one), shown(&rows[1], &other)]).unwrap();
    assert!(page.contains("Not shown: rows have different lists of options."));
    // What does not belong together is refused.
    let error = report(&[shown(&rows[0], &one)]).unwrap_err().to_string();
    assert!(error.contains("1 rows for one of 2"), "{error}");
    let short = names(&["x"]);
    let error = report(&[shown(&rows[0], &one), shown(&rows[1], &short)])
        .unwrap_err()
        .to_string();
    assert_eq!(error, "row \"b\": 1 option names for 2 options");
}

#[test]
fn groups_beyond_two_hundred_are_in_the_json_only() {
    let rows: Vec<JudgedRow> = (0..205)
        .map(|index| row(&index.to_string(), &[0.75, 0.25], 0).in_group(format!("group-{index}-")))
        .collect();
    let page = page(&rows, None, "s", &names(&["x", "y"]));
    assert!(page.contains("The first 200 of 205 groups"));
    assert!(page.contains("group-199-") && !page.contains("group-200-"));
    assert_eq!(evaluate(&rows).by_group.len(), 205);
}
