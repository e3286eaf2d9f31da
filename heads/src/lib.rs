//! Readouts: from the hidden states of one forward pass to one score per option.
