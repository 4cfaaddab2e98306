//! One seat as sections C to H of the specification describe it: what stands, who speaks, what each call answers.
//!
//! Written from the specification (and decision 0014 where that leaves something open), in plain data, without a disk,
//! a lock or anything cached. Answers are the words that calls answer.

use std::collections::BTreeMap;

use crate::meaning::meaning;
use crate::operation::{Event, Opened, Operation, Said};
use crate::reading::{Age, Reading, age, read};
use crate::record::{Extension, Now, OTHER_SCHEMA, REFRESH_MS, Record, SCHEMA, understood};

pub(crate) const PREFIX: &str = "claude-session-";

/// What is found in the record's place.
#[derive(Clone, Debug)]
pub(crate) enum Stands {
    Nothing,
    Unreadable(Numbers),
    Record(Box<Record>),
}

/// What a claim takes from bytes that do not decode (HS-57).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) seq: Option<u64>,
    pub(crate) transitions: Option<u64>,
    pub(crate) stamp: Option<u64>,
}

/// A writer.
#[derive(Clone, Debug)]
pub(crate) struct Voice {
    pub(crate) token: String,
    pub(crate) adopted: Option<u64>,
    pub(crate) sequence: Option<u64>,
    pub(crate) opened: Opened,
    pub(crate) interrupted: bool,
    /// For a hook, when its event happened.
    pub(crate) event: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) stands: Stands,
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) floor: Option<Vec<u8>>,
    pub(crate) now: Now,
    pub(crate) voices: Vec<Voice>,
    /// The session object that lives, as a number of a voice.
    pub(crate) session: Option<usize>,
    pub(crate) running: BTreeMap<u32, u64>,
    pub(crate) claims: u64,
    pub(crate) history: Vec<(Stands, Vec<u8>)>,
}

pub(crate) const ACCEPTED: [&str; 2] = [SCHEMA, OTHER_SCHEMA];

impl Model {
    pub(crate) fn new(now: Now) -> Self {
        Model {
            stands: Stands::Nothing,
            bytes: None,
            floor: None,
            now,
            voices: Vec::new(),
            session: None,
            running: BTreeMap::new(),
            claims: 0,
            history: Vec::new(),
        }
    }

    /// The number of the writer that an operation means: counted from the newest.
    pub(crate) fn who(&self, from_the_newest: usize) -> Option<usize> {
        (!self.voices.is_empty()).then(|| self.voices.len() - 1 - from_the_newest % self.voices.len())
    }

    pub(crate) fn read(&self, now: &Now, extension: bool, probe: Option<&'static str>) -> String {
        let reading = Reading { now, extension, probe, running: &self.running, accepted: &ACCEPTED };
        read(&self.stands, reading)
    }

