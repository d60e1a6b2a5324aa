//! The connections that are sampled, found by their numbers. That of the last packet is found without a search.

use super::Followed;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

#[derive(Debug)]
pub(super) struct Followings {
    places: HashMap<u64, u32, FixedState>,
    all: Vec<Followed>,
    /// Number and place of the last one that was found; [`NONE`] before.
    last: (u64, u32),
}

/// Before the first connection: no connection has this number.
const NONE: (u64, u32) = (u64::MAX, 0);

impl Default for Followings {
    fn default() -> Self {
        Self { places: HashMap::default(), all: Vec::new(), last: NONE }
    }
}

impl Followings {
    /// Where the connection number `id` is.
    #[inline]
    pub(super) fn find(&mut self, id: u64) -> Option<u32> {
        let (last, at) = self.last;
        if last == id { Some(at) } else { self.search(id) }
    }

    #[inline(never)]
    fn search(&mut self, id: u64) -> Option<u32> {
        let at = *self.places.get(&id)?;
        self.last = (id, at);
        Some(at)
    }

    /// The connection at a place that was found.
    #[inline]
    pub(super) fn at(&mut self, at: u32) -> &mut Followed {
        &mut self.all[at as usize]
    }

    #[cold]
    pub(super) fn insert(&mut self, followed: Followed) -> &mut Followed {
        let at = self.all.len() as u32;
        self.places.insert(followed.id, at);
        self.last = (followed.id, at);
        self.all.push(followed);
        self.at(at)
    }

    /// It goes, and the last one takes its place.
    pub(super) fn remove(&mut self, id: u64) -> Option<Followed> {
        let at = self.places.remove(&id)?;
        self.last = NONE;
        let removed = self.all.swap_remove(at as usize);
        if let Some(moved) = self.all.get(at as usize) {
            self.places.insert(moved.id, at);
        }
        Some(removed)
    }
}
