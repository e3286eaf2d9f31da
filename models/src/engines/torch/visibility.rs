//! Who sees whom in a packed batch, cut into tiles: queries of one tree, the rows that any of them sees, and a mask where
//! not all of them see all of those.
//!
//! A row sees its ancestors' rows and the earlier rows of its own segment, as far as the layer's window reaches, and where
//! the model says so the other rows of its own picture.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{Medium, PackedBatch, PictureSight, Segment};

/// Most queries of a tile: rows further back would be multiplied with keys that they do not see.
const MOST_QUERIES: usize = 256;

/// Queries that are worked on together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tile {
    /// Places in the list of queries.
    pub(super) queries: Range<usize>,
    /// Runs of batch rows, in ascending order.
    pub(super) keys: Vec<Range<u32>>,
    /// For each query each key, whether it is hidden; `None` where nothing is.
    pub(super) hidden: Option<Vec<bool>>,
}

/// One layer's rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sight {
    /// Keys that a token sees, itself included.
    pub(super) window: Option<usize>,
    /// What rows of a picture see of it.
    pub(super) picture: PictureSight,
}

/// The structure of a batch.
pub(super) struct Forest<'a> {
    segments: &'a [Segment],
    /// The segment of every row.
    owners: Vec<u32>,
    /// The root of every segment.
    roots: Vec<u32>,
    /// Rows of every picture, in ascending order.
    pictures: Vec<Range<u32>>,
}

impl<'a> Forest<'a> {
    pub(super) fn of(batch: &'a PackedBatch) -> Self {
        let segments = batch.segments();
        let mut owners = Vec::with_capacity(batch.len());
        let mut roots: Vec<u32> = Vec::with_capacity(segments.len());
        for (index, segment) in segments.iter().enumerate() {
            owners.resize((segment.start + segment.len) as usize, index as u32);
            // A parent was pushed before its children.
            let root = segment.parent.map(|parent| roots[parent.0 as usize]);
            roots.push(root.unwrap_or(index as u32));
        }
        let pictures = batch
            .media()
            .iter()
            .filter(|placed| matches!(*placed.medium, Medium::Picture(_)))
            .map(|placed| placed.rows())
            .collect();
        Self {
            segments,
            owners,
            roots,
            pictures,
        }
    }

    fn picture_of(&self, row: u32) -> Option<&Range<u32>> {
        let next = self.pictures.partition_point(|picture| picture.end <= row);
        self.pictures.get(next).filter(|picture| picture.start <= row)
    }

    /// What `row` sees: one run of rows in every segment of its path, by segment.
    fn seen(&self, row: u32, sight: Sight) -> Vec<(u32, Range<u32>)> {
        let own = self.owners[row as usize];
        let segment = &self.segments[own as usize];
        let position = segment.first_position + (row - segment.start);
        // The first position within the window.
        let first = match sight.window {
            Some(window) => (position as usize + 1).saturating_sub(window) as u32,
            None => 0,
        };
        let picture = match sight.picture {
            PictureSight::Causal => None,
            PictureSight::Windowed | PictureSight::Whole => self.picture_of(row),
        };
        let mut runs = Vec::new();
        let mut next = Some(own);
        while let Some(index) = next {
            let found = &self.segments[index as usize];
            let mut start = found.start + first.saturating_sub(found.first_position);
            let mut end = found.start + found.len;
            if index == own {
                end = row + 1;
                if let Some(picture) = picture {
                    end = picture.end;
                    if sight.picture == PictureSight::Whole {
                        start = start.min(picture.start);
                    }
                }
            }
            if start < end {
                runs.push((index, start..end));
            }
            next = found.parent.map(|parent| parent.0);
        }
        runs
    }

    /// Tiles of the queries at `rows`, each with at most `most_cells` pairs of a query and a key, unless one query alone
    /// sees more.
    pub(super) fn tiles(&self, rows: &[u32], sight: Sight, most_cells: usize) -> Vec<Tile> {
        let root_of = |row: u32| self.roots[self.owners[row as usize] as usize];
        let mut tiles = Vec::new();
        let mut first = 0;
        while first < rows.len() {
            let root = root_of(rows[first]);
            let mut seen: Vec<Vec<(u32, Range<u32>)>> = Vec::new();
            let mut union: BTreeMap<u32, Range<u32>> = BTreeMap::new();
            for row in rows[first..].iter().take(MOST_QUERIES) {
                if root_of(*row) != root {
                    break;
                }
                let runs = self.seen(*row, sight);
                let mut wider = union.clone();
                for (segment, run) in &runs {
                    let whole = wider.entry(*segment).or_insert_with(|| run.clone());
                    *whole = whole.start.min(run.start)..whole.end.max(run.end);
                }
                let keys: usize = wider.values().map(ExactSizeIterator::len).sum();
                if !seen.is_empty() && keys * (seen.len() + 1) > most_cells {
                    break;
                }
                union = wider;
                seen.push(runs);
            }
            tiles.push(tile(first, &seen, &union));
            first += seen.len();
        }
        tiles
    }
}

