//! The records of a ledger under their names, each beside its text, so that a ledger of many operations is written without
//! writing each of them anew, and copied without copying them.

use std::sync::Arc;

use super::fields::Field;
use crate::json::{Value, canonical};

/// Records in the order in which they came, each name once.
#[derive(Clone, Debug)]
pub struct Entries<T> {
    list: Vec<Arc<Entry<T>>>,
}

#[derive(Debug)]
struct Entry<T> {
    name: String,
    record: T,
    /// `"name":{…}`.
    text: String,
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Entries { list: Vec::new() }
    }
}

impl<T> Entries<T> {
    /// The record under a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.list.iter().find(|entry| entry.name == name).map(|entry| &entry.record)
    }

    /// Whether there is a record under a name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The records with their names, in the order in which they came.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &T)> {
        self.list.iter().map(|entry| (entry.name.as_str(), &entry.record))
    }

    /// The records, in the order in which they came.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.list.iter().map(|entry| &entry.record)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many bytes its text has, within a few.
    pub(super) fn text_bytes(&self) -> usize {
        self.list.iter().map(|entry| entry.text.len() + 1).sum()
    }

    /// Takes a record out.
    pub(crate) fn remove(&mut self, name: &str) {
        self.list.retain(|entry| entry.name != name);
    }
}

#[expect(private_bounds, reason = "how a record is written is this module's own")]
impl<T: Field> Entries<T> {
    /// Puts a record under a name: in the place of the one that is there, and at the end otherwise.
    pub(crate) fn put(&mut self, name: &str, record: T) {
        let mut text = String::new();
        canonical::write_string(name, &mut text);
        text.push(':');
        record.write(&mut text);
        let entry = Arc::new(Entry { name: name.to_owned(), record, text });
        match self.list.iter_mut().find(|entry| entry.name == name) {
            Some(stands) => *stands = entry,
            None => self.list.push(entry),
        }
    }
}

impl<T: Field> Field for Entries<T> {
    fn read(value: &Value) -> Option<Self> {
        let mut entries = Entries { list: Vec::new() };
        for (name, value) in value.as_object()?.iter() {
            let record = T::read(value)?;
            let mut text = String::new();
            canonical::write_string(name, &mut text);
            text.push(':');
            record.write(&mut text);
            entries.list.push(Arc::new(Entry { name: name.to_owned(), record, text }));
        }
        Some(entries)
    }

    fn write(&self, out: &mut String) {
        out.push('{');
        for (at, entry) in self.list.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&entry.text);
        }
        out.push('}');
    }
}
