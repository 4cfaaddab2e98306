//! What has the memory of an index: planes of the sketches first, and the filter where these leave room.

use super::Trouble;
use super::filter::Filter;
use super::segment::Segment;
use super::sketch::{PLANES, Sketch};
use super::store::Store;

/// How many planes are read where a store is opened. With one of them a key that is new is looked for in the entries once
/// in 128 to 256 times a segment.
const PLANES_AT_OPENING: usize = 1;

impl Store {
    /// Reads what of the sketches was left out at the opening, because another page has come.
    ///
    /// # Errors
    /// A segment that is not whole, or as the system says it.
    pub(super) fn deepen(&mut self) -> Result<(), Trouble> {
        if std::mem::take(&mut self.is_shallow) {
            self.keys.gather();
            let capacities: Vec<u64> = self.segments.iter().map(|known| known.header.capacity).collect();
            let planes = self.planes_for(&capacities);
            self.segments.iter_mut().try_for_each(|known| known.add_planes(planes))?;
        }
        Ok(())
    }

    /// Lets the filter know of one segment more, where there is room for it beside the planes. One a page, so that no page
    /// waits for a long history.
    pub(super) fn advance_filter(&mut self) {
        if self.filter.as_ref().is_some_and(Filter::is_crowded) {
            self.drop_filter();
        }
        if self.is_filtered || self.segments.is_empty() {
            return;
        }
        if self.filter.is_none() {
            let keys =
                self.segments.iter().map(|known| known.header.count).sum::<u64>() + self.keys.len() as u64;
            self.filter = Filter::fitting(keys, self.shape.sketches.saturating_sub(self.sketch_memory()));
            if let Some(filter) = &mut self.filter {
                self.keys.iter().for_each(|(key, _)| filter.add(key));
            }
        }
        let next = self.filter.as_mut().and_then(|filter| {
            let bits = filter.bits_needed();
            let next = self.segments.iter_mut().find(|known| !known.is_covered && known.knows(bits));
            next.map(|segment| segment.cover(filter))
        });
        self.is_filtered = next.is_none();
    }

    fn drop_filter(&mut self) {
        self.filter = None;
        self.is_filtered = false;
        self.segments.iter_mut().for_each(|known| known.is_covered = false);
    }

    /// How many planes there is room for with one more segment of so many entries.
    pub(super) fn planes_with(&mut self, count: u64) -> usize {
        let counts: Vec<u64> =
            self.segments.iter().map(|known| known.header.capacity).chain([count]).collect();
        self.planes_for(&counts)
    }

    /// How many planes segments of these capacities may keep; takes away a filter that stands in their way.
    pub(super) fn planes_for(&mut self, capacities: &[u64]) -> usize {
        let planes = planes_for(capacities, self.shape.sketches);
        let sketches = bytes_of(capacities, planes);
        if self.filter.as_ref().is_some_and(|filter| sketches + filter.memory() > self.shape.sketches) {
            self.drop_filter();
        }
        planes
    }

    /// Lets go of what there is no room for any more.
    pub(super) fn fit_planes(&mut self) {
        let counts: Vec<u64> = self.segments.iter().map(|known| known.header.capacity).collect();
        let planes = self.planes_for(&counts);
        self.segments.iter_mut().for_each(|known| known.keep_planes(planes));
        self.is_filtered = false;
    }

    /// Bytes of memory that the sketches and the filter take.
    pub(super) fn sketch_memory(&self) -> u64 {
        let sketches: u64 = self.segments.iter().map(Segment::memory).sum();
        sketches + self.filter.as_ref().map_or(0, Filter::memory)
    }

    /// How many segments the filter knows of.
    #[cfg(test)]
    pub(super) fn covered(&self) -> usize {
        self.segments.iter().filter(|known| known.is_covered).count()
    }
}

/// How many planes of segments of these capacities are read where a store is opened.
pub(super) fn planes_at_opening(capacities: &[u64], most: u64) -> usize {
    planes_for(capacities, most).min(PLANES_AT_OPENING)
}

/// How many planes all segments may keep, by how many entries each has room for.
fn planes_for(capacities: &[u64], most: u64) -> usize {
    (1..=PLANES).rev().find(|planes| bytes_of(capacities, *planes) <= most).unwrap_or(0)
}

fn bytes_of(capacities: &[u64], planes: usize) -> u64 {
    capacities.iter().map(|capacity| Sketch::bytes(*capacity, planes)).sum()
}
