//! The records of a ledger under their names, in groups of a few, each group beside its text: a ledger of many operations is
//! written without writing each of them anew, and copied without copying them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use super::fields::Field;
use crate::json::{Value, canonical};

/// Records of one group. A change copies its group's text; a Persist hands the system one piece a group.
const GROUP: usize = 32;

/// Records in the order in which they came, each name once.
#[derive(Clone, Debug)]
pub struct Entries<T> {
    groups: Vec<Arc<Group<T>>>,
}

#[derive(Debug)]
struct Group<T> {
    entries: Vec<Arc<Entry<T>>>,
    /// A hash of each name. A look-up touches no record of another name.
    hashes: Vec<u64>,
    /// `,"name":{…}` of each record, one after the other.
    text: String,
    /// Where the text of each record ends.
    ends: Vec<usize>,
}

#[derive(Debug)]
struct Entry<T> {
    name: String,
    record: T,
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Entries { groups: Vec::new() }
    }
}

impl<T> Default for Group<T> {
    fn default() -> Self {
        Group { entries: Vec::new(), hashes: Vec::new(), text: String::new(), ends: Vec::new() }
    }
}

impl<T> Clone for Group<T> {
    fn clone(&self) -> Self {
        Group {
            entries: self.entries.clone(),
            hashes: self.hashes.clone(),
            text: self.text.clone(),
            ends: self.ends.clone(),
        }
    }
}

impl<T> Entries<T> {
    /// The record under a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        let (group, at) = self.find(name)?;
        Some(&self.groups[group].entries[at].record)
    }

    /// Whether there is a record under a name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The records with their names, in the order in which they came.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &T)> {
        let entries = self.groups.iter().flat_map(|group| &group.entries);
        entries.map(|entry| (entry.name.as_str(), &entry.record))
    }

    /// The records, in the order in which they came.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.groups.iter().flat_map(|group| &group.entries).map(|entry| &entry.record)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.entries.len()).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The text in pieces, the braces around it left out.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        // The first record has no comma before it.
        self.groups.iter().enumerate().map(|(at, group)| &group.text.as_bytes()[usize::from(at == 0)..])
    }

    /// Takes a record out.
    pub(crate) fn remove(&mut self, name: &str) {
        let Some((group, at)) = self.find(name) else { return };
        let stands = Arc::make_mut(&mut self.groups[group]);
        stands.replace_text(at, "");
        stands.entries.remove(at);
        stands.hashes.remove(at);
        stands.ends.remove(at);
        if stands.entries.is_empty() {
            self.groups.remove(group);
        }
    }

    /// In which group a name stands, and where in it. The last ones are what is looked for most.
    fn find(&self, name: &str) -> Option<(usize, usize)> {
        let hash = hash_of(name);
        self.groups.iter().enumerate().rev().find_map(|(at, group)| {
            let mut places = (0..group.hashes.len()).filter(|place| group.hashes[*place] == hash);
            places.find(|place| group.entries[*place].name == name).map(|place| (at, place))
        })
    }

    fn push(&mut self, entry: Arc<Entry<T>>, text: &str) {
        if self.groups.last().is_none_or(|group| group.entries.len() == GROUP) {
            self.groups.push(Arc::default());
        }
        if let Some(last) = self.groups.last_mut() {
            let last = Arc::make_mut(last);
            last.hashes.push(hash_of(&entry.name));
            last.entries.push(entry);
            last.text.push_str(text);
            last.ends.push(last.text.len());
        }
    }
}

impl<T> Group<T> {
    fn text_of(&self, at: usize) -> Range<usize> {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[at]
    }

    fn replace_text(&mut self, at: usize, text: &str) {
        let stands = self.text_of(at);
        let length = stands.len();
        self.text.replace_range(stands, text);
        for end in &mut self.ends[at..] {
            *end = *end - length + text.len();
        }
    }
}

#[expect(private_bounds, reason = "how a record is written is this module's own")]
impl<T: Field> Entries<T> {
    /// Puts a record under a name: in the place of the one that is there, and at the end otherwise.
    pub(crate) fn put(&mut self, name: &str, record: T) {
        let text = text_of(name, &record);
        let entry = Arc::new(Entry { name: name.to_owned(), record });
        match self.find(name) {
            Some((group, at)) => {
                let stands = Arc::make_mut(&mut self.groups[group]);
                stands.replace_text(at, &text);
                stands.entries[at] = entry;
            }
            None => self.push(entry, &text),
        }
    }
}

fn text_of<T: Field>(name: &str, record: &T) -> String {
    let mut text = String::from(",");
    canonical::write_string(name, &mut text);
    text.push(':');
    record.write(&mut text);
    text
}

fn hash_of(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

impl<T: Field> Field for Entries<T> {
    fn read(value: &Value) -> Option<Self> {
        let mut entries = Entries::default();
        for (name, value) in value.as_object()?.iter() {
            let record = T::read(value)?;
            let text = text_of(name, &record);
            entries.push(Arc::new(Entry { name: name.to_owned(), record }), &text);
        }
        Some(entries)
    }

    fn write(&self, out: &mut String) {
        out.push('{');
        for (at, group) in self.groups.iter().enumerate() {
            out.push_str(&group.text[usize::from(at == 0)..]);
        }
        out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::testing::SeededRandom;

    /// As the text was made before there were groups: each record written anew.
    fn plain(list: &[(String, u64)]) -> String {
        let members: Vec<String> = list.iter().map(|(name, record)| format!("\"{name}\":{record}")).collect();
        format!("{{{}}}", members.join(","))
    }

    fn text(entries: &Entries<u64>) -> String {
        let mut text = String::new();
        entries.write(&mut text);
        text
    }

    #[test]
    fn groups_hold_what_a_plain_list_holds() {
        let random = SeededRandom::new(7);
        let (mut entries, mut list) = (Entries::<u64>::default(), Vec::<(String, u64)>::new());
        for round in 0..4_000_u64 {
            let name = format!("n-{}", random.next_u64() % 150);
            let at = list.iter().position(|(known, _)| *known == name);
            let copy = entries.clone();
            let before = text(&copy);
            match (at, random.next_u64() % 4) {
                (Some(at), 0) => {
                    entries.remove(&name);
                    list.remove(at);
                }
                (Some(at), _) => {
                    entries.put(&name, round);
                    list[at].1 = round;
                }
                (None, 0) => entries.remove(&name),
                (None, _) => {
                    entries.put(&name, round);
                    list.push((name.clone(), round));
                }
            }
            assert_eq!(text(&entries), plain(&list), "round {round}");
            assert_eq!(entries.pieces().flatten().count() + 2, text(&entries).len());
            assert_eq!((entries.len(), entries.is_empty()), (list.len(), list.is_empty()));
            assert_eq!(entries.get(&name), list.iter().find(|(known, _)| *known == name).map(|(_, at)| at));
            assert_eq!(text(&copy), before, "a copy changed in round {round}");
        }
        let value = Value::parse(&text(&entries)).expect("JSON");
        let read = Entries::<u64>::read(&value).expect("entries");
        assert!(read.iter().eq(entries.iter()), "read again, it is the same");
    }
}
