//! A running server, and a backbone whose every forward pass the test can hold.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use assize::http::{Access, App, Drained, ServerLimits, serve};
use assize::service::Service;
use assize_models::engines::{self, Device, EngineOptions};
use assize_models::store::Store;
use assize_models::{
    Backbone, Checkpoint, DecoderDescription, EngineInfo, HiddenStates, ModelError, PackedBatch, Precision,
    TokenId,
};
use tokio::sync::oneshot;

pub fn model_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny_llama")
}

/// The inference library that this machine has.
pub fn library() -> PathBuf {
    let folder = Store::open(None).unwrap().library_dir();
    engines::host(Some(&folder)).unwrap().library
}

fn checkpoint() -> Checkpoint {
    Checkpoint::open(&model_path()).unwrap()
}

fn load_backbone() -> Box<dyn Backbone> {
    load(&checkpoint())
}

/// A checkpoint in float32.
pub fn load(checkpoint: &Checkpoint) -> Box<dyn Backbone> {
    static LOWERED: OnceLock<PathBuf> = OnceLock::new();
    // ONNX Runtime does not register a custom operator domain from two threads at once.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _loading = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    // A static is never dropped, so the engine's own files have one place, emptied by the next run.
    let lowered = LOWERED.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("http-lowered");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
        folder
    });
    let options = EngineOptions {
        engine: None,
        device: Device::Auto,
        precision: Some(Precision::Float32),
        threads: None,
        layers: None,
        lowered_dir: lowered.clone(),
        library_dir: Some(Store::open(None).unwrap().library_dir()),
    };
    engines::load(checkpoint, &options).unwrap()
}

/// The service on the tiny checkpoint, in float32; loaded once.
pub fn service() -> Arc<Service> {
    static SERVICE: OnceLock<Arc<Service>> = OnceLock::new();
    Arc::clone(
        SERVICE.get_or_init(|| Arc::new(Service::with_backbone(&checkpoint(), load_backbone()).unwrap())),
    )
}

/// What the next forward pass does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    Run,
    Fail,
    Panic,
}

/// Holds every forward pass until the test says what it does.
struct Gated {
    inner: Box<dyn Backbone>,
    started: Sender<PackedBatch>,
    go: Mutex<Receiver<Pass>>,
}

impl Backbone for Gated {
    fn description(&self) -> &DecoderDescription {
        self.inner.description()
    }

    fn engine(&self) -> &EngineInfo {
        self.inner.engine()
    }

    fn weight_bytes(&self) -> u64 {
        self.inner.weight_bytes()
    }

    fn forward(&self, batch: &PackedBatch) -> Result<HiddenStates, ModelError> {
        let over = |_| ModelError::InvalidBatch("the test is over".into());
        self.started
            .send(batch.clone())
            .map_err(|_| ModelError::InvalidBatch("the test is over".into()))?;
        let pass = self
            .go
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .recv()
            .map_err(over)?;
        match pass {
            Pass::Run => self.inner.forward(batch),
            Pass::Fail => Err(ModelError::InvalidBatch("as the test wants".into())),
            Pass::Panic => panic!("as the test wants"),
        }
    }

    fn logits_of(&self, hidden: &[f32], tokens: &[TokenId]) -> Result<Vec<f32>, ModelError> {
        self.inner.logits_of(hidden, tokens)
    }

    fn logits(&self, hidden: &HiddenStates) -> Result<Vec<f32>, ModelError> {
        self.inner.logits(hidden)
    }

    fn log_normalizers(&self, hidden: &HiddenStates) -> Result<Vec<f32>, ModelError> {
        self.inner.log_normalizers(hidden)
    }
}

/// The test's hand on the gate.
pub struct Gate {
    started: Receiver<PackedBatch>,
    go: Sender<Pass>,
}

impl Gate {
    /// Waits until a forward pass is about to run; gives the number of requests in it.
    pub fn next(&self) -> usize {
        let batch = self
            .started
            .recv_timeout(Duration::from_secs(60))
            .expect("a forward pass");
        // Each request is a tree of its own, with a second root for the prior.
        batch
            .segments()
            .iter()
            .filter(|segment| segment.parent.is_none())
            .count()
            .div_ceil(2)
    }

    /// Whether a forward pass starts within `time`.
    pub fn starts_within(&self, time: Duration) -> bool {
        self.started.recv_timeout(time).is_ok()
    }

    pub fn let_go(&self, pass: Pass) {
        self.go.send(pass).unwrap();
    }

    /// Lets every pass run from now on.
    pub fn open(&self) {
        for _ in 0..10_000 {
            self.go.send(Pass::Run).unwrap();
        }
    }
}

/// A running server.
pub struct Rig {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    abort: Option<oneshot::Sender<()>>,
    done: Option<std::thread::JoinHandle<Drained>>,
}

impl Rig {
    pub fn start() -> Self {
        Self::with(ServerLimits::default())
    }

    pub fn with(limits: ServerLimits) -> Self {
        Self::serving(service(), limits)
    }

    /// A server whose forward passes are held.
    pub fn gated(limits: ServerLimits) -> (Self, Gate) {
        Self::gated_with(limits, Access::default())
    }

    /// The same for those whom `access` lets in.
    pub fn gated_with(limits: ServerLimits, access: Access) -> (Self, Gate) {
        let (started_tx, started) = channel();
        let (go, go_rx) = channel();
        let gated = Gated {
            inner: load_backbone(),
            started: started_tx,
            go: Mutex::new(go_rx),
        };
        let service = Service::with_backbone(&checkpoint(), Box::new(gated)).unwrap();
        (
            Self::with_access(Arc::new(service), limits, access),
            Gate { started, go },
        )
    }

    pub fn serving(service: Arc<Service>, limits: ServerLimits) -> Self {
        Self::with_access(service, limits, Access::default())
    }

    pub fn with_access(service: Arc<Service>, limits: ServerLimits, access: Access) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (abort, aborted) = oneshot::channel();
        let (ready_tx, ready) = channel();
        let done = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            let drained = runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                ready_tx.send(listener.local_addr().unwrap()).unwrap();
                let app = App::start_with(service, limits, access).unwrap();
                let stop = async {
                    // A dropped sender stops the server as well.
                    let _ = stopped.await;
                };
                let abort = async {
                    let _ = aborted.await;
                };
                serve(app, listener, stop, abort).await
            });
            runtime.shutdown_background();
            drained
        });
        let address = ready.recv_timeout(Duration::from_secs(60)).unwrap();
        Self {
            address,
            stop: Some(stop),
            abort: Some(abort),
            done: Some(done),
        }
    }

    /// Tells the server to stop, without waiting.
    pub fn tell_to_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Tells a stopping server to give up, without waiting.
    pub fn tell_to_abort(&mut self) {
        self.abort.take().unwrap().send(()).unwrap();
    }

    /// Waits for the end.
    pub fn wait(&mut self) -> Drained {
        self.done.take().unwrap().join().unwrap()
    }

    /// The value of a metric without labels, or with exactly these.
    pub fn metric(&self, name: &str) -> f64 {
        let reply = super::client::get(self.address, "/metrics");
        let text = String::from_utf8(reply.body).unwrap();
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
            .unwrap_or_else(|| panic!("no {name} in {text}"))
    }

    /// Waits until a metric has a value.
    pub fn wait_for(&self, name: &str, value: f64) {
        for _ in 0..2_000 {
            if self.metric(name) == value {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("{name} is {} and not {value}", self.metric(name));
    }
}
