//! How a record's members are read from JSON and written again: strictly, in a fixed order, and with the members that this
//! package does not know kept behind the known ones.

use crate::execution::money::{Nanos, Round};
use crate::json::{Number, Object, Value, canonical};

/// A member's type.
pub(super) trait Field: Sized {
    /// What a missing member means; none where it must be there.
    fn missing() -> Option<Self> {
        None
    }

    /// The value, if it has this type.
    fn read(value: &Value) -> Option<Self>;

    /// Writes it without white space.
    fn write(&self, out: &mut String);
}

/// Declares a record: its members with their JSON keys, in the order in which they are written.
macro_rules! record {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident: $type:ty = $key:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)+
            /// Members that this package does not know, kept on rewrite.
            pub unknown: crate::json::Object,
        }

        impl crate::execution::ledger::fields::Field for $name {
            fn read(value: &crate::json::Value) -> Option<Self> {
                $name::parse(value.as_object()?).ok()
            }

            fn write(&self, out: &mut String) {
                self.write_json(out);
            }
        }

        impl $name {
            /// Reads the record.
            ///
            /// # Errors
            /// The key of a member that is missing or has another type.
            pub fn parse(object: &crate::json::Object) -> std::result::Result<Self, &'static str> {
                Ok($name {
                    $($field: crate::execution::ledger::fields::member(object, $key)?,)+
                    unknown: crate::execution::ledger::fields::others(object, &[$($key),+]),
                })
            }

            /// Writes the record without white space.
            pub fn write_json(&self, out: &mut String) {
                let mut members = crate::execution::ledger::fields::Members::begin(out);
                $(members.put($key, &self.$field);)+
                members.end(&self.unknown);
            }

            /// The record as a value.
            #[must_use]
            pub fn to_value(&self) -> crate::json::Value {
                let mut text = String::new();
                self.write_json(&mut text);
                crate::json::Value::parse(&text).unwrap_or(crate::json::Value::Null)
            }
        }
    };
}
pub(super) use record;

/// Members whose values are words.
macro_rules! word_fields {
    ($($type:ty),+ $(,)?) => {$(
        impl crate::execution::ledger::fields::Field for $type {
            fn read(value: &crate::json::Value) -> Option<Self> {
                value.as_str().and_then(<$type>::from_word)
            }

            fn write(&self, out: &mut String) {
                crate::json::canonical::write_string(self.word(), out);
            }
        }
    )+};
}
pub(super) use word_fields;

/// Reads one member.
pub(super) fn member<T: Field>(object: &Object, key: &'static str) -> Result<T, &'static str> {
    object.get(key).map_or_else(T::missing, T::read).ok_or(key)
}

/// The members that are not among the known ones.
pub(super) fn others(object: &Object, known: &[&str]) -> Object {
    let mut others = Object::new();
    for (key, value) in object.iter().filter(|(key, _)| !known.contains(key)) {
        others.insert(key, value.clone());
    }
    others
}

/// An object that is being written.
pub(super) struct Members<'a> {
    out: &'a mut String,
    separator: char,
}

impl<'a> Members<'a> {
    pub(super) fn begin(out: &'a mut String) -> Self {
        Members { out, separator: '{' }
    }

    /// Goes on after a member that is there.
    pub(super) fn go_on(out: &'a mut String) -> Self {
        Members { out, separator: ',' }
    }

    pub(super) fn key(&mut self, key: &str) -> &mut String {
        self.out.push(self.separator);
        self.separator = ',';
        canonical::write_string(key, self.out);
        self.out.push(':');
        self.out
    }

    pub(super) fn put(&mut self, key: &str, value: &impl Field) {
        value.write(self.key(key));
    }

    pub(super) fn end(mut self, unknown: &Object) {
        for (key, value) in unknown.iter() {
            value.write_json(self.key(key));
        }
        if self.separator == '{' {
            self.out.push('{');
        }
        self.out.push('}');
    }
}

impl Field for String {
    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn write(&self, out: &mut String) {
        canonical::write_string(self, out);
    }
}

impl Field for u64 {
    fn read(value: &Value) -> Option<Self> {
        value.as_number().and_then(Number::as_u64)
    }

    fn write(&self, out: &mut String) {
        out.push_str(&self.to_string());
    }
}

impl Field for i64 {
    fn read(value: &Value) -> Option<Self> {
        value.as_number().and_then(Number::as_i64)
    }

    fn write(&self, out: &mut String) {
        out.push_str(&self.to_string());
    }
}

impl Field for bool {
    fn missing() -> Option<Self> {
        Some(false)
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_bool()
    }

    fn write(&self, out: &mut String) {
        out.push_str(if *self { "true" } else { "false" });
    }
}

impl Field for Value {
    fn missing() -> Option<Self> {
        Some(Value::Null)
    }

    fn read(value: &Value) -> Option<Self> {
        Some(value.clone())
    }

    fn write(&self, out: &mut String) {
        self.write_json(out);
    }
}

/// Amounts that were saved are exact already. One with more digits, from an older package, counts as what it may have cost.
impl Field for Nanos {
    fn read(value: &Value) -> Option<Self> {
        Nanos::from_value(value, Round::Up)
    }

    fn write(&self, out: &mut String) {
        out.push_str(self.to_number().as_str());
    }
}

impl<T: Field> Field for Option<T> {
    fn missing() -> Option<Self> {
        Some(None)
    }

    fn read(value: &Value) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::read(value).map(Some) }
    }

    fn write(&self, out: &mut String) {
        match self {
            Some(value) => value.write(out),
            None => out.push_str("null"),
        }
    }
}

impl<T: Field> Field for Vec<T> {
    fn missing() -> Option<Self> {
        Some(Vec::new())
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::read).collect()
    }

    fn write(&self, out: &mut String) {
        out.push('[');
        for (at, value) in self.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            value.write(out);
        }
        out.push(']');
    }
}
