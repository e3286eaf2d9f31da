//! Hugging Face folders: `config.json`, safetensors (one file or shards) and `tokenizer.json`.

mod config;
mod description;
mod gemma4_unified;
mod rope_parameters;
mod source;

pub(crate) use config::Config;
pub(crate) use description::description;
pub(crate) use source::SafetensorsWeights;
pub(crate) use source::weight_files;

#[cfg(test)]
mod tests;
