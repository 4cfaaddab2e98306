//! A page of events out of JSON: the one form in which a host hands events over as a text or as plain values.
//!
//! An event is an object with `id`, `provenance`, `type` and `data`, and if need be `providerSequence` and `timestamp`. A
//! gap has a `reason` in the place of `type` and `data`, as a row of a gap has. A member that no event has is refused: it
//! is a misspelt one, and would be lost without a word.

use super::error::input;
use super::event::{Content, Event, GapReason, Provenance};
use crate::error::{Error, Result};
use crate::json::{Number, Object, Value};

/// The members that an event may have.
const MEMBERS: [&str; 7] = ["id", "providerSequence", "provenance", "timestamp", "type", "data", "reason"];
/// What stands in the place of a lone surrogate.
const REPLACEMENT: char = '\u{fffd}';

impl Event {
    /// The event that a JSON object tells:
    ///
    /// - `id`, a string: the provider's event id, a gap id or a byte id;
    /// - `provenance`, a word of [`Provenance`];
    /// - `type`, a string, and `data`, any value (null where it is left out); or, for a gap, `reason`, a word of
    ///   [`GapReason`], in their place;
    /// - `providerSequence` and `timestamp`, numbers, with all their digits; null, or left out, where there is none.
    ///
    /// What a record can hold of it is judged by [`Journal::append`](super::Journal::append).
    ///
    /// # Errors
    /// `EXECUTION_INPUT` with the reason `event`, naming the member and quoting nothing of the event.
    pub fn from_value(value: Value) -> Result<Event> {
        let Value::Object(mut members) = value else { return Err(wrong("is no object")) };
        if members.iter().any(|(name, _)| !MEMBERS.contains(&name)) {
            return Err(wrong(&format!("has a member that is none of {}", MEMBERS.join(", "))));
        }
        let id = text(&mut members, "id")?.ok_or_else(|| wrong("has no id"))?;
        let provenance = text(&mut members, "provenance")?.ok_or_else(|| wrong("has no provenance"))?;
        let provenance = Provenance::from_word(&provenance)
            .ok_or_else(|| wrong("has a provenance that is no word for one"))?;
        let provider_sequence = number(&mut members, "providerSequence")?;
        let timestamp = number(&mut members, "timestamp")?;
        let kind = text(&mut members, "type")?;
        let (data, reason) = (members.remove("data"), text(&mut members, "reason")?);
        let content = match (kind, reason) {
            (Some(kind), None) => Content::Said { kind, data: data.unwrap_or(Value::Null) },
            (None, Some(reason)) if data.is_none() => {
                let reason = GapReason::from_word(&reason);
                Content::Gap(reason.ok_or_else(|| wrong("has a reason that is no word for one"))?)
            }
            (None, None) => return Err(wrong("has neither a type nor a reason")),
            _ => return Err(wrong("has both a reason and a type or data")),
        };
        Ok(Event { id, provider_sequence, provenance, timestamp, content })
    }

    /// The events of a page, from the text of a JSON array of what [`Event::from_value`] takes. In a type and in data a lone
    /// surrogate escape becomes U+FFFD; an id has to be exact.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` with the reason `shape` for what is not one JSON array, has a key twice in one object, or is nested
    /// too deep; with the reason `event` for an event, by its position from 0. The message quotes nothing of the text.
    pub fn page_from_json(text: &str) -> Result<Vec<Event>> {
        let shape = |what: String| input(what).with_reason("shape");
        let (value, is_replaced) =
            Value::parse_replacing(text).map_err(|error| shape(format!("no JSON value: {error}")))?;
        let Value::Array(events) = value else {
            return Err(shape("a page of events is no array".to_owned()));
        };
        let event = |(position, value)| {
            let event = Event::from_value(value).map_err(|error| at(&error, position))?;
            if is_replaced && event.id.contains(REPLACEMENT) {
                return Err(at(&wrong("has an id that is cut inside a character"), position));
            }
            Ok(event)
        };
        events.into_iter().enumerate().map(event).collect()
    }
}

fn wrong(what: &str) -> Error {
    input(format!("an event {what}")).with_reason("event")
}

fn at(error: &Error, position: usize) -> Error {
    input(format!("{}, position=`{position}`", error.message())).with_reason("event")
}

/// Takes a string out; none where it is missing or null.
fn text(members: &mut Object, name: &str) -> Result<Option<String>> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(&format!("has a member that is no string, member=`{name}`"))),
    }
}

