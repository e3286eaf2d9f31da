//! Lowering a decoder description to an ONNX graph, built in process.
//!
//! Inputs: `tokens` int32 `[rows]`, `rows` int32 `[rows]` (0, 1, 2, ...), `segments` int32 `[n, 4]`, `reads` int32
//! `[reads]`. Output: `hidden` float32 `[reads, hidden]`, after the final norm. The last layer computes keys and values
//! for all rows, and everything else for the reads only.
//!
//! A model that reads media has the inputs `soft` float32 `[n, hidden]`, `soft_rows` int32 `[n]` and `pictures` int32
//! `[p, 2]` too (see [`super::media`]).

use std::sync::{Mutex, PoisonError};

use ort::operator::OperatorDomain;
use ort::session::Session;
use prost::Message;

use super::lowered::layer_name;
use super::operators::{
    AttentionNode, AttentionOperator, DOMAIN, EmbeddingOperator, Epilogue, INDEX, LinearNode, LinearOperator,
    LogNormalizerOperator, LogitsOperator, NormNode, NormOperator, OutputConstants, RotaryOperator, Shared,
    Wiring,
};
use super::protobuf::{AttributeProto, Element, GraphProto, ModelProto, NodeProto, OperatorSetId, ValueInfo};
use super::{engine_error, library::Runtime};
use crate::kernels::attention::AttentionShape;
use crate::{DecoderDescription, LayerDescription, ModelError, PictureSight, Rope};

/// Version of the standard operators (only `Gather` is used).
const OPSET: i64 = 21;
/// Version of the file format.
const IR_VERSION: i64 = 10;
/// The domain of the standard operators.
const ONNX_DOMAIN: &str = "";

/// Nodes and their constants while the graph grows.
struct Lowering<'a> {
    shared: &'a Shared,
    graph: GraphProto,
    linears: Vec<LinearNode>,
    norms: Vec<NormNode>,
    attentions: Vec<AttentionNode>,
    ropes: Vec<Rope>,
    epsilon: f32,
}

