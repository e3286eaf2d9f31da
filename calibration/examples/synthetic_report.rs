//! Times an evaluation of generated rows.
use assize_calibration::evaluation::*;
use assize_calibration::{Probability, Shape, softmax};
use rand::{RngExt, SeedableRng};

fn main() {
    let args: Vec<usize> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let (n, k, groups) = (args[0], args[1], args[2]);
    let mut r = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let rows: Vec<JudgedRow> = (0..n)
        .map(|i| {
            let s: Vec<f32> = (0..k).map(|_| r.random::<f32>() * 6.0).collect();
            let p = softmax(&s).unwrap();
            let u: f64 = r.random();
            let mut acc = 0.0;
            let mut gold = 0;
            for (j, q) in p.iter().enumerate() {
                acc += q.get();
                if u < acc { gold = j; break; }
            }
            let shape = if k == 2 { Shape::Predicate } else { Shape::Choice };
            let row = JudgedRow::new(format!("r{i}"), shape, p, Gold::Option(gold)).unwrap();
            if groups > 0 { row.in_group(format!("g{}", i % groups)) } else { row }
        })
        .collect();
    let t = std::time::Instant::now();
    let e = Evaluation::of(&rows, &EvaluationOptions::default()).unwrap();
    println!("{:?}", t.elapsed());
    println!("{:?}", e.overall.get(Metric::ClasswiseEce));
    println!("{:?}", e.overall.get(Metric::EceEqualMass15));
    let _ = Probability::ONE;
}
