//! Errors of a route, as the OpenAPI document describes them.

use std::collections::BTreeMap;

use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

/// The errors of a route that decides, in a protocol that answers a wrong field with 400.
const DECIDING: [(&str, &str); 11] = [
    ("400", "A field is missing or wrong, or the body is not JSON"),
    ("401", "No key, or one that is none of the server's"),
    ("404", "No model of that name"),
    ("408", "The body did not arrive in time"),
    ("413", "The body, a medium or the state is too large"),
    (
        "415",
        "Not JSON, an encoding other than zstd, or a medium that is not read",
    ),
    (
        "429",
        "The queue is full, or the key has used up its share; see Retry-After",
    ),
    ("431", "More header fields than are read"),
    ("500", "The server failed"),
    ("503", "The server is stopping; see Retry-After"),
    ("504", "The deadline passed"),
];

/// All errors, each with a body of the schema `body`.
pub(super) fn errors(body: &str) -> BTreeMap<String, RefOr<Response>> {
    let described = DECIDING.iter().map(|(status, description)| {
        let content = ContentBuilder::new()
            .schema(Some(Ref::from_schema_name(body)))
            .build();
        let response = ResponseBuilder::new()
            .description(*description)
            .content("application/json", content)
            .build();
        ((*status).to_owned(), RefOr::T(response))
    });
    described.collect()
}
