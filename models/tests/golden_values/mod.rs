//! Reads the golden files of `tests/golden/`, loads the checkpoints beside them, and measures gaps.

// Every test binary uses its own part of this module.
#![allow(dead_code, unused_macros, unused_imports)]

use std::path::PathBuf;

use assize_models::engines::{self, Device, Engine, EngineOptions};
use assize_models::store::{DEFAULT_MODEL, Store, default_cache_dir};
use assize_models::{Backbone, Checkpoint, HiddenStates, PackedBatch, Precision, SegmentIndex, TokenId};
use safetensors::SafeTensors;

/// `tests/golden/NAME`.
pub fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/golden")
        .join(name)
}

/// A manifest and the numbers that belong to it.
pub struct Golden {
    pub manifest: serde_json::Value,
    bytes: Vec<u8>,
}

impl Golden {
    /// Reads `manifest.json` and `values.safetensors` of a folder under `tests/golden/`.
    pub fn open(name: &str) -> Self {
        let folder = folder(name);
        let read = |file: &str| {
            let path = folder.join(file);
            std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let manifest = serde_json::from_slice(&read("manifest.json")).expect("manifest.json is JSON");
        Self {
            manifest,
            bytes: read("values.safetensors"),
        }
    }

    /// A float32 tensor as rows of its last dimension.
    pub fn rows(&self, name: &str) -> Vec<Vec<f32>> {
        let file = SafeTensors::deserialize(&self.bytes).expect("values.safetensors is readable");
        let tensor = file.tensor(name).expect(name);
        assert_eq!(tensor.dtype(), safetensors::Dtype::F32, "{name}");
        let numbers: Vec<f32> = tensor
            .data()
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        let width = *tensor.shape().last().expect("a dimension");
        numbers.chunks_exact(width).map(<[f32]>::to_vec).collect()
    }

    /// An int32 tensor, flat.
    pub fn integers(&self, name: &str) -> Vec<u32> {
        let file = SafeTensors::deserialize(&self.bytes).expect("values.safetensors is readable");
        let tensor = file.tensor(name).expect(name);
        assert_eq!(tensor.dtype(), safetensors::Dtype::I32, "{name}");
        tensor
            .data()
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect()
    }
}

/// A JSON array of token ids.
pub fn token_ids(value: &serde_json::Value) -> Vec<TokenId> {
    value
        .as_array()
        .expect("an array of ids")
        .iter()
        .map(|id| id.as_u64().expect("an id") as TokenId)
        .collect()
}

/// Makes one test of each engine that is built in: `name::onnx` and, with the feature `torch`, `name::torch`.
macro_rules! on_every_engine {
    ($($name:ident),+ $(,)?) => {
        $(mod $name {
            use assize_models::engines::Engine;

            #[test]
            fn onnx() {
                super::$name(Engine::Onnx);
            }

            #[cfg(feature = "torch")]
            #[test]
            fn torch() {
                super::$name(Engine::Torch);
            }
        })+
    };
}
pub(crate) use on_every_engine;

/// A loaded checkpoint and the folder of the engine's own files, which goes when this does.
pub struct Loaded {
    backbone: Box<dyn Backbone>,
    // Dropped after the backbone, which maps its files.
    _lowered: tempfile::TempDir,
}

impl Loaded {
    /// Loads by `load`, which is given two threads on the processor and a folder of its own.
    pub fn by<E: std::fmt::Display>(
        engine: Engine,
        precision: Precision,
        load: impl FnOnce(&EngineOptions) -> Result<Box<dyn Backbone>, E>,
    ) -> Self {
        let lowered = tempfile::tempdir().expect("a scratch folder");
        let options = EngineOptions {
            engine: Some(engine),
            device: Device::Cpu,
            precision: Some(precision),
            threads: Some(2),
            layers: None,
            lowered_dir: lowered.path().to_path_buf(),
            library_dir: default_cache_dir().map(|cache| cache.join("onnxruntime")),
        };
        Self {
            backbone: load(&options).unwrap_or_else(|error| panic!("{error}")),
            _lowered: lowered,
        }
    }
}

impl std::ops::Deref for Loaded {
    type Target = dyn Backbone;

