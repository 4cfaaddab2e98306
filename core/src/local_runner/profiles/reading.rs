//! What the output of a harness says of a run, one form a function. Lines that are no event are passed over: warnings, the
//! output of programs that write beside the harness, a line that a crash has torn.

use super::super::settle::Told;
use crate::json::{Number, Object, Value};

/// As many denials are kept; a harness that is denied more often has told enough.
const MAX_DENIALS: usize = 100;
/// A document of several lines is kept up to this length.
const MAX_DOCUMENT: usize = 4 * 1024 * 1024;

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The exit status alone tells.
    Exit,
    /// Claude Code's `--output-format stream-json`: an event a line, the last of them `result`.
    ClaudeStreamJson,
    /// Codex's `exec --json`: an event a line; `turn.completed` or `turn.failed` ends a turn.
    CodexJson,
    /// OpenCode's `run --format json`: an event a line; each `step_finish` tells what it cost.
    OpencodeJson,
    /// Gemini CLI's `--output-format stream-json` and `json`: an event a line and `result` last, or one document at the end.
    GeminiJson,
}

impl Output {
    const WORDS: [(&'static str, Output); 5] = [
        ("exit", Output::Exit),
        ("claude-stream-json", Output::ClaudeStreamJson),
        ("codex-json", Output::CodexJson),
        ("opencode-json", Output::OpencodeJson),
        ("gemini-json", Output::GeminiJson),
    ];

    /// The form of this name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, output)| *output)
    }
}

/// An output while it is read.
#[derive(Debug)]
pub struct Reading {
    output: Output,
    told: Told,
    /// What the harness says of itself last; none while it has not said anything that decides.
    is_well: Option<bool>,
    /// The lines of a document that has begun.
    document: Vec<u8>,
}

impl Reading {
    /// Nothing is read yet.
    #[must_use]
    pub fn new(output: Output) -> Self {
        Reading { output, told: Told::default(), is_well: None, document: Vec::new() }
    }

    /// Takes the next line, without its end.
    pub fn take(&mut self, line: &[u8]) {
        if self.output == Output::Exit {
            return;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(event) = object(line) {
            self.document.clear();
            match self.output {
                Output::Exit => {}
                Output::ClaudeStreamJson => self.claude(&event),
                Output::CodexJson => self.codex(&event),
                Output::OpencodeJson => self.opencode(&event),
                Output::GeminiJson => self.gemini(&event),
            }
        } else if self.output == Output::GeminiJson {
            self.gather(line);
        }
    }

    /// What was told, and whether the harness says that the run is well.
    #[must_use]
    pub fn finish(self) -> (Told, bool) {
        let says_well = self.is_well.unwrap_or(self.output == Output::Exit);
        (self.told, says_well)
    }

    fn claude(&mut self, event: &Object) {
        self.session(event.get("session_id"));
        if word(event, "type") != Some("result") {
            return;
        }
        let has_failed = event.get("is_error").and_then(Value::as_bool) != Some(false);
        self.is_well = Some(word(event, "subtype") == Some("success") && !has_failed);
        match used(event) {
            // The total counts the turns before this run too, where a session was resumed. It is what an older version tells.
            None => self.told.costs = number(event.get("total_cost_usd")).into_iter().collect(),
            Some(costs) => self.told.costs.extend(costs),
        }
        let denials = event.get("permission_denials").and_then(Value::as_array);
        self.told.denials = denials.into_iter().flatten().take(MAX_DENIALS).cloned().collect();
    }

    fn codex(&mut self, event: &Object) {
        match word(event, "type") {
            Some("thread.started") => self.session(event.get("thread_id")),
            Some("turn.completed") => self.is_well = Some(true),
            Some("turn.failed") => self.is_well = Some(false),
            // An error of the stream; a turn that completes after it has been taken up again.
            Some("error") => self.is_well = Some(false),
            Some("item.completed") => {
                let item = event.get("item");
                let status = item.and_then(|item| item.get("status")?.as_str());
                if let (Some(item), Some("declined")) = (item, status)
                    && self.told.denials.len() < MAX_DENIALS
                {
                    self.told.denials.push(item.clone());
                }
            }
            _ => {}
        }
    }

    fn opencode(&mut self, event: &Object) {
        self.session(event.get("sessionID"));
        match word(event, "type") {
            Some("step_finish") => {
                let part = event.get("part");
                self.told.costs.extend(number(part.and_then(|part| part.get("cost"))));
                let reason = part.and_then(|part| part.get("reason")?.as_str());
                // A step that calls tools is followed by another one.
                self.is_well = Some(reason == Some("stop"));
            }
            Some("error") => self.is_well = Some(false),
            _ => {}
        }
    }

    fn gemini(&mut self, event: &Object) {
        self.session(event.get("session_id"));
        match word(event, "type") {
            Some("result") => self.is_well = Some(word(event, "status") == Some("success")),
            Some(_) => {}
            None if event.get("error").is_some_and(|error| !error.is_null()) => self.is_well = Some(false),
            None if event.get("response").is_some() => self.is_well = Some(true),
            None => {}
        }
    }

    /// A document that stands on several lines begins with one that is only a brace.
    fn gather(&mut self, line: &[u8]) {
        if line == b"{" {
            self.document.clear();
        } else if self.document.is_empty() {
            return;
        }
        if self.document.len() + line.len() > MAX_DOCUMENT {
            self.document.clear();
            return;
        }
        self.document.extend(line);
        self.document.push(b'\n');
        if line == b"}"
            && let Some(event) = object(&std::mem::take(&mut self.document))
        {
            self.gemini(&event);
        }
    }

    /// The first session that is told is the run's; those of turns inside it come later.
    fn session(&mut self, session: Option<&Value>) {
        if self.told.session_id.is_none() {
            self.told.session_id = session.filter(|session| !session.is_null()).cloned();
        }
    }
}

/// What Claude Code has used since its last result in this run, a cost for each model; none where it does not tell all of them.
fn used(result: &Object) -> Option<Vec<Number>> {
    let models = result.get("model_usage_since_last_result")?.as_object()?;
    let costs: Vec<_> =
        models.iter().map(|(_, model)| number(model.get("costUSD"))).collect::<Option<_>>()?;
    // Nobody was asked, and nothing was used.
    Some(if costs.is_empty() { Number::parse("0").into_iter().collect() } else { costs })
}

fn object(text: &[u8]) -> Option<Object> {
    let text = std::str::from_utf8(text).ok()?.trim();
    if !text.starts_with('{') {
        return None;
    }
    match Value::parse(text).ok()? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn word<'a>(event: &'a Object, key: &str) -> Option<&'a str> {
    event.get(key).and_then(Value::as_str)
}

