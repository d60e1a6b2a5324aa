//! The connections that are followed, found by their two ends, of a bounded number.
//!
//! Where the table is full, one goes: of a few neighbours one that is closed, else the one that was seen least recently. Nothing is moved
//! for a packet of a known connection. What goes depends on the packets alone; the seed of the hashes is random, so that nobody can make packets
//! whose connections all have the same one.

use super::connection::Connection;
use super::event::Ended;
use super::key::Key;
use crate::headers::Segment;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Slots that are looked at for the one that goes.
const NEIGHBOURS: usize = 16;
/// Slots that are looked at with each new connection for one that has ended.
const SWEPT: usize = 2;

pub(super) struct Table {
    hasher: RandomState,
    places: HashTable<u32>,
    slots: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    limit: usize,
    hand: usize,
    /// Where the connection of the last packet is.
    last: Option<(Key, u32)>,
    opened: u64,
}

impl Table {
    pub(super) fn new(limit: u32) -> Self {
        Self {
            hasher: RandomState::default(),
            places: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            limit: limit.max(1) as usize,
            hand: 0,
            last: None,
            opened: 0,
        }
    }

    /// Connections so far.
    pub(super) const fn opened(&self) -> u64 {
        self.opened
    }

    pub(super) fn get(&mut self, at: u32) -> Option<&mut Connection> {
        self.slots.get_mut(at as usize)?.as_deref_mut()
    }

    /// In the order of their slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.slots.iter().flatten().map(Box::as_ref)
    }

    /// All of them, in the order of their slots.
    pub(super) fn into_connections(self) -> impl Iterator<Item = Box<Connection>> {
        self.slots.into_iter().flatten()
    }

    /// The connection of the last packet, if `segment` is of it too; and whether the higher end sent it.
    #[inline]
    pub(super) fn same_again(&self, segment: &Segment) -> Option<(u32, bool)> {
        let (key, at) = self.last.as_ref()?;
        let from_high = !segment.source.is(&key.low);
        let is_same = if from_high {
            segment.source.is(&key.high) & segment.destination.is(&key.low)
        } else {
            segment.destination.is(&key.high)
        };
        is_same.then_some((*at, from_high))
    }

    pub(super) fn find(&mut self, key: &Key) -> Option<u32> {
        let slots = &self.slots;
        let hash = self.hasher.hash_one(key);
        let at =
            *self.places.find(hash, |&at| matches!(&slots[at as usize], Some(found) if found.key == *key))?;
        self.last = Some((*key, at));
        Some(at)
    }

    /// A new connection; where the table is full, `leave` gets the one that goes.
    pub(super) fn open(
        &mut self,
        make: impl FnOnce(u64) -> Connection,
        now: u64,
        mut leave: impl FnMut(&Connection, Ended),
    ) -> u32 {
        self.sweep(now, &mut leave);
        if self.places.len() >= self.limit {
            self.make_room(&mut leave);
        }
        let connection = Box::new(make(self.opened));
        self.opened += 1;
        let key = connection.key;
        let at = self.free.pop().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(at as usize) {
            Some(slot) => *slot = Some(connection),
            None => self.slots.push(Some(connection)),
        }
        let hash = self.hasher.hash_one(key);
        let (slots, hasher) = (&self.slots, &self.hasher);
        let rehash = |&at: &u32| slots[at as usize].as_ref().map_or(0, |found| hasher.hash_one(found.key));
        self.places.insert_unique(hash, at, rehash);
        self.last = Some((key, at));
        at
    }

    /// The connection goes.
    pub(super) fn remove(&mut self, at: u32) -> Option<Box<Connection>> {
        let connection = self.slots.get_mut(at as usize)?.take()?;
        let hash = self.hasher.hash_one(connection.key);
        if let Ok(found) = self.places.find_entry(hash, |&other| other == at) {
            found.remove();
        }
        self.free.push(at);
        self.last = None;
        Some(connection)
    }

    /// Lets a closed connection go, if the next slots have one.
    fn sweep(&mut self, now: u64, leave: &mut impl FnMut(&Connection, Ended)) {
        for _ in 0..SWEPT.min(self.slots.len()) {
            let at = self.step();
            if self.slots[at].as_deref().is_some_and(|found| found.is_over(now))
                && let Some(gone) = self.remove(at as u32)
            {
                leave(&gone, Ended::Closed);
            }
        }
    }

    fn make_room(&mut self, leave: &mut impl FnMut(&Connection, Ended)) {
        let mut found: Option<(bool, u64, usize)> = None;
        let mut seen = 0;
        while seen < NEIGHBOURS.min(self.places.len()) {
            let at = self.step();
            let Some(connection) = self.slots[at].as_deref() else { continue };
            seen += 1;
            let rank = (!connection.is_closed(), connection.last_ns(), at);
            found = Some(found.map_or(rank, |best| best.min(rank)));
        }
        if let Some((is_open, _, at)) = found
            && let Some(gone) = self.remove(at as u32)
        {
            leave(&gone, if is_open { Ended::Evicted } else { Ended::Closed });
        }
    }

    fn step(&mut self) -> usize {
        self.hand = (self.hand + 1) % self.slots.len();
        self.hand
    }

    /// Bytes of memory of all connections and of the table itself.
    pub(super) fn memory(&self) -> usize {
        let own = self.slots.capacity() * size_of::<Option<Box<Connection>>>() + self.free.capacity() * 4;
        own + self.places.allocation_size() + self.iter().map(Connection::memory).sum::<usize>()
    }
}