    fn deref(&self) -> &Self::Target {
        self.backbone.as_ref()
    }
}

impl AsRef<dyn Backbone> for Loaded {
    fn as_ref(&self) -> &(dyn Backbone + 'static) {
        self.backbone.as_ref()
    }
}

/// Opens a checkpoint under `tests/golden/` and loads it.
pub fn tiny(engine: Engine, name: &str, precision: Precision) -> Loaded {
    let checkpoint = Checkpoint::open(&folder(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    load(engine, &checkpoint, precision)
}

/// Loads an opened checkpoint with two threads on the processor.
pub fn load(engine: Engine, checkpoint: &Checkpoint, precision: Precision) -> Loaded {
    let backbone = Loaded::by(engine, precision, |options| engines::load(checkpoint, options));
    let found = backbone.engine();
    assert_eq!(
        (found.precision, found.name),
        (precision, engine.to_string().as_str())
    );
    backbone
}

/// What an engine computes in.
pub fn precisions(engine: Engine) -> [Precision; 2] {
    match engine {
        Engine::Onnx => [Precision::Float32, Precision::Int8],
        Engine::Torch => [Precision::Float32, Precision::Bfloat16],
    }
}

/// The default model, or `None` with a printed line where it is not in the cache.
///
/// # Panics
/// It is not in the cache and `ASSIZE_REQUIRE_MODEL=1`, as the project's test command sets it.
pub fn default_model(test: &str) -> Option<Checkpoint> {
    let store = Store::open(None).expect("the cache folder");
    let cached = store
        .list()
        .expect("the models in the cache")
        .iter()
        .any(|model| model.name == DEFAULT_MODEL);
    if !cached {
        let required = std::env::var_os("ASSIZE_REQUIRE_MODEL").is_some_and(|value| value == "1");
        assert!(
            !required,
            "{DEFAULT_MODEL} is not in the cache: run `assize model pull` first"
        );
        println!("skipped: {test} needs {DEFAULT_MODEL}; `assize model pull` fetches it");
        return None;
    }
    Some(
        store
            .resolve(DEFAULT_MODEL)
            .unwrap_or_else(|error| panic!("{error}")),
    )
}

/// Hidden state at the last token of `ids`, in a pass of its own.
pub fn alone(backbone: &dyn Backbone, ids: &[TokenId]) -> Vec<f32> {
    let mut batch = PackedBatch::new();
    let segment = batch.push_segment(None, ids).expect("a segment");
    batch.read_last(segment).expect("a read");
    let hidden = backbone.forward(&batch).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(hidden.len(), 1);
    hidden.values().to_vec()
}

/// Pushes `ids` under `parent` and asks for its last token.
pub fn push(batch: &mut PackedBatch, parent: Option<SegmentIndex>, ids: &[TokenId]) -> SegmentIndex {
    let segment = batch.push_segment(parent, ids).expect("a segment");
    batch.read_last(segment).expect("a read");
    segment
}

/// Rows of hidden states.
pub fn rows_of(hidden: &HiddenStates) -> Vec<&[f32]> {
    hidden.values().chunks_exact(hidden.width()).collect()
}

/// Largest absolute difference, relative to the root mean square of `wanted`.
pub fn gap(found: &[f32], wanted: &[f32]) -> f32 {
    assert_eq!(found.len(), wanted.len());
    let square: f64 = wanted.iter().map(|&w| f64::from(w) * f64::from(w)).sum();
    let rms = (square / wanted.len() as f64).sqrt() as f32;
    let worst = found
        .iter()
        .zip(wanted)
        .map(|(f, w)| (f - w).abs())
        .fold(0.0, f32::max);
    assert!(found.iter().all(|f| f.is_finite()), "not finite");
    worst / rms
}
