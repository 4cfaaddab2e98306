//! A harness's children and its process, which stand in the extension beside the turn (HS-95, HS-99).

use crate::operation::{Opened, Said};
use crate::record::Process;
use crate::specification::{Model, Voice};

impl Model {
    /// HS-99: the set changes beside the turn.
    pub(crate) fn child(&mut self, voice: &Voice, number: Option<usize>, id: &str, runs: bool) -> String {
        let sequence = match self.sequence_of(voice) {
            Ok(sequence) => sequence,
            Err(refusal) => return format!("refused:{refusal}"),
        };
        self.remembers(number, sequence);
        let Some(mut record) = self.record().filter(|record| record.token == voice.token).cloned() else {
            return "coalesced".to_owned();
        };
        if record.is_over() {
            self.count_late(voice, &record);
            return "refused:terminal".to_owned();
        }
        let has_ended = record.state == "ended" && !record.is_placeholder();
        if has_ended || !voice.opened.extension {
            return "coalesced".to_owned();
        }
        let mut known = record.extension.clone().unwrap_or_default().stamped(&self.now);
        let before = known.children.len();
        match known.children.iter().position(|child| child == id) {
            None if runs => known.children.push(id.to_owned()),
            Some(position) if !runs => {
                known.children.remove(position);
            }
            _ => {}
        }
        if known.children.len() == before && self.is_young(&record) {
            return "coalesced".to_owned();
        }
        record.extension = Some(known);
        self.renew(record, true);
        "landed".to_owned()
    }

    /// The session names its harness's process.
    pub(crate) fn attach(&mut self, pid: u32) {
        let Some(number) = self.session else { return };
        let session = &self.voices[number];
        // The session's own writer adopts the claim whatever the others of the session do.
        let voice = Voice { sequence: session.adopted, interrupted: false, ..session.clone() };
        if self.sequence_of(&voice).is_err() {
            return;
        }
        let start = self.running[&pid];
        let process = Process { pid, start, pid_namespace: self.now.pid_namespace.clone() };
        let Some(mut record) = self.record().filter(|record| record.token == voice.token).cloned() else {
            return;
        };
        if record.is_placeholder() && voice.opened.has_pty_session {
            // As any first observation, and the process beside it in the same record.
            let wrapper = Voice { opened: Opened { evidence: "wrapper", ..voice.opened }, ..voice };
            let mut beginning = self.clone();
            beginning.observe(&wrapper, None, &Said::of("ready"), true);
            let mut ready = beginning.record().expect("it lands over a placeholder").clone();
            ready.has_unknown_member = record.has_unknown_member;
            if let Some(known) = &mut ready.extension {
                known.process = Some(process);
            }
            self.land(ready);
            return;
        }
        let named = record.extension.as_ref().and_then(|known| known.process.as_ref());
        let is_over = record.state == "ended" && !record.is_placeholder();
        if is_over || named == Some(&process) || !voice.opened.extension {
            return;
        }
        let mut known = record.extension.clone().unwrap_or_default().stamped(&self.now);
        known.process = Some(process);
        record.extension = Some(known);
        self.renew(record, true);
    }
}
