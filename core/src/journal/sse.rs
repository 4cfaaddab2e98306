//! A frame as the bytes of a server-sent event (EX-JRN-69).
//!
//! Which routes it goes out on is the coordinator's. How an event is framed is the same for every one: each line of the
//! data has a field of its own, and nothing that a frame holds begins another event or moves the cursor.

use super::replay::{Frame, HEARTBEAT_EVENT};

/// What a heartbeat is on the wire: a comment, which no client sees and every proxy passes on.
const COMMENT: &str = ":heartbeat\n\n";

impl Frame {
    /// The frame as one server-sent event with the empty line that ends it; see [`server_sent_event`].
    #[must_use]
    pub fn to_sse(&self) -> String {
        server_sent_event(self.id.as_deref(), self.event, &self.data)
    }
}

/// One server-sent event with the empty line that ends it, in UTF-8, for a response of `text/event-stream`.
///
/// A client gets `data` as it is, but that each CR, LF or CRLF arrives as one LF, which is all that the format can carry.
/// An event without an id leaves the client's last event id alone (EX-JRN-86). So does an id that the format cannot carry:
/// an empty one, and one with a line break or a zero byte; no row has such an id. Of `event` what follows a line break is
/// left out. The event `heartbeat` is a comment, `:heartbeat`, whatever else the frame holds: it keeps a connection open
/// and reaches no listener.
#[must_use]
pub fn server_sent_event(id: Option<&str>, event: &str, data: &str) -> String {
    if event == HEARTBEAT_EVENT {
        return COMMENT.to_owned();
    }
    let event = lines(event).next().unwrap_or_default();
    let id = id.filter(|id| !id.is_empty() && !id.contains(['\r', '\n', '\0']));
    let mut out = String::with_capacity(data.len() + event.len() + id.map_or(0, str::len) + 32);
    let mut field = |name: &str, value: &str| {
        // One space after the colon is taken off again by the client, so that a value may begin with one of its own.
        for part in [name, ": ", value, "\n"] {
            out.push_str(part);
        }
    };
    if let Some(id) = id {
        field("id", id);
    }
    field("event", event);
    for line in lines(data) {
        field("data", line);
    }
    out.push('\n');
    out
}

/// The lines of a text as the format counts them: CR, LF and CRLF each end one. A text without any is one line, and so is
/// what follows the last.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(at) = memchr::memchr2(b'\r', b'\n', text.as_bytes()) else { return rest.take() };
        let after = &text[at + 1..];
        let is_pair = text[at..].starts_with("\r\n");
        rest = Some(if is_pair { &after[1..] } else { after });
        Some(&text[..at])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client makes of a stream: id, event and data of each event that it dispatches, by the format's own rules.
    fn received(stream: &str) -> Vec<(String, String, String)> {
        let (mut last, mut event, mut data, mut seen) = (String::new(), String::new(), None, Vec::new());
        let stream = stream.replace("\r\n", "\n").replace('\r', "\n");
        for line in stream.split('\n') {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match name {
                "" if line.is_empty() => {
                    if let Some(data) = data.take() {
                        seen.push((last.clone(), std::mem::take(&mut event), data));
                    }
                    event.clear();
                }
                "id" if !value.contains('\0') => value.clone_into(&mut last),
                "event" => value.clone_into(&mut event),
                "data" => {
                    let before = data.take().map(|data: String| data + "\n").unwrap_or_default();
                    data = Some(before + value);
                }
                _ => {}
            }
        }
        seen
    }

    #[test]
    fn ex_jrn_69_a_frame_is_written_as_a_server_sent_event() {
        let frame = Frame { id: Some("7".into()), event: "line", data: r#"{"id":"7"}"#.into() };
        assert_eq!(frame.to_sse(), "id: 7\nevent: line\ndata: {\"id\":\"7\"}\n\n");
    }

    #[test]
    fn ex_jrn_69_every_line_break_in_data_begins_a_field_of_its_own() {
        let cases = [
            ("a\nb", "a\nb"),
            ("a\rb", "a\nb"),
            ("a\r\nb", "a\nb"),
            ("a\n\rb", "a\n\nb"),
            ("a\r\r\nb", "a\n\nb"),
            ("\na\n", "\na\n"),
            ("\r\n", "\n"),
            (" a: b", " a: b"),
            ("", ""),
            ("x\n\nid: 9\n\nevent: gap", "x\n\nid: 9\n\nevent: gap"),
            ("a\u{2028}b\u{85}c", "a\u{2028}b\u{85}c"),
        ];
        for (data, arrives) in cases {
            let stream = server_sent_event(Some("7"), "line", data);
            let expected = ("7".to_owned(), "line".to_owned(), arrives.to_owned());
            assert_eq!(received(&stream), [expected], "{stream:?}");
        }
    }

    #[test]
    fn ex_jrn_69_what_is_no_id_for_the_format_moves_no_cursor() {
        for id in [None, Some(""), Some("8\nid: 9"), Some("8\r"), Some("8\0")] {
            let stream = server_sent_event(Some("7"), "line", "a") + &server_sent_event(id, "gap", "b");
            let ids: Vec<_> = received(&stream).into_iter().map(|(id, ..)| id).collect();
            assert_eq!(ids, ["7", "7"], "{stream:?}");
        }
        let stream = server_sent_event(None, "line\ndata: x", "a");
        assert_eq!(received(&stream), [(String::new(), "line".to_owned(), "a".to_owned())], "{stream:?}");
    }

    #[test]
    fn ex_jrn_70_a_heartbeat_is_a_comment() {
        let heartbeat = Frame { id: None, event: HEARTBEAT_EVENT, data: String::new() };
        assert_eq!(heartbeat.to_sse(), ":heartbeat\n\n");
        let stream = server_sent_event(Some("7"), "line", "a") + &heartbeat.to_sse();
        assert_eq!(received(&stream).len(), 1);
    }
}
