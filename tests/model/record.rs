//! The model's own record: its members as text, and its line as sections A and G say it is written.

use std::fmt::Write;

use crate::operation::Said;

pub(crate) const SCHEMA: &str = "st2.harness-state.v1";
/// The other spelling that the readers and writers of a run accept.
pub(crate) const OTHER_SCHEMA: &str = "st.harness-state.v1";
pub(crate) const STALE_MS: u64 = 900_000;
pub(crate) const REFRESH_MS: u64 = 300_000;
pub(crate) const SKEW_MS: u64 = 60_000;

/// Where the machine's clocks stand, and which machine it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Now {
    pub(crate) wall: u64,
    /// Counts sleep.
    pub(crate) boot: u64,
    /// Does not.
    pub(crate) awake: u64,
    pub(crate) boot_id: String,
    pub(crate) host: String,
    pub(crate) pid_namespace: String,
}

impl Now {
    pub(crate) fn advance(&mut self, ms: u64) {
        self.awake += ms;
        self.sleep(ms);
    }

    pub(crate) fn sleep(&mut self, ms: u64) {
        self.boot += ms;
        self.wall += ms;
    }

    /// A stamp that is not further ahead than the skew.
    pub(crate) fn trusts(&self, stamp: u64) -> bool {
        stamp <= self.wall.saturating_add(SKEW_MS)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) schema: String,
    pub(crate) harness: String,
    pub(crate) state: String,
    pub(crate) blocked_on: String,
    pub(crate) input_buffer: String,
    pub(crate) ask: String,
    pub(crate) reason: Option<String>,
    pub(crate) exit: Option<String>,
    pub(crate) pty_session: Option<String>,
    pub(crate) token: String,
    pub(crate) seq: u64,
    pub(crate) since: u64,
    pub(crate) stamp: u64,
    pub(crate) transitions: u64,
    pub(crate) extension: Option<Extension>,
    /// A member that nobody here knows.
    pub(crate) has_unknown_member: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Extension {
    pub(crate) boot_id: String,
    pub(crate) boot: u64,
    pub(crate) awake: u64,
    pub(crate) host: String,
    pub(crate) event: Option<u64>,
    pub(crate) evidence: Option<&'static str>,
    pub(crate) children: Vec<String>,
    pub(crate) late: u64,
    pub(crate) process: Option<Process>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) start: u64,
    pub(crate) pid_namespace: String,
}

/// The value of a word; what is in none of the lists is `unknown` (HS-13 to HS-16).
pub(crate) fn understood(word: &str) -> &str {
    let known = ["ready", "idle", "active", "child", "ended", "none", "human", "empty", "nonempty"];
    let asks = ["permission", "question", "review"];
    if known.contains(&word) || asks.contains(&word) { word } else { "unknown" }
}

impl Record {
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.state.as_str(), "ready" | "idle" | "active" | "child")
    }

    pub(crate) fn is_placeholder(&self) -> bool {
        self.state == "ended" && self.exit.is_none() && self.reason.as_deref() == Some("superseded")
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state == "ended" && self.exit.is_some()
    }

    pub(crate) fn says(&self, said: &Said) -> bool {
        understood(&self.state) == said.state
            && understood(&self.blocked_on) == said.blocked_on
            && understood(&self.input_buffer) == said.input_buffer
            && understood(&self.ask) == said.ask
            && self.reason.as_deref() == said.reason
            && self.exit.as_deref() == said.exit
    }

    /// The line as it stands on disk.
    pub(crate) fn line(&self) -> Vec<u8> {
        let mut line = String::from("{");
        let mut text = |key: &str, value: Option<&str>| {
            if let Some(value) = value {
                let value = serde_json::to_string(value).expect("a string");
                write!(line, "\"{key}\":{value},").expect("into memory");
            }
        };
        text("schema", Some(&self.schema));
        text("agent", Some("a"));
        text("harness", Some(&self.harness));
        text("state", Some(&self.state));
        text("blockedOn", Some(&self.blocked_on));
        text("inputBuffer", Some(&self.input_buffer));
        text("ask", Some(&self.ask));
        text("reason", self.reason.as_deref());
        text("exit", self.exit.as_deref());
        text("ptySession", self.pty_session.as_deref());
        text("incarnation", Some(&self.token));
        let (seq, since, stamp, transitions) = (self.seq, self.since, self.stamp, self.transitions);
        write!(
            line,
            "\"seq\":{seq},\"sinceMs\":{since},\"writtenAtMs\":{stamp},\"transitions\":{transitions}"
        )
        .expect("into memory");
        if let Some(extension) = &self.extension {
            write!(line, ",\"gallivant\":{}", extension.json()).expect("into memory");
        }
        if self.has_unknown_member {
            line += ",\"later\":{\"x\":[1,null]}";
        }
        line += "}\n";
        line.into_bytes()
    }
}

impl Extension {
    /// Stamped now, and what a reboot or another machine leaves untrue left out.
    pub(crate) fn stamped(mut self, now: &Now) -> Extension {
        if !self.is_of(now) {
            self.event = None;
            self.process = None;
            self.children.clear();
        }
        self.boot_id.clone_from(&now.boot_id);
        self.host.clone_from(&now.host);
        (self.boot, self.awake) = (now.boot, now.awake);
        self
    }

    /// Whether its clocks are this machine's.
    pub(crate) fn is_of(&self, now: &Now) -> bool {
        self.host == now.host && self.boot_id == now.boot_id
    }

    fn json(&self) -> String {
        let mut object = format!(
            "{{\"bootId\":\"{}\",\"bootMs\":{},\"awakeMs\":{},\"host\":\"{}\"",
            self.boot_id, self.boot, self.awake, self.host
        );
        if let Some(event) = self.event {
            write!(object, ",\"eventMs\":{event}").expect("into memory");
        }
        if let Some(evidence) = self.evidence {
            write!(object, ",\"evidence\":\"{evidence}\"").expect("into memory");
        }
        if !self.children.is_empty() {
            write!(object, ",\"children\":[\"{}\"]", self.children.join("\",\"")).expect("into memory");
        }
        if self.late > 0 {
            write!(object, ",\"late\":{}", self.late).expect("into memory");
        }
        if let Some(process) = &self.process {
            let Process { pid, start, pid_namespace } = process;
            write!(object, ",\"process\":{{\"pid\":{pid},\"start\":{start},\"pidns\":\"{pid_namespace}\"}}")
                .expect("into memory");
        }
        object + "}"
    }
}