/// Takes a number out; none where it is missing or null.
fn number(members: &mut Object, name: &str) -> Result<Option<Number>> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => Ok(Some(number)),
        Some(_) => Err(wrong(&format!("has a member that is no number, member=`{name}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<Event> {
        Event::page_from_json(&format!("[{text}]")).map(|mut page| page.remove(0))
    }

    #[test]
    fn ex_jrn_04_an_event_keeps_its_digits_and_its_data() {
        let event = one(
            r#"{"id":"e","provenance":"provider","type":"output","providerSequence":90071992547409930001,
               "timestamp":1780000000000.50,"data":{"b":1.10,"a":[null]}}"#,
        )
        .expect("an event");
        assert_eq!(event.provider_sequence.as_ref().map(Number::as_str), Some("90071992547409930001"));
        assert_eq!(event.timestamp.as_ref().map(Number::as_str), Some("1780000000000.50"));
        let Content::Said { kind, data } = event.content else { panic!("no gap") };
        assert_eq!((kind.as_str(), data.to_json()), ("output", r#"{"b":1.10,"a":[null]}"#.to_owned()));
        let bare = one(r#"{"id":"e","provenance":"local","type":"t"}"#).expect("an event");
        assert_eq!((bare.provider_sequence, bare.timestamp), (None, None));
        assert_eq!(bare.content, Content::Said { kind: "t".to_owned(), data: Value::Null });
    }

    #[test]
    fn ex_jrn_10_a_gap_has_its_reason_in_place_of_type_and_data() {
        for reason in GapReason::ALL {
            let text = format!(r#"{{"id":"g","provenance":"boundary","reason":"{}"}}"#, reason.word());
            assert_eq!(one(&text).expect("a gap"), Event::gap("g", *reason, Provenance::Boundary));
        }
    }

    #[test]
    fn what_is_no_event_is_refused_by_its_position_and_quoted_nowhere() {
        let wrong = [
            "7",
            "null",
            r#"{"provenance":"local","type":"t"}"#,
            r#"{"id":null,"provenance":"local","type":"t"}"#,
            r#"{"id":7,"provenance":"local","type":"t"}"#,
            r#"{"id":"hunter2","type":"t"}"#,
            r#"{"id":"hunter2","provenance":"hunter2","type":"t"}"#,
            r#"{"id":"hunter2","provenance":"local"}"#,
            r#"{"id":"hunter2","provenance":"local","type":"t","reason":"retained"}"#,
            r#"{"id":"hunter2","provenance":"local","data":null,"reason":"retained"}"#,
            r#"{"id":"hunter2","provenance":"local","reason":"hunter2"}"#,
            r#"{"id":"hunter2","provenance":"local","type":"t","timestamp":"1"}"#,
            r#"{"id":"hunter2","provenance":"local","type":"t","providerSequence":true}"#,
            r#"{"id":"hunter2","provenance":"local","type":"t","hunter2":1}"#,
            r#"{"id":"hunter2\ud800","provenance":"local","type":"t"}"#,
        ];
        for text in wrong {
            let page = format!(r#"[{{"id":"good","provenance":"local","type":"t"}},{text}]"#);
            let error = Event::page_from_json(&page).expect_err(text);
            assert_eq!((error.code().name(), error.reason()), ("EXECUTION_INPUT", Some("event")), "{text}");
            assert!(error.message().ends_with("position=`1`"), "{}", error.message());
            assert!(!error.message().contains("hunter2"), "{}", error.message());
        }
        for text in ["", "{}", "[", "[1,]", r#"[{"id":"a","id":"b"}]"#] {
            assert_eq!(Event::page_from_json(text).expect_err(text).reason(), Some("shape"), "{text}");
        }
        assert_eq!(Event::page_from_json(" [ ] ").expect("empty"), []);
    }

    #[test]
    fn a_lone_surrogate_in_data_makes_no_page_unreadable() {
        let event =
            one(r#"{"id":"e","provenance":"local","type":"t","data":"cut \ud83d"}"#).expect("an event");
        assert_eq!(event.content, Content::Said { kind: "t".to_owned(), data: Value::from("cut \u{fffd}") });
        // A character that stands there as it is was not put there by us.
        let ours = one("{\"id\":\"\u{fffd}\",\"provenance\":\"local\",\"type\":\"t\"}").expect("an event");
        assert_eq!(ours.id, "\u{fffd}");
    }
}
