//! The options' own texts as a tree: tokens that options share at their start are run once.
//!
//! The first token of an option is scored at the question's last row, each further one at the row of the token before
//! it. So an option of k tokens needs k - 1 rows, and its last token none.

use std::collections::HashMap;

use assize_models::{ModelError, PackedBatch, ReadIndex, SegmentIndex, TokenId};

/// A row of the tree: the question's last token (node 0), or one token of one or more options.
#[derive(Debug)]
struct Node {
    token: TokenId,
    children: Vec<usize>,
}

/// One token of one option: the row at which it is scored, and the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) node: usize,
    pub(crate) token: TokenId,
}

/// The tree below one question.
#[derive(Debug)]
pub(crate) struct OptionTrie {
    nodes: Vec<Node>,
    /// The steps of each option.
    options: Vec<Vec<Step>>,
    /// Whether no option's text is another's or starts another's.
    prefix_free: bool,
}

impl OptionTrie {
    pub(crate) fn new(branches: &[Vec<TokenId>]) -> Self {
        let mut trie = Self {
            nodes: vec![Node {
                token: 0,
                children: Vec::new(),
            }],
            options: Vec::with_capacity(branches.len()),
            prefix_free: true,
        };
        let mut child_of: HashMap<(usize, TokenId), usize> = HashMap::new();
        for branch in branches {
            let mut node = 0;
            let mut steps = Vec::with_capacity(branch.len());
            for (place, &token) in branch.iter().enumerate() {
                steps.push(Step { node, token });
                if place + 1 < branch.len() {
                    let next = trie.nodes.len();
                    let child = *child_of.entry((node, token)).or_insert(next);
                    if child == next {
                        trie.nodes.push(Node {
                            token,
                            children: Vec::new(),
                        });
                        if let Some(parent) = trie.nodes.get_mut(node) {
                            parent.children.push(next);
                        }
                    }
                    node = child;
                }
            }
            trie.options.push(steps);
        }
        // Sorted, a text that starts another stands right before one that it starts.
        let mut sorted: Vec<&[TokenId]> = branches.iter().map(Vec::as_slice).collect();
        sorted.sort_unstable();
        trie.prefix_free = !sorted
            .windows(2)
            .any(|pair| matches!(pair, [first, second] if second.starts_with(first)));
        trie
    }

    /// Rows below the question.
    pub(crate) fn rows(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The steps of each option, in the caller's order.
    pub(crate) fn options(&self) -> &[Vec<Step>] {
        &self.options
    }

    pub(crate) fn is_prefix_free(&self) -> bool {
        self.prefix_free
    }

    /// Pushes the rows under `question` and reads every one: the read of each node.
    pub(crate) fn push(
        &self,
        batch: &mut PackedBatch,
        question: SegmentIndex,
    ) -> Result<Vec<ReadIndex>, ModelError> {
        let mut reads = vec![ReadIndex(0); self.nodes.len()];
        if let Some(first) = reads.first_mut() {
            *first = batch.read_last(question)?;
        }
        // A segment is a chain of nodes up to the first one that branches or ends; segments below hang on its end.
        let mut open: Vec<(usize, SegmentIndex)> = self.children(0).map(|child| (child, question)).collect();
        open.reverse();
        while let Some((start, parent)) = open.pop() {
            let mut chain = vec![start];
            let mut last = start;
            while let Some(&[only]) = self.nodes.get(last).map(|node| node.children.as_slice()) {
                chain.push(only);
                last = only;
            }
            let tokens: Vec<TokenId> = chain
                .iter()
                .filter_map(|&node| self.nodes.get(node))
                .map(|node| node.token)
                .collect();
            let segment = batch.push_segment(Some(parent), &tokens)?;
            for (offset, &node) in chain.iter().enumerate() {
                let read = batch.read(segment, offset)?;
                if let Some(slot) = reads.get_mut(node) {
                    *slot = read;
                }
            }
            let below = open.len();
            open.extend(self.children(last).map(|child| (child, segment)));
            if let Some(new) = open.get_mut(below..) {
                new.reverse();
            }
        }
        Ok(reads)
    }

    fn children(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.nodes
            .get(node)
            .into_iter()
            .flat_map(|node| node.children.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_starts_are_one_segment() {
        // a b c | a b d e | f
        let trie = OptionTrie::new(&[vec![1, 2, 3], vec![1, 2, 4, 5], vec![6]]);
        assert_eq!(trie.rows(), 3);
        assert!(trie.is_prefix_free());
        let mut batch = PackedBatch::new();
        let question = batch.push_segment(None, &[9, 9]).unwrap();
        let reads = trie.push(&mut batch, question).unwrap();
        assert_eq!(batch.tokens(), [9, 9, 1, 2, 4]);
        assert_eq!(batch.segments().len(), 2);
        assert_eq!(reads.len(), 4);
        assert_eq!(batch.reads(), [1, 2, 3, 4]);
    }

    #[test]
    fn branching_below_a_shared_start() {
        let trie = OptionTrie::new(&[vec![1, 2, 3, 0], vec![1, 2, 4, 0], vec![1, 5, 0]]);
        let mut batch = PackedBatch::new();
        let question = batch.push_segment(None, &[9]).unwrap();
        trie.push(&mut batch, question).unwrap();
        assert_eq!(batch.tokens(), [9, 1, 2, 3, 4, 5]);
        let parents: Vec<_> = batch
            .segments()
            .iter()
            .map(|segment| segment.parent.map(|parent| parent.0))
            .collect();
        assert_eq!(parents, [None, Some(0), Some(1), Some(2), Some(2), Some(1)]);
        assert_eq!(batch.positions(), [0, 1, 2, 3, 3, 2]);
    }

    #[test]
    fn starts_of_other_options_are_seen() {
        assert!(!OptionTrie::new(&[vec![1, 2], vec![1]]).is_prefix_free());
        assert!(!OptionTrie::new(&[vec![1, 2], vec![3], vec![1, 2]]).is_prefix_free());
        assert!(OptionTrie::new(&[vec![1, 2], vec![1, 3]]).is_prefix_free());
    }
}
