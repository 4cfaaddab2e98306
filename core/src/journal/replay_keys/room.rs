//! How much of the sketches is kept in memory: planes first, and fronts where these leave room.

use super::Trouble;
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
            let capacities: Vec<u64> = self.segments.iter().map(|known| known.header.capacity).collect();
            let planes = self.planes_for(&capacities);
            self.segments.iter_mut().try_for_each(|known| known.add_planes(planes))?;
        }
        Ok(())
    }

    /// Puts a front before one more sketch, the smallest first, where there is room beside what all planes take. One a page,
    /// so that no page waits for those of a long history.
    pub(super) fn advance_fronts(&mut self) {
        if !self.fronts_are_due {
            return;
        }
        let used = self.sketch_memory();
        let lacking = self.segments.iter_mut().filter(|known| !known.has_front());
        match lacking.min_by_key(|known| known.header.capacity) {
            Some(segment) if used + segment.front_bytes() <= self.shape.sketches => segment.add_front(),
            _ => self.fronts_are_due = false,
        }
    }

    /// Takes fronts away, the largest first, until so many planes of segments of these capacities have room.
    fn make_room(&mut self, planes: usize, capacities: &[u64]) {
        let sketches: u64 = capacities.iter().map(|capacity| Sketch::bytes(*capacity, planes)).sum();
        let mut fronts: u64 =
            self.segments.iter().filter(|known| known.has_front()).map(Segment::front_bytes).sum();
        while fronts > 0 && sketches + fronts > self.shape.sketches {
            let having = self.segments.iter_mut().filter(|known| known.has_front());
            let Some(largest) = having.max_by_key(|known| known.header.capacity) else { return };
            fronts -= largest.front_bytes();
            largest.drop_front();
        }
    }

    /// How many planes there is room for with one more segment of so many entries.
    pub(super) fn planes_with(&mut self, count: u64) -> usize {
        let counts: Vec<u64> =
            self.segments.iter().map(|known| known.header.capacity).chain([count]).collect();
        self.planes_for(&counts)
    }

    /// How many planes segments of these capacities may keep; takes away the fronts that stand in their way.
    pub(super) fn planes_for(&mut self, capacities: &[u64]) -> usize {
        let planes = planes_for(capacities, self.shape.sketches);
        self.make_room(planes, capacities);
        planes
    }

    /// Lets go of what there is no room for any more.
    pub(super) fn fit_planes(&mut self) {
        let counts: Vec<u64> = self.segments.iter().map(|known| known.header.capacity).collect();
        let planes = self.planes_for(&counts);
        self.segments.iter_mut().for_each(|known| known.keep_planes(planes));
        self.fronts_are_due = true;
    }

    /// Bytes of memory that the sketches take.
    pub(super) fn sketch_memory(&self) -> u64 {
        self.segments.iter().map(Segment::memory).sum()
    }

    /// How many sketches have a front.
    #[cfg(test)]
    pub(super) fn fronts(&self) -> usize {
        self.segments.iter().filter(|known| known.has_front()).count()
    }
}

/// How many planes of segments of these capacities are read where a store is opened.
pub(super) fn planes_at_opening(capacities: &[u64], most: u64) -> usize {
    planes_for(capacities, most).min(PLANES_AT_OPENING)
}

/// How many planes all segments may keep, by how many entries each has room for.
fn planes_for(capacities: &[u64], most: u64) -> usize {
    let bytes = |planes| capacities.iter().map(|capacity| Sketch::bytes(*capacity, planes)).sum::<u64>();
    (1..=PLANES).rev().find(|planes| bytes(*planes) <= most).unwrap_or(0)
}