fn number(value: Option<&Value>) -> Option<Number> {
    value.and_then(Value::as_number).cloned()
}

#[cfg(test)]
mod tests {
    use super::super::Profiles;
    use super::*;

    fn read(output: Output, text: &str) -> (Told, bool) {
        let mut reading = Reading::new(output);
        text.lines().for_each(|line| reading.take(line.as_bytes()));
        reading.finish()
    }

    fn costs(told: &Told) -> Vec<String> {
        told.costs.iter().map(|cost| Value::Number(cost.clone()).to_json()).collect()
    }

    /// What the harnesses themselves have said, in the versions of `profiles.json` and against a fake provider: the sessions have
    /// one name, members that no form reads are left out, and long texts cut.
    macro_rules! recorded {
        ($harness:literal, $run:literal) => {
            ($harness, include_str!(concat!("recorded/", $harness, ".", $run, ".jsonl")))
        };
    }

    #[test]
    fn ex_loc_20_what_the_harnesses_themselves_have_said_is_understood() {
        let rows = [
            (recorded!("claude", "succeeds"), "well, cost 0.00044, denials 0"),
            (recorded!("claude", "denied"), "well, cost 0.00044, denials 1"),
            (recorded!("claude", "fails"), "not well, cost 0.00022, denials 0"),
            // The session's total is 0.00088 by then, with the turn before.
            (recorded!("claude", "resumed"), "well, cost 0.00044, denials 0"),
            (recorded!("claude", "cancelled"), "not well, cost , denials 0"),
            (recorded!("codex", "succeeds"), "well, cost , denials 0"),
            (recorded!("codex", "denied"), "well, cost , denials 0"),
            (recorded!("codex", "fails"), "not well, cost , denials 0"),
            (recorded!("codex", "cancelled"), "not well, cost , denials 0"),
            (recorded!("gemini", "succeeds"), "well, cost , denials 0"),
            (recorded!("gemini", "denied"), "well, cost , denials 0"),
            (recorded!("gemini", "fails"), "not well, cost , denials 0"),
            (recorded!("gemini", "cancelled"), "not well, cost , denials 0"),
            (recorded!("opencode", "succeeds"), "well, cost 0.02+0.02, denials 0"),
            // The turn ended there: its last step called a tool, and nothing was answered.
            (recorded!("opencode", "denied"), "not well, cost 0.02, denials 0"),
            (recorded!("opencode", "fails"), "not well, cost 0.02, denials 0"),
            (recorded!("opencode", "cancelled"), "not well, cost , denials 0"),
        ];
        let profiles = Profiles::shipped();
        for ((harness, text), expected) in rows {
            let (told, is_well) = read(profiles.get(harness).expect("it is shipped").output, text);
            assert_eq!(told.session_id, Some(Value::from("the-session")), "{text}");
            let well = if is_well { "well" } else { "not well" };
            let said = format!("{well}, cost {}, denials {}", costs(&told).join("+"), told.denials.len());
            assert_eq!(said, expected, "{text}");
        }
    }