fn tile(first: usize, seen: &[Vec<(u32, Range<u32>)>], union: &BTreeMap<u32, Range<u32>>) -> Tile {
    // Where the rows of each segment stand among the keys. Segments lie in the order they were pushed, so the runs ascend.
    let mut places = BTreeMap::new();
    let mut keys: Vec<Range<u32>> = Vec::new();
    let mut count = 0;
    for (segment, run) in union {
        places.insert(*segment, (count, run.start));
        count += run.len();
        match keys.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => keys.push(run.clone()),
        }
    }
    let mut hidden = vec![true; seen.len() * count];
    let mut visible = 0;
    for (query, runs) in seen.iter().enumerate() {
        for (segment, run) in runs {
            if let Some((place, start)) = places.get(segment) {
                let from = query * count + place + (run.start - start) as usize;
                hidden[from..from + run.len()].fill(false);
                visible += run.len();
            }
        }
    }
    Tile {
        queries: first..first + seen.len(),
        keys,
        hidden: (visible < hidden.len()).then_some(hidden),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Part;
    use crate::{PatchPosition, PatchValues, Picture};
    use std::sync::Arc;

    const ALL: usize = usize::MAX;

    fn picture(patches: u32) -> Part<'static> {
        let positions = (0..patches).map(|x| PatchPosition { x, y: 0 }).collect();
        let values = PatchValues::Floats(vec![0.5; patches as usize]);
        Part::Medium {
            placeholder: 9,
            medium: Arc::new(Medium::Picture(Picture::new(values, positions).unwrap())),
        }
    }

    /// The rows that `row` sees, through the tiles of all rows.
    fn seen(batch: &PackedBatch, row: u32, sight: Sight, most_cells: usize) -> Vec<u32> {
        let rows: Vec<u32> = (0..batch.len() as u32).collect();
        let tiles = Forest::of(batch).tiles(&rows, sight, most_cells);
        let mut covered = 0;
        let mut found = None;
        for tile in &tiles {
            assert_eq!(tile.queries.start, covered);
            covered = tile.queries.end;
            if tile.queries.contains(&(row as usize)) {
                let keys: Vec<u32> = tile.keys.iter().cloned().flatten().collect();
                let place = (row as usize - tile.queries.start) * keys.len();
                found = Some(match &tile.hidden {
                    Some(hidden) => (0..keys.len())
                        .filter(|key| !hidden[place + key])
                        .map(|key| keys[key])
                        .collect(),
                    None => keys,
                });
            }
        }
        assert_eq!(covered, rows.len());
        found.unwrap()
    }

    /// A state of 4 rows, a question of 3 with an option of 2, another question of 2; another request of 3.
    fn forest() -> PackedBatch {
        let mut batch = PackedBatch::new();
        let state = batch.push_segment(None, &[1; 4]).unwrap();
        let question = batch.push_segment(Some(state), &[1; 3]).unwrap();
        batch.push_segment(Some(question), &[1; 2]).unwrap();
        batch.push_segment(Some(state), &[1; 2]).unwrap();
        batch.push_segment(None, &[1; 3]).unwrap();
        batch
    }

    #[test]
    fn rows_see_their_path_and_nothing_else() {
        let causal = |window| Sight {
            window,
            picture: PictureSight::Causal,
        };
        for cells in [1, 12, 30, ALL] {
            let seen = |row, window| seen(&forest(), row, causal(window), cells);
            assert_eq!(seen(0, None), [0]);
            assert_eq!(seen(5, None), [0, 1, 2, 3, 4, 5]);
            assert_eq!(seen(8, None), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
            assert_eq!(seen(10, None), [0, 1, 2, 3, 9, 10]);
            assert_eq!(seen(12, None), [11, 12]);
            assert_eq!(seen(8, Some(3)), [6, 7, 8]);
            assert_eq!(seen(10, Some(3)), [3, 9, 10]);
            assert_eq!(seen(10, Some(1)), [10]);
        }
    }

    #[test]
    fn pictures_see_themselves_as_far_as_the_layer_says() {
        let mut batch = PackedBatch::new();
        let parts = [Part::Tokens(&[1]), picture(4), Part::Tokens(&[1]), picture(2)];
        batch.push_parts(None, &parts).unwrap();
        let seen = |row, window, picture| seen(&batch, row, Sight { window, picture }, ALL);
        assert_eq!(seen(3, None, PictureSight::Causal), [0, 1, 2, 3]);
        assert_eq!(seen(2, None, PictureSight::Whole), [0, 1, 2, 3, 4]);
        assert_eq!(seen(5, None, PictureSight::Whole), [0, 1, 2, 3, 4, 5]);
        assert_eq!(seen(6, None, PictureSight::Whole), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(seen(4, Some(2), PictureSight::Windowed), [3, 4]);
        assert_eq!(seen(2, Some(2), PictureSight::Windowed), [1, 2, 3, 4]);
        assert_eq!(seen(4, Some(2), PictureSight::Whole), [1, 2, 3, 4]);
    }

    #[test]
    fn a_tile_is_no_larger_than_allowed() {
        let mut batch = PackedBatch::new();
        batch.push_segment(None, &[1; 1000]).unwrap();
        let rows: Vec<u32> = (0..1000).collect();
        let sight = Sight {
            window: None,
            picture: PictureSight::Causal,
        };
        let tiles = Forest::of(&batch).tiles(&rows, sight, 20_000);
        assert!(tiles.len() > 4);
        for tile in &tiles {
            let keys: usize = tile.keys.iter().map(ExactSizeIterator::len).sum();
            assert!(tile.queries.len() * keys <= 20_000);
            assert_eq!(keys, tile.queries.end);
        }
    }
}
