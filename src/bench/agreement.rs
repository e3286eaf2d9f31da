//! Next-token distributions of real prompts: how far a faster variant is from float32.

use assize_models::{Backbone, TokenId};
use assize_preprocess::PromptTokenizer;
use assize_preprocess::prompt::{EncodeOptions, PromptForm, Truncate};
use serde::Serialize;

use super::divergence::Divergence;
use super::prompts::last_position;
use super::report::Record;
use super::task::Task;
use super::{BenchError, Host, Summary, quantile};

/// Agreement of one variant with the reference.
#[derive(Debug, Clone, Serialize)]
pub struct AgreementRecord {
    /// Always `agreement`.
    pub test: &'static str,
    /// Name of the model.
    pub model: String,
    /// What was compared.
    pub variant: String,
    /// What it was compared with.
    pub reference: String,
    /// Prompts.
    pub prompts: usize,
    /// Mean tokens of a prompt.
    pub mean_tokens: f64,
    /// Longest prompt.
    pub max_tokens: usize,
    /// Share of prompts where both put the same token first.
    pub top1_agreement: f64,
    /// Mean of KL(reference || variant), nats.
    pub mean_kl: f64,
    /// Its 99th percentile.
    pub p99_kl: f64,
    /// Its largest value.
    pub max_kl: f64,
    /// How the variant was built, where it is another library.
    pub variant_build: Option<String>,
    /// Version and features of this binary.
    pub build: String,
    /// The processor.
    pub cpu: String,
}

impl Record for AgreementRecord {
    const COLUMNS: &'static [&'static str] = &[
        "model",
        "variant",
        "reference",
        "prompts",
        "mean_tokens",
        "top1_agreement",
        "mean_kl",
        "p99_kl",
        "max_kl",
    ];
}

/// Something that gives next-token logits at the last position of a prompt.
pub trait NextToken {
    /// Logits over the whole vocabulary.
    ///
    /// # Errors
    /// The engine fails.
    fn next_token(&mut self, tokens: &[TokenId]) -> Result<Vec<f32>, BenchError>;
}

impl NextToken for &dyn Backbone {
    fn next_token(&mut self, tokens: &[TokenId]) -> Result<Vec<f32>, BenchError> {
        let hidden = self.forward(&last_position(tokens)?)?;
        Ok(self.logits(&hidden)?)
    }
}

/// A variant to compare.
pub struct Variant<'v> {
    /// Its name in the record.
    pub name: String,
    /// How it was built, where it is another library.
    pub build: Option<String>,
    /// What runs it.
    pub model: &'v mut dyn NextToken,
}

/// Prompts of both data sets in one form: the texts of each task in turn, cut to `max_tokens` at their end.
///
/// # Errors
/// A prompt cannot be built.
pub fn real_prompts(
    tokenizer: &PromptTokenizer,
    form: &PromptForm,
    tasks: &[Task],
    max_tokens: usize,
) -> Result<Vec<Vec<TokenId>>, BenchError> {
    let options = EncodeOptions {
        context: max_tokens,
        truncate: Truncate::End,
        order_averages: 1,
        prior: false,
    };
    let longest = tasks.iter().map(|task| task.rows.len()).max().unwrap_or(0);
    let mut prompts = Vec::new();
    for place in 0..longest {
        for task in tasks {
            let Some(row) = task.rows.get(place) else { continue };
            let encoded = form.encode(tokenizer, &task.decision(row), &options)?;
            let mut tokens = encoded.state;
            let order = encoded
                .questions
                .into_iter()
                .next()
                .and_then(|question| question.orders.into_iter().next());
            tokens.extend(order.into_iter().flat_map(|order| order.tokens));
            prompts.push(tokens);
        }
    }
    Ok(prompts)
}

/// Compares every variant with `reference` on every prompt; `progress` hears of each prompt.
///
/// # Errors
/// A variant fails.
pub fn agreement(
    model: &str,
    host: &Host,
    reference: (&str, &mut dyn NextToken),
    variants: &mut [Variant<'_>],
    prompts: &[Vec<TokenId>],
    progress: impl Fn(),
) -> Result<Vec<AgreementRecord>, BenchError> {
    let (reference_name, reference) = reference;
    let mut found = vec![Divergence::default(); variants.len()];
    for prompt in prompts {
        let expected = reference.next_token(prompt)?;
        for (divergence, variant) in found.iter_mut().zip(variants.iter_mut()) {
            divergence.add(&expected, &variant.model.next_token(prompt)?);
        }
        progress();
    }
    let lengths: Vec<f64> = prompts.iter().map(|prompt| prompt.len() as f64).collect();
    let lengths = Summary::of(&lengths);
    Ok(variants
        .iter()
        .zip(found)
        .map(|(variant, divergence)| {
            let kl = Summary::of(divergence.kl());
            AgreementRecord {
                test: "agreement",
                model: model.to_owned(),
                variant: variant.name.clone(),
                reference: reference_name.to_owned(),
                prompts: divergence.prompts(),
                mean_tokens: lengths.mean,
                max_tokens: lengths.max as usize,
                top1_agreement: divergence.top1_agreement(),
                mean_kl: kl.mean,
                p99_kl: quantile(divergence.kl(), 0.99),
                max_kl: kl.max,
                variant_build: variant.build.clone(),
                build: host.build.clone(),
                cpu: host.cpu.clone(),
            }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(fn(usize) -> [f32; 2]);

    impl NextToken for Fixed {
        fn next_token(&mut self, tokens: &[TokenId]) -> Result<Vec<f32>, BenchError> {
            Ok((self.0)(tokens.len()).to_vec())
        }
    }

    #[test]
    fn each_variant_is_compared_on_every_prompt() {
        let mut reference = Fixed(|n| [0.0, n as f32]);
        let mut same = Fixed(|n| [1.0, 1.0 + n as f32]);
        let mut other = Fixed(|n| if n == 1 { [0.0, 1.0] } else { [5.0, 0.0] });
        let mut variants = [
            Variant {
                name: "same".into(),
                build: None,
                model: &mut same,
            },
            Variant {
                name: "other".into(),
                build: None,
                model: &mut other,
            },
        ];
        let prompts = [vec![1], vec![1, 2]];
        let records = agreement(
            "m",
            &Host::read(),
            ("reference", &mut reference),
            &mut variants,
            &prompts,
            || (),
        )
        .unwrap();
        assert_eq!((records[0].top1_agreement, records[1].top1_agreement), (1.0, 0.5));
        assert!(records[0].max_kl < 1e-9 && records[1].max_kl > 1.0);
        assert_eq!(records[0].mean_tokens, 1.5);
        let json = serde_json::to_value(&records[0]).unwrap();
        for key in AgreementRecord::COLUMNS {
            assert!(json.get(key).is_some(), "{key}");
        }
    }
}
