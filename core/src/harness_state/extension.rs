//! The extension object: one optional key `gallivant` after `transitions` (HS-95).
//!
//! Programs that do not know it skip it. Ours derive more truly by it: age on clocks that nobody sets, the order of
//! events, how strong the evidence is, which children run, and which process the harness is.

use serde_json::value::RawValue;

use super::line::{Line, Writing};
use super::moment::Machine;
use super::observation::words;
use super::record::Word;
use crate::json::strict::{self, Malformed, Spare};
use crate::process::ProcessIdentity;

/// The extension's key in a record.
pub const EXTENSION: &str = "gallivant";

/// The keys that this build knows, those first without which there is no stamp.
const KEYS: [&str; 9] =
    ["bootId", "bootMs", "awakeMs", "host", "eventMs", "evidence", "children", "late", "process"];
const REQUIRED: usize = 4;

/// The most children that are kept. A further one is not noted: with ids of 128 bytes this many take 128 KiB of the
/// 4 MiB that a record can have, and no harness runs as many at a time.
pub const MAX_CHILDREN: usize = 1024;

words! {
    /// By what a writer knows what it observes.
    Evidence {
        /// A hook of the harness told it.
        Hook = "hook",
        /// A channel that the harness offers told it: a protocol, a stream of events.
        Channel = "channel",
        /// The wrapper that drives the harness knows it from what it does itself.
        Wrapper = "wrapper",
        /// It was read off the harness's screen.
        Screen = "screen",
    }
}

impl Evidence {
    /// Whether an observation by this evidence gives way to what stands by that one while it is fresh (HS-98).
    #[must_use]
    pub const fn is_weaker_than(self, standing: Evidence) -> bool {
        matches!((self, standing), (Evidence::Screen, Evidence::Hook | Evidence::Channel))
    }
}

/// What our writers add to a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extension {
    /// The boot in which the stamp was taken; empty where the system does not tell.
    pub boot_id: String,
    /// The stamp on the clock that counts the machine's sleep, in ms since boot.
    pub boot_ms: u64,
    /// The stamp on the clock that does not, in ms.
    pub awake_ms: u64,
    /// The machine on which the stamp was taken; empty where the system does not tell.
    pub host: String,
    /// When what stands here happened, on the clock of `boot_ms`: for a hook, when its process started.
    pub event_ms: Option<u64>,
    /// By what it is known.
    pub evidence: Option<Word<Evidence>>,
    /// The ids of the children that run, in the order in which they were first heard of.
    pub children: Vec<String>,
    /// How many events came too late to be written.
    pub late: u64,
    /// The harness's process, where a session attached it.
    pub process: Option<HarnessProcess>,
    /// Members that this build does not know, as they stood.
    unknown: Vec<(String, String)>,
}

/// The process that is the harness. Boot and host are those of the extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HarnessProcess {
    /// Process id, as its own namespace counts.
    pub pid: u32,
    /// Start time in the unit of the system's process table (Linux: clock ticks since boot).
    pub start: u64,
    /// Identifies the pid namespace; empty where the system does not tell.
    pub pid_namespace: String,
}

impl Extension {
    /// Reads the value of the key. What is not as it should be is no extension: the record it stands in is one all
    /// the same, as it is for programs that do not know the key.
    pub(super) fn parse(value: &RawValue, spare: &mut Spare) -> Option<Extension> {
        let mut seen = [false; KEYS.len()];
        let mut extension = Extension::default();
        strict::members(value.get(), |key, value| {
            let repeats = match KEYS.iter().position(|known| *known == key) {
                Some(position) => std::mem::replace(&mut seen[position], true),
                None => extension.unknown.iter().any(|(known, _)| known == key),
            };
            if repeats {
                return Err(Malformed("a key is repeated".to_owned()));
            }
            extension.take(key, value, spare)
        })
        .ok()?;
        seen[..REQUIRED].iter().all(|seen| *seen).then_some(extension)
    }