    #[test]
    fn claude_tells_everything_in_its_last_event() {
        let text = r#"warning: something
{"type":"system","subtype":"init","session_id":"s-1"}
{"type":"assistant","session_id":"s-1","message":{}}
{"type":"result","subtype":"success","is_error":false,"session_id":"s-1","total_cost_usd":0.0123,"permission_denials":[{"tool_name":"Bash"}]}"#;
        let (told, is_well) = read(Output::ClaudeStreamJson, text);
        assert!(is_well);
        assert_eq!(costs(&told), ["0.0123"]);
        assert_eq!(told.session_id, Some(Value::from("s-1")));
        assert_eq!(told.denials.len(), 1);
        let result = text.lines().last().expect("a line");
        let used = |models: &str| {
            format!("{},\"model_usage_since_last_result\":{models}}}", &result[..result.len() - 1])
        };
        let two = format!(
            "{}\n{}",
            used(r#"{"a":{"costUSD":0.1},"b":{"costUSD":0.2}}"#),
            used(r#"{"a":{"costUSD":0.3}}"#)
        );
        assert_eq!(costs(&read(Output::ClaudeStreamJson, &two).0), ["0.1", "0.2", "0.3"]);
        assert_eq!(costs(&read(Output::ClaudeStreamJson, &used("{}")).0), ["0"]);
        assert_eq!(costs(&read(Output::ClaudeStreamJson, &used(r#"{"a":{}}"#)).0), ["0.0123"]);
        let torn = &text[..text.len() - 4];
        assert!(!read(Output::ClaudeStreamJson, torn).1, "without its last event nothing is well");
        let failed = text.replace("\"success\"", "\"error_max_turns\"");
        assert!(!read(Output::ClaudeStreamJson, &failed).1);
    }

    #[test]
    fn codex_ends_a_turn_by_name() {
        let begin = "{\"type\":\"thread.started\",\"thread_id\":\"t-1\"}\n{\"type\":\"turn.started\"}\n";
        let (told, is_well) =
            read(Output::CodexJson, &format!("{begin}{{\"type\":\"turn.completed\",\"usage\":{{}}}}"));
        assert_eq!((told.session_id, is_well), (Some(Value::from("t-1")), true));
        assert!(!read(Output::CodexJson, begin).1);
        assert!(!read(Output::CodexJson, &format!("{begin}{{\"type\":\"turn.failed\"}}")).1);
    }

    #[test]
    fn opencode_tells_the_cost_of_each_step() {
        let text = r#"{"type":"step_start","sessionID":"ses_1","part":{}}
{"type":"step_finish","sessionID":"ses_1","part":{"reason":"tool-calls","cost":0.1}}
{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","cost":0.2}}"#;
        let (told, is_well) = read(Output::OpencodeJson, text);
        assert!(is_well);
        assert_eq!(costs(&told), ["0.1", "0.2"]);
        assert!(!read(Output::OpencodeJson, &format!("{text}\n{{\"type\":\"error\"}}")).1);
    }

    #[test]
    fn gemini_tells_one_document_or_a_stream() {
        let document = "Loaded cached credentials.\n{\n  \"session_id\": \"g-1\",\n  \"response\": \"{\\n}\",\n  \"stats\": {}\n}";
        let (told, is_well) = read(Output::GeminiJson, document);
        assert_eq!((told.session_id, is_well), (Some(Value::from("g-1")), true));
        assert!(!read(Output::GeminiJson, "{\n  \"error\": {\"code\": 1}\n}").1);
        assert!(!read(Output::GeminiJson, "{\n  \"response\": \"cut").1);
        let stream =
            "{\"type\":\"init\",\"session_id\":\"g-2\"}\n{\"type\":\"result\",\"status\":\"success\"}";
        assert_eq!(read(Output::GeminiJson, stream).0.session_id, Some(Value::from("g-2")));
    }

    #[test]
    fn what_is_no_event_says_nothing() {
        for output in [Output::ClaudeStreamJson, Output::CodexJson, Output::OpencodeJson, Output::GeminiJson]
        {
            let mut reading = Reading::new(output);
            for line in [
                &b"\xff\xfe\x00binary"[..],
                b"[1]",
                b"{\"type\":",
                b"{}",
                b"null",
                "{\"type\":\"ü".as_bytes(),
            ] {
                reading.take(line);
            }
            assert_eq!(reading.finish(), (Told::default(), false), "{output:?}");
        }
        assert!(read(Output::Exit, "anything").1, "the exit status decides");
    }
}