impl Lowering<'_> {
    fn node(&mut self, operator: &str, name: &str, inputs: &[&str], outputs: &[&str], index: usize) {
        let index = AttributeProto::int(INDEX, index as i64);
        self.graph
            .node
            .push(node(operator, DOMAIN, name, inputs, outputs, vec![index]));
    }

    fn gather(&mut self, data: &str, indices: &str, output: &str) {
        let axis = AttributeProto::int("axis", 0);
        let name = format!("gather.{output}");
        self.graph.node.push(node(
            "Gather",
            ONNX_DOMAIN,
            &name,
            &[data, indices],
            &[output],
            vec![axis],
        ));
    }

    fn linear(
        &mut self,
        inputs: &[&str],
        output: &str,
        norm: Option<String>,
        matrices: &[String],
        epilogue: Epilogue,
        columns: usize,
    ) -> Result<(), ModelError> {
        let norm = norm.map(|name| self.shared.weights.vector(&name)).transpose()?;
        let epsilon = self.epsilon;
        let matrices = matrices.to_vec();
        self.linears.push(LinearNode {
            norm: norm.map(|weight| (weight, epsilon)),
            matrices,
            epilogue,
            columns,
        });
        self.node("Linear", output, inputs, &[output], self.linears.len() - 1);
        Ok(())
    }

    fn norm(
        &mut self,
        inputs: &[&str],
        output: &str,
        weight: &str,
        scale: Option<f32>,
    ) -> Result<(), ModelError> {
        let weight = self.shared.weights.vector(weight)?;
        self.norms.push(NormNode {
            weight,
            epsilon: self.epsilon,
            residual: inputs.len() > 1,
            scale,
        });
        self.node("Norm", output, inputs, &[output], self.norms.len() - 1);
        Ok(())
    }

    /// The names of the tables of `rope`, computed once per distinct embedding.
    fn rotary(&mut self, rope: &Rope) -> (String, String) {
        let known = self.ropes.iter().position(|known| known == rope);
        let index = known.unwrap_or(self.ropes.len());
        let (cos, sin) = (format!("rotary.{index}.cos"), format!("rotary.{index}.sin"));
        if known.is_none() {
            self.ropes.push(rope.clone());
            self.node(
                "Rotary",
                &format!("rotary.{index}"),
                &["segments"],
                &[&cos, &sin],
                index,
            );
        }
        (cos, sin)
    }

    /// Adds a projection to the residual stream, through the layer's own norm and times its factor where it has them.
    fn join(
        &mut self,
        [source, residual, output]: [&str; 3],
        matrix: String,
        post_norm: Option<String>,
        scale: Option<f32>,
        hidden: usize,
    ) -> Result<(), ModelError> {
        match post_norm {
            None => self.linear(
                &[source, residual],
                output,
                None,
                &[matrix],
                Epilogue::Residual,
                hidden,
            ),
            Some(norm) => {
                let plain = format!("{output}.plain");
                self.linear(&[source], &plain, None, &[matrix], Epilogue::Store, hidden)?;
                self.norm(&[&plain, residual], output, &norm, scale)
            }
        }
    }

    /// One layer: reads the stream `input` and returns the name of the next.
    fn layer(
        &mut self,
        description: &DecoderDescription,
        index: usize,
        input: &str,
        last: bool,
    ) -> Result<String, ModelError> {
        let layer = &description.layers[index];
        let name = |tensor: &str| layer_name(index, tensor);
        let (query, pair) = (layer.heads * layer.head_dim, layer.key_value_width());
        let sight = description.picture_sight(layer);
        let norm = name("input_norm");
        let (cos, sin) = self.rotary(&layer.rope);
        let attended = name("attended");
        let residual = if last {
            let (read, queries, pairs) = (name("read"), name("queries"), name("keys_values"));
            self.gather(input, "reads", &read);
            let matrices = [name("query")];
            self.linear(
                &[&read],
                &queries,
                Some(norm.clone()),
                &matrices,
                Epilogue::Store,
                query,
            )?;
            self.linear(
                &[input],
                &pairs,
                Some(norm),
                &[name("key_value")],
                Epilogue::Store,
                pair,
            )?;
            self.attention(
                layer,
                sight,
                Wiring::Split,
                &[&queries, &pairs, "reads", "segments", &cos, &sin],
                &attended,
            )?;
            read
        } else {
            let joined = name("queries_keys_values");
            let matrices = [name("query"), name("key_value")];
            self.linear(
                &[input],
                &joined,
                Some(norm),
                &matrices,
                Epilogue::Store,
                query + pair,
            )?;
            self.attention(
                layer,
                sight,
                Wiring::Joined,
                &[&joined, &joined, "rows", "segments", &cos, &sin],
                &attended,
            )?;
            input.to_owned()
        };
        let (middle, gated, output) = (name("middle"), name("gated"), name("output"));
        let post = |tensor: &str| layer.post_norms.then(|| name(tensor));
        let hidden = description.hidden;
        let (matrix, post_norm) = (name("attention_output"), post("post_attention_norm"));
        self.join([&attended, &residual, &middle], matrix, post_norm, None, hidden)?;
        let (epilogue, norm) = (Epilogue::Gate(description.activation), name("feed_forward_norm"));
        self.linear(
            &[&middle],
            &gated,
            Some(norm),
            &[name("gate_up")],
            epilogue,
            layer.intermediate,
        )?;
        let scale = match layer.output_scale {
            true => self
                .shared
                .weights
                .vector(&name("output_scale"))?
                .first()
                .copied(),
            false => None,
        };
        let (matrix, post_norm) = (name("down"), post("post_feed_forward_norm"));
        self.join([&gated, &middle, &output], matrix, post_norm, scale, hidden)?;
        Ok(output)
    }

    fn attention(
        &mut self,
        layer: &LayerDescription,
        sight: PictureSight,
        wiring: Wiring,
        inputs: &[&str],
        output: &str,
    ) -> Result<(), ModelError> {
        let prefix = output.trim_end_matches("attended");
        let norm = |tensor: &str| {
            layer
                .qk_norm
                .then(|| self.shared.weights.vector(&format!("{prefix}{tensor}")))
                .transpose()
        };
        let shape = AttentionShape {
            heads: layer.heads,
            kv_heads: layer.kv_heads,
            head_dim: layer.head_dim,
            scale: layer.attention_scale,
            window: layer.window,
            epsilon: self.epsilon,
            query_norm: norm("query_norm")?,
            key_norm: norm("key_norm")?,
            value_norm: layer.value_norm,
            sight,
        };
        self.attentions.push(AttentionNode {
            shape,
            wiring,
            shared_key_value: layer.shared_key_value,
        });
        let mut inputs = inputs.to_vec();
        if sight != PictureSight::Causal {
            inputs.push("pictures");
        }
        self.node("Attention", output, &inputs, &[output], self.attentions.len() - 1);
        Ok(())
    }
}

pub(super) fn node(
    operator: &str,
    domain: &str,
    name: &str,
    inputs: &[&str],
    outputs: &[&str],
    attribute: Vec<AttributeProto>,
) -> NodeProto {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    NodeProto {
        input: owned(inputs),
        output: owned(outputs),
        name: name.to_owned(),
        op_type: operator.to_owned(),
        attribute,
        domain: domain.to_owned(),
    }
}