    /// A copy in the memory of `spare`.
    pub(super) fn copied(&self, spare: &mut Spare) -> Extension {
        Extension {
            boot_id: spare.copy(&self.boot_id),
            boot_ms: self.boot_ms,
            awake_ms: self.awake_ms,
            host: spare.copy(&self.host),
            event_ms: self.event_ms,
            evidence: self.evidence.clone(),
            children: spare.copy_list(&self.children),
            late: self.late,
            process: self.process.as_ref().map(|process| HarnessProcess {
                pid: process.pid,
                start: process.start,
                pid_namespace: spare.copy(&process.pid_namespace),
            }),
            unknown: self.unknown.clone(),
        }
    }

    /// Gives its strings back, the last one first.
    pub(super) fn take_apart(self, spare: &mut Spare) {
        if let Some(process) = self.process {
            spare.give(process.pid_namespace);
        }
        spare.give_list(self.children);
        spare.give(self.host);
        spare.give(self.boot_id);
    }

    fn take(&mut self, key: &str, value: &RawValue, spare: &mut Spare) -> Result<(), Malformed> {
        match key {
            "bootId" => self.boot_id = strict::string(key, value, spare)?,
            "bootMs" => self.boot_ms = strict::unsigned(key, value)?,
            "awakeMs" => self.awake_ms = strict::unsigned(key, value)?,
            "host" => self.host = strict::string(key, value, spare)?,
            "eventMs" => self.event_ms = Some(strict::unsigned(key, value)?),
            "evidence" => self.evidence = Some(evidence(strict::string(key, value, spare)?, spare)),
            "children" => self.children = strict::strings(key, value, spare)?,
            "late" => self.late = strict::unsigned(key, value)?,
            "process" => self.process = Some(HarnessProcess::parse(value, spare)?),
            _ => self.unknown.push((key.to_owned(), strict::compact(value))),
        }
        Ok(())
    }

    /// Writes the member. What says nothing is left out.
    pub(super) fn write_member(&self, line: &mut Writing) {
        line.text(",\"gallivant\":{\"bootId\":\"", &self.boot_id);
        line.number(",\"bootMs\":", self.boot_ms);
        line.number(",\"awakeMs\":", self.awake_ms);
        line.text(",\"host\":\"", &self.host);
        if let Some(event_ms) = self.event_ms {
            line.number(",\"eventMs\":", event_ms);
        }
        if let Some(word) = &self.evidence {
            line.word(",\"evidence\":\"", word.spelled.as_deref(), word.value.word());
        }
        let mut before = ",\"children\":[\"";
        for child in &self.children {
            line.text(before, child);
            before = ",\"";
        }
        if !self.children.is_empty() {
            line.plain("]");
        }
        if self.late > 0 {
            line.number(",\"late\":", self.late);
        }
        if let Some(process) = &self.process {
            line.number(",\"process\":{\"pid\":", u64::from(process.pid));
            line.number(",\"start\":", process.start);
            line.text(",\"pidns\":\"", &process.pid_namespace);
            line.plain("}");
        }
        for (key, value) in &self.unknown {
            line.member(key, value);
        }
        line.plain("}");
    }

    /// Stamped at this moment, and otherwise as it stands; what no reboot and no other machine leaves true is left
    /// out where it was written before one or on another.
    pub(super) fn stamped(self, machine: &Machine) -> Extension {
        let mut next = Extension { boot_ms: machine.boot_ms, awake_ms: machine.awake_ms, ..self };
        if !next.is_of(machine) {
            (next.boot_id, next.host) = (machine.boot_id.to_string(), machine.host.to_string());
            (next.event_ms, next.process) = (None, None);
            next.children.clear();
        }
        next
    }

    /// Whether its clocks can be compared with this machine's.
    pub(super) fn is_of(&self, machine: &Machine) -> bool {
        self.is_on(machine) && !self.boot_id.is_empty() && *self.boot_id == *machine.boot_id
    }

    /// Whether it was written on this machine, in whichever boot.
    pub(super) fn is_on(&self, machine: &Machine) -> bool {
        !self.host.is_empty() && *self.host == *machine.host
    }

    /// Whether it was provably written before this machine's last boot.
    pub(super) fn is_of_another_boot(&self, machine: &Machine) -> bool {
        let told = !self.boot_id.is_empty() && !machine.boot_id.is_empty();
        self.is_on(machine) && told && *self.boot_id != *machine.boot_id
    }

