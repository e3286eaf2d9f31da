//! The `assize` binary.

fn main() {}