/// Builds the session of one graph and its operators.
pub(super) fn session(
    runtime: &Runtime,
    graph: GraphProto,
    domain: OperatorDomain,
) -> Result<Session, ModelError> {
    let opset = |domain: &str, version| OperatorSetId {
        domain: domain.to_owned(),
        version,
    };
    let opset_import = vec![opset(ONNX_DOMAIN, OPSET), opset(DOMAIN, 1)];
    let model = ModelProto {
        ir_version: IR_VERSION,
        opset_import,
        graph: Some(graph),
    };
    // ONNX Runtime registers a domain per process for a moment, and refuses a second one of its name meanwhile.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    Session::builder(&runtime.environment)
        .map_err(engine_error)?
        .with_memory_pattern(false)
        .map_err(engine_error)?
        .with_operators(domain)
        .map_err(engine_error)?
        .commit_from_memory(&model.encode_to_vec())
        .map_err(engine_error)
}

/// The session that turns a packed batch into hidden states.
pub(super) fn decoder(
    runtime: &Runtime,
    shared: &Shared,
    description: &DecoderDescription,
) -> Result<Session, ModelError> {
    let mut lowering = Lowering {
        shared,
        graph: GraphProto {
            name: "decoder".to_owned(),
            ..Default::default()
        },
        linears: Vec::new(),
        norms: Vec::new(),
        attentions: Vec::new(),
        ropes: Vec::new(),
        epsilon: description.norm_epsilon,
    };
    lowering.graph.input = vec![
        ValueInfo::tensor("tokens", Element::Int32, &[Err("rows")]),
        ValueInfo::tensor("rows", Element::Int32, &[Err("rows")]),
        ValueInfo::tensor("segments", Element::Int32, &[Err("segments"), Ok(4)]),
        ValueInfo::tensor("reads", Element::Int32, &[Err("reads")]),
    ];
    let hidden = description.hidden as i64;
    lowering.graph.output = vec![ValueInfo::tensor(
        "hidden",
        Element::Float32,
        &[Err("reads"), Ok(hidden)],
    )];
    let mut embedded = vec!["tokens"];
    if description.media.is_some() {
        lowering.graph.input.extend([
            ValueInfo::tensor("soft", Element::Float32, &[Err("soft"), Ok(hidden)]),
            ValueInfo::tensor("soft_rows", Element::Int32, &[Err("soft")]),
            ValueInfo::tensor("pictures", Element::Int32, &[Err("pictures"), Ok(2)]),
        ]);
        embedded.extend(["soft", "soft_rows"]);
    }
    lowering.node("Embedding", "embedding", &embedded, &["stream"], 0);
    let mut stream = "stream".to_owned();
    for index in 0..description.layers.len() {
        let last = index + 1 == description.layers.len();
        stream = lowering.layer(description, index, &stream, last)?;
    }
    lowering.norm(&[&stream], "hidden", "final_norm", None)?;
    let Lowering {
        graph,
        linears,
        norms,
        attentions,
        ropes,
        ..
    } = lowering;
    let domain = OperatorDomain::new(DOMAIN)
        .and_then(|domain| {
            domain.add(EmbeddingOperator {
                shared: shared.clone(),
                hidden: description.hidden,
                scale: description.embedding_scale,
                media: description.media.is_some(),
            })
        })
        .and_then(|domain| {
            domain.add(LinearOperator {
                shared: shared.clone(),
                nodes: linears,
            })
        })
        .and_then(|domain| {
            domain.add(NormOperator {
                shared: shared.clone(),
                nodes: norms,
            })
        })
        .and_then(|domain| {
            domain.add(AttentionOperator {
                shared: shared.clone(),
                nodes: attentions,
            })
        })
        .and_then(|domain| domain.add(RotaryOperator { ropes }))
        .map_err(engine_error)?;
    session(runtime, graph, domain)
}

/// The sessions that turn hidden states into log-normalisers and into logits.
pub(super) fn outputs(
    runtime: &Runtime,
    constants: &OutputConstants,
) -> Result<(Session, Session), ModelError> {
    let build = |operator: &str, dims: &[Result<i64, &str>], domain: OperatorDomain| {
        let width = constants.width as i64;
        let graph = GraphProto {
            node: vec![node(
                operator,
                DOMAIN,
                operator,
                &["hidden"],
                &["out"],
                Vec::new(),
            )],
            name: operator.to_owned(),
            input: vec![ValueInfo::tensor(
                "hidden",
                Element::Float32,
                &[Err("rows"), Ok(width)],
            )],
            output: vec![ValueInfo::tensor("out", Element::Float32, dims)],
        };
        session(runtime, graph, domain)
    };
    let domain = || OperatorDomain::new(DOMAIN).map_err(engine_error);
    let normalizers = domain()?
        .add(LogNormalizerOperator(constants.clone()))
        .map_err(engine_error)?;
    let logits = domain()?
        .add(LogitsOperator(constants.clone()))
        .map_err(engine_error)?;
    Ok((
        build("LogNormalizer", &[Err("rows")], normalizers)?,
        build("Logits", &[Err("rows"), Ok(constants.vocabulary as i64)], logits)?,
    ))
}