    /// The harness's process, named for ever.
    #[must_use]
    pub fn process_identity(&self) -> Option<ProcessIdentity> {
        let process = self.process.as_ref()?;
        Some(ProcessIdentity {
            pid: process.pid,
            start: process.start,
            boot: self.boot_id.clone(),
            pid_namespace: process.pid_namespace.clone(),
            host: self.host.clone(),
        })
    }
}

/// An extension in a line that is spelled as it is written, without children.
#[derive(Debug)]
pub(super) struct WrittenExtension<'a> {
    boot_id: &'a str,
    boot_ms: u64,
    awake_ms: u64,
    host: &'a str,
    event_ms: Option<u64>,
    evidence: Option<Word<Evidence>>,
    late: Option<u64>,
    process: Option<(u32, u64, &'a str)>,
}

impl<'a> WrittenExtension<'a> {
    /// Goes past the member, where it is next; none where it is spelled otherwise, and none within where there is none.
    #[expect(clippy::option_option, reason = "the outer one says whether the line has the form")]
    pub(super) fn of(line: &mut Line<'a>) -> Option<Option<Self>> {
        if !line.passes(",\"gallivant\":{") {
            return Some(None);
        }
        let extension = WrittenExtension {
            boot_id: line.text("\"bootId\":\"")?,
            boot_ms: line.number(",\"bootMs\":")?,
            awake_ms: line.number(",\"awakeMs\":")?,
            host: line.text(",\"host\":\"")?,
            event_ms: line.optional_number(",\"eventMs\":")?,
            evidence: match line.optional_text(",\"evidence\":\"")? {
                None => None,
                Some(spelled) => {
                    let value = Evidence::from_word(spelled);
                    Some((value.word() == spelled).then_some(Word::known(value))?)
                }
            },
            late: line.optional_number(",\"late\":")?,
            process: match line.passes(",\"process\":{") {
                false => None,
                true => {
                    let pid = u32::try_from(line.number("\"pid\":")?).ok()?;
                    let start = line.number(",\"start\":")?;
                    let pid_namespace = line.text(",\"pidns\":\"")?;
                    line.pass("}")?;
                    Some((pid, start, pid_namespace))
                }
            },
        };
        line.pass("}")?;
        Some(Some(extension))
    }

    /// The same with texts of its own.
    pub(super) fn to_extension(&self, spare: &mut Spare) -> Extension {
        Extension {
            boot_id: spare.copy(self.boot_id),
            boot_ms: self.boot_ms,
            awake_ms: self.awake_ms,
            host: spare.copy(self.host),
            event_ms: self.event_ms,
            evidence: self.evidence.clone(),
            children: Vec::new(),
            late: self.late.unwrap_or(0),
            process: self.process.map(|(pid, start, pid_namespace)| HarnessProcess {
                pid,
                start,
                pid_namespace: spare.copy(pid_namespace),
            }),
            unknown: Vec::new(),
        }
    }
}

fn evidence(spelled: String, spare: &mut Spare) -> Word<Evidence> {
    let value = Evidence::from_word(&spelled);
    if value.word() != spelled {
        return Word { value, spelled: Some(spelled.into_boxed_str()) };
    }
    spare.give(spelled);
    Word::known(value)
}

impl HarnessProcess {
    fn parse(value: &RawValue, spare: &mut Spare) -> Result<Self, Malformed> {
        let (mut pid, mut start, mut pid_namespace) = (None, None, None);
        strict::members(value.get(), |key, value| {
            match key {
                "pid" => pid = u32::try_from(strict::unsigned(key, value)?).ok(),
                "start" => start = Some(strict::unsigned(key, value)?),
                "pidns" => pid_namespace = Some(strict::string(key, value, spare)?),
                _ => {}
            }
            Ok(())
        })?;
        match (pid, start, pid_namespace) {
            (Some(pid), Some(start), Some(pid_namespace)) => Ok(HarnessProcess { pid, start, pid_namespace }),
            _ => Err(Malformed("a process without pid, start or pidns".to_owned())),
        }
    }
}

impl From<&ProcessIdentity> for HarnessProcess {
    fn from(identity: &ProcessIdentity) -> Self {
        HarnessProcess {
            pid: identity.pid,
            start: identity.start,
            pid_namespace: identity.pid_namespace.clone(),
        }
    }
}