    /// HS-57: the floor's number, or that something stands there which is none.
    pub(crate) fn floor_value(&self) -> Result<u64, ()> {
        let Some(bytes) = &self.floor else { return Ok(0) };
        let text = std::str::from_utf8(bytes).map_err(|_| ())?.trim();
        let digits = text.strip_prefix('+').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(());
        }
        digits.parse().map_err(|_| ())
    }

    /// The highest sequence that somebody who claims would see.
    pub(crate) fn highest(&self) -> u64 {
        let on_record = match &self.stands {
            Stands::Nothing => None,
            Stands::Unreadable(numbers) => numbers.seq,
            Stands::Record(record) => Some(record.seq),
        };
        on_record.unwrap_or(0).max(self.floor_value().unwrap_or(0))
    }

    pub(crate) fn record(&self) -> Option<&Record> {
        match &self.stands {
            Stands::Record(record) => Some(record),
            Stands::Nothing | Stands::Unreadable(_) => None,
        }
    }

    /// The record is published, and the floor raised after it (HS-50, HS-62).
    pub(crate) fn land(&mut self, record: Record) {
        let line = record.line();
        if record.seq > self.floor_value().unwrap_or(0) {
            self.floor = Some(format!("{}\n", record.seq).into_bytes());
        }
        self.stands = Stands::Record(Box::new(record));
        self.history.push((self.stands.clone(), line.clone()));
        self.bytes = Some(line);
    }

    /// HS-47.
    fn stamp_over(&self, previous: Option<u64>) -> u64 {
        match previous {
            Some(previous) if self.now.trusts(previous) => self.now.wall.max(previous.saturating_add(1)),
            _ => self.now.wall,
        }
    }

    pub(crate) fn claim(&mut self, token: &str, opened: Opened) -> String {
        let Some(seq) = self.highest().checked_add(1) else { return "sequence-exhausted".to_owned() };
        let (stamp, transitions) = match &self.stands {
            Stands::Nothing => (None, None),
            Stands::Unreadable(numbers) => (numbers.stamp, numbers.transitions),
            Stands::Record(record) => (Some(record.stamp), Some(record.transitions)),
        };
        let damage = if self.floor_value().is_err() { " floor-damage" } else { "" };
        let stamp = self.stamp_over(stamp);
        self.land(Record {
            schema: SCHEMA.to_owned(),
            harness: "claude".to_owned(),
            state: "ended".to_owned(),
            blocked_on: "none".to_owned(),
            input_buffer: "unknown".to_owned(),
            ask: "none".to_owned(),
            reason: Some("superseded".to_owned()),
            exit: None,
            pty_session: None,
            token: token.to_owned(),
            seq,
            since: stamp,
            stamp,
            transitions: transitions.map_or(0, |count: u64| count.saturating_add(1)),
            extension: opened.extension.then(|| Extension::default().stamped(&self.now)),
            has_unknown_member: false,
        });
        let adopted = opened.adopts.then_some(seq);
        let token = token.to_owned();
        self.voices.push(Voice {
            token,
            adopted,
            sequence: adopted,
            opened,
            interrupted: false,
            event: None,
        });
        format!("claimed {seq}{damage}")
    }

    pub(crate) fn claim_wrapperless(&mut self, token: &str, opened: Opened) -> String {
        if !token.starts_with(PREFIX) {
            return "bad-token".to_owned();
        }
        let free = match &self.stands {
            Stands::Nothing => true,
            Stands::Unreadable(_) => false,
            Stands::Record(record) => {
                let too_old = matches!(age(record, &self.now, opened.extension), Age::Stale | Age::Rebooted);
                record.token.is_empty() || record.token.starts_with(PREFIX) || record.is_over() || too_old
            }
        };
        if free { self.claim(token, opened) } else { "taken".to_owned() }
    }

    /// HS-36 to HS-40: the writer's sequence, or why it is refused.
    pub(crate) fn sequence_of(&self, voice: &Voice) -> Result<u64, &'static str> {
        let floor = self.floor_value().unwrap_or(0);
        let record = match &self.stands {
            Stands::Unreadable(_) => return Err("unreadable"),
            Stands::Nothing => None,
            Stands::Record(record) => Some(record),
        };
        let own = match (voice.sequence, record) {
            (Some(own), _) => own,
            (None, None) if floor > 0 => return Err("superseded"),
            (None, None) => 1,
            (None, Some(record)) if record.token == voice.token => record.seq,
            (None, Some(_)) => return Err("unclaimed"),
        };
        if floor > own || record.is_some_and(|record| record.seq > own) {
            return Err("superseded");
        }
        if record.is_some_and(|record| !ACCEPTED.contains(&record.schema.as_str())) {
            return Err("schema");
        }
        Ok(own)
    }

    pub(crate) fn remembers(&mut self, who: Option<usize>, sequence: u64) {
        if let Some(who) = who {
            self.voices[who].sequence = Some(sequence);
        }
    }

    /// HS-32 to HS-35 and HS-54a.
    fn misspelled(voice: &Voice, said: &Said) -> Option<&'static str> {
        let live = !matches!(said.state, "ended" | "unknown");
        if said.state == "unknown" {
            Some("unknown-state")
        } else if live && !voice.opened.has_pty_session {
            Some("unfenced")
        } else if said.ask == "unknown" {
            Some("unknown-ask")
        } else if said.ask != "none" && said.blocked_on != "human" {
            Some("ask-without-human")
        } else if said.state == "ended" && said.exit.is_none() && said.reason == Some("superseded") {
            Some("reserved-reason")
        } else {
            None
        }
    }

    /// An observation of the writer's, or of a hook's voice that has no number.
    pub(crate) fn observe(
        &mut self,
        voice: &Voice,
        number: Option<usize>,
        said: &Said,
        unless_ended: bool,
    ) -> String {
        if let Some(error) = Model::misspelled(voice, said) {
            return error.to_owned();
        }
        let sequence = match self.sequence_of(voice) {
            Ok(sequence) => sequence,
            Err(refusal) => return format!("refused:{refusal}"),
        };
        self.remembers(number, sequence);
        let prior = self.record().cloned();
        let own = prior.as_ref().filter(|record| record.token == voice.token);
        let mut is_restatement = false;
        if let Some(record) = own {
            if unless_ended && record.is_over() {
                // An ending that is told twice is no activity after the end.
                if said.state != "ended" {
                    self.count_late(voice, record);
                }
                return "refused:terminal".to_owned();
            }
            is_restatement = record.says(said) && !voice.interrupted;
            if is_restatement && self.is_young(record) {
                return "coalesced".to_owned();
            }
            if let Some(refusal) = self.gives_way(voice, record) {
                if refusal == "late" {
                    self.count_late(voice, record);
                }
                return format!("refused:{refusal}");
            }
        }
        let stamp = self.stamp_over(prior.as_ref().map(|record| record.stamp));
        let (since, transitions) = match &prior {
            Some(record) if is_restatement => (record.since, record.transitions),
            Some(record) => (stamp, record.transitions.saturating_add(1)),
            None => (stamp, 0),
        };
        let extension = voice.opened.extension.then(|| self.extension_after(voice, own, said));
        self.land(Record {
            schema: own.map_or(SCHEMA, |record| &record.schema).to_owned(),
            harness: "claude".to_owned(),
            state: said.state.to_owned(),
            blocked_on: said.blocked_on.to_owned(),
            input_buffer: said.input_buffer.to_owned(),
            ask: said.ask.to_owned(),
            reason: said.reason.map(str::to_owned),
            exit: said.exit.map(str::to_owned),
            pty_session: voice.opened.has_pty_session.then(|| "p".to_owned()),
            token: voice.token.clone(),
            seq: sequence,
            since,
            stamp,
            transitions,
            extension,
            has_unknown_member: false,
        });
        if let Some(number) = number {
            self.voices[number].interrupted = false;
        }
        "landed".to_owned()
    }

    /// HS-43: the stamp is believed and younger than a refresh, by the wall clock.
    pub(crate) fn is_young(&self, record: &Record) -> bool {
        self.now.trusts(record.stamp) && self.now.wall.saturating_sub(record.stamp) < REFRESH_MS
    }

    /// HS-97 and HS-98.
    fn gives_way(&self, voice: &Voice, record: &Record) -> Option<&'static str> {
        let known = record.extension.as_ref().filter(|_| voice.opened.extension)?;
        let is_older = voice.event.is_some_and(|event| known.event.is_some_and(|stored| event < stored));
        if is_older && known.is_of(&self.now) {
            return Some("late");
        }
        let is_weaker =
            voice.opened.evidence == "screen" && matches!(known.evidence, Some("hook" | "channel"));
        let stands_fresh = record.state != "ended" && age(record, &self.now, true) == Age::Fresh;
        (is_weaker && stands_fresh).then_some("weaker-evidence")
    }

    /// A late event of a hook's is counted and changes nothing else.
    pub(crate) fn count_late(&mut self, voice: &Voice, record: &Record) {
        if voice.event.is_none() || !voice.opened.extension {
            return;
        }
        let mut counted = record.clone();
        if let Some(known) = &mut counted.extension {
            known.late = known.late.saturating_add(1);
            self.land(counted);
        }
    }

    fn extension_after(&self, voice: &Voice, own: Option<&Record>, said: &Said) -> Extension {
        let stood = own.and_then(|record| record.extension.clone()).unwrap_or_default();
        let mut next = stood.stamped(&self.now);
        let happened = voice.event.unwrap_or(self.now.boot);
        next.event = Some(next.event.unwrap_or(0).max(happened));
        next.evidence = Some(voice.opened.evidence);
        if said.state == "ended" {
            next.children.clear();
        }
        next
    }

    pub(crate) fn heartbeat(&mut self, voice: &Voice) -> String {
        let record = match &self.stands {
            Stands::Nothing => return "skipped:absent".to_owned(),
            Stands::Unreadable(_) => return "skipped:unreadable".to_owned(),
            Stands::Record(record) => Record::clone(record),
        };
        let own = voice.sequence.unwrap_or(record.seq);
        let why = if !ACCEPTED.contains(&record.schema.as_str()) {
            "schema"
        } else if record.token != voice.token {
            "foreign-token"
        } else if understood(&record.state) == "unknown" {
            "unknown-state"
        } else if record.state == "ended" {
            "ended"
        } else if record.seq > own || self.floor_value().unwrap_or(0) > own {
            "superseded"
        } else {
            self.renew(record, voice.opened.extension);
            return "landed".to_owned();
        };
        format!("skipped:{why}")
    }

    /// Stamps a record again; whoever writes the extension stamps that too, whoever does not leaves it out.
    pub(crate) fn renew(&mut self, mut record: Record, extension: bool) {
        record.stamp = self.stamp_over(Some(record.stamp));
        let stood = record.extension.take().unwrap_or_default();
        record.extension = extension.then(|| stood.stamped(&self.now));
        self.land(record);
    }

    /// HS-68, and HSI-1 as decision 0006 has it.
    pub(crate) fn owns(&self, voice: &Voice) -> String {
        let owned = self.record().is_some_and(|record| {
            let own = voice.sequence.unwrap_or(record.seq);
            ACCEPTED.contains(&record.schema.as_str())
                && record.token == voice.token
                && record.seq == own
                && self.floor_value().unwrap_or(0) <= own
        });
        format!("owns {owned}")
    }

    /// HS-110, HS-112, HS-114: one event of the session's harness, which happened at this time since boot.
    pub(crate) fn hook(&mut self, who: usize, event: Event, happened: u64) -> String {
        let session = &self.voices[who];
        let voice = Voice {
            sequence: session.adopted,
            interrupted: false,
            event: Some(happened),
            opened: Opened { evidence: "hook", ..session.opened },
            ..session.clone()
        };
        let stands = self.record().filter(|record| record.token == voice.token).cloned();
        let answer = match event {
            Event::ChildStarts(id) | Event::ChildWorks(id) => self.child(&voice, None, id, true),
            Event::ChildStops(id) => self.child(&voice, None, id, false),
            _ => {
                let said = meaning(event, stands.as_ref());
                self.observe(&voice, None, &said, true)
            }
        };
        let is_childs = matches!(event, Event::ChildStarts(_) | Event::ChildWorks(_) | Event::ChildStops(_));
        match answer.as_str() {
            "coalesced" if is_childs => "child-event".to_owned(),
            "unfenced" => "HARNESS_STATE_UNFENCED".to_owned(),
            "unknown-ask" => "HARNESS_STATE_UNKNOWN_ASK".to_owned(),
            other => other.strip_prefix("refused:").unwrap_or(other).to_owned(),
        }
    }

    /// The answer of an operation of a writer's; none for what is not one.
    pub(crate) fn deed(&mut self, operation: &Operation) -> Option<String> {
        let speaker = |who: usize| self.who(who).map(|number| (number, self.voices[number].clone()));
        Some(match operation {
            Operation::Observe { who, said, unless_ended } => {
                let (number, voice) = speaker(*who)?;
                self.observe(&voice, Some(number), said, *unless_ended)
            }
            Operation::Ended { who, exit } => {
                let (number, voice) = speaker(*who)?;
                let said = Said { exit: *exit, ..Said::of("ended") };
                self.observe(&voice, Some(number), &said, false)
            }
            Operation::Heartbeat(who) => self.heartbeat(&speaker(*who)?.1),
            Operation::Interrupt(who) => {
                let (number, _) = speaker(*who)?;
                self.voices[number].interrupted = true;
                "interrupted".to_owned()
            }
            Operation::Child { who, id, starts } => {
                let (number, voice) = speaker(*who)?;
                self.child(&voice, Some(number), id, *starts)
            }
            Operation::Owns(who) => self.owns(&speaker(*who)?.1),
            Operation::Hook { who, event } => self.hook(speaker(*who)?.0, *event, self.now.boot),
            _ => return None,
        })
    }
}
