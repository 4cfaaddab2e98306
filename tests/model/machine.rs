//! The real code on a simulated machine, driven by the same operations.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gallivant_core::clock::Clock;
use gallivant_core::harness_state::adapters::{Child, ChildStep, Harness};
use gallivant_core::harness_state::{
    Ask, BlockedOn, Claim, Claimant, Evidence, Heartbeat, InputBuffer, NewSession, Observation, Options,
    Outcome, Reader, Report, Session, SessionEnvironment, State, Writer, claim, claim_wrapperless,
    observe_hook,
};
use gallivant_core::process::{Liveness, ProcessTable};
use gallivant_core::testing::{OperationKind, Point, Simulation, simulated_host};
use gallivant_core::{Host, Result};

use crate::operation::{Event, Opened, Operation, Said, Silent};
use crate::record::{Now, OTHER_SCHEMA, SKEW_MS};

const DIRECTORY: &str = "/agent";
pub(crate) const RECORD: &str = "/agent/harness-state";
pub(crate) const FLOOR: &str = "/agent/.harness-state.seq";
const CONTEXT: &str = "/agent/harness-context";

/// A writer, and what a hook of its session would be given.
struct Voice {
    writer: Writer,
    environment: SessionEnvironment,
    opened: Opened,
}

pub(crate) struct Machine {
    pub(crate) simulation: Simulation,
    voices: Vec<Arc<Voice>>,
    session: Option<Session>,
}

pub(crate) fn options(extension: bool) -> Options {
    let also_accepted_schemas = vec![OTHER_SCHEMA.to_owned()];
    Options { extension, also_accepted_schemas, future_skew_ms: SKEW_MS, ..Options::default() }
}

impl Machine {
    pub(crate) fn new(seed: u64) -> Self {
        let (_, simulation) = simulated_host(seed);
        simulation.files.plant_directory(DIRECTORY).expect("planted");
        simulation.files.set_gains_by_exchange(seed.is_multiple_of(2));
        simulation.clock.advance(Duration::from_secs(3600));
        Machine { simulation, voices: Vec::new(), session: None }
    }

    pub(crate) fn now(&self) -> Now {
        let ms = |length: Duration| u64::try_from(length.as_millis()).expect("not that long");
        let (clock, processes) = (&self.simulation.clock, &self.simulation.processes);
        Now {
            wall: clock.wall_ms(),
            boot: ms(clock.boot()),
            awake: ms(clock.awake()),
            boot_id: processes.boot().to_string(),
            host: processes.host().to_string(),
            pid_namespace: processes.pid_namespace(),
        }
    }

    pub(crate) fn contents(&self, path: &str) -> Option<Vec<u8>> {
        self.simulation.files.contents(path).ok()
    }

    /// Somebody outside the rules acts; an existing file is written over in place every other time.
    pub(crate) fn plant(&self, path: &str, bytes: Option<&[u8]>, in_place: bool) {
        let files = &self.simulation.files;
        match bytes {
            None => drop(files.unplant(path)),
            // Written over by as many bytes in the very tick in which it was published, a file looks as it did. No program
            // changes a record in place (HS-26), and writers rely on that for what they have published themselves.
            Some(bytes) if in_place && files.contents(path).is_ok_and(|stood| stood.len() != bytes.len()) => {
                files.overwrite(path, bytes).expect("written over");
            }
            Some(bytes) => files.plant_file(path, bytes).expect("planted"),
        }
    }

    /// The answer in the model's words.
    pub(crate) fn read(&self, extension: bool, probe: Option<&str>) -> (String, Option<u64>) {
        let reader = Reader::open(DIRECTORY, &options(extension), &self.simulation.host());
        let probe = probe.map(|word| Liveness::from_word(word).expect("a word"));
        let Some(derived) = reader.read(probe.as_ref().map(|probe| probe as _)) else {
            return ("never observed".to_owned(), None);
        };
        let told = format!(
            "{} {} {} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            derived.state.word(),
            derived.blocked_on.word(),
            derived.input_buffer.word(),
            derived.ask.word(),
            derived.since_ms,
            derived.exit,
            derived.reason,
            derived.harness,
            derived.observed_at_ms,
            derived.ownership_sequence,
            derived.transition_sequence,
            derived.evidence_incarnation,
        );
        (told, derived.valid_until_ms)
    }

    pub(crate) fn claim(&mut self, token: &str, opened: Opened, wrapperless: bool) -> String {
        let claimant = claimant(token);
        let (options, host) = (options(opened.extension), self.simulation.host());
        self.simulation.files.plant_file(CONTEXT, "{}").expect("planted");
        let claimed = if wrapperless {
            claim_wrapperless(DIRECTORY, &claimant, &options, &host)
        } else {
            claim(DIRECTORY, &claimant, &options, &host).map(Some)
        };
        match claimed {
            Err(error) => error.code().word(),
            Ok(None) => "taken".to_owned(),
            Ok(Some(claimed)) => {
                assert_eq!(self.contents(CONTEXT), None, "a new session starts with an empty window (HS-63)");
                self.open(token, opened.adopts.then_some(claimed.sequence), opened);
                told(&claimed)
            }
        }
    }

    pub(crate) fn start_session(&mut self, token: &str, opened: Opened) -> String {
        // The lease of the one before is let go of, as by its death.
        self.session = None;
        let new = NewSession {
            directory: DIRECTORY.into(),
            agent: "a".to_owned(),
            harness: "claude".to_owned(),
            pty_session: opened.has_pty_session.then(|| "p".to_owned()),
            token: Some(token.to_owned()),
        };
        match Session::start(new, &options(opened.extension), &self.simulation.host()) {
            Err(error) => error.code().word(),
            Ok(session) => {
                assert!(session.holds_lease(), "nobody else holds it");
                let answer = told(session.claim());
                self.open(token, Some(session.claim().sequence), opened);
                self.session = Some(session);
                answer
            }
        }
    }

    pub(crate) fn open(&mut self, token: &str, sequence: Option<u64>, opened: Opened) {
        let pty_session = opened.has_pty_session.then(|| "p".to_owned());
        let environment = SessionEnvironment {
            agent_dir: DIRECTORY.to_owned(),
            identity: claimant(token).writer_identity(pty_session),
            sequence,
        };
        let writer = self.writer(&environment, opened);
        self.voices.push(Arc::new(Voice { writer, environment, opened }));
    }

    fn writer(&self, environment: &SessionEnvironment, opened: Opened) -> Writer {
        let writer = environment.writer(&options(opened.extension), &self.simulation.host());
        let evidence = Evidence::from_word(opened.evidence);
        writer.and_then(|writer| writer.with_evidence(evidence)).expect("it opens")
    }

    pub(crate) fn attach(&self, pid: u32) {
        if let Some(session) = &self.session {
            session.attach(pid).expect("it runs");
        }
    }

    /// The machine goes down in good order and boots again; the session's processes are gone, and others of theirs
    /// go on with what was handed to them.
    pub(crate) fn reboot(&mut self) {
        self.session = None;
        self.simulation.files.sync_everything();
        let image = self.simulation.files.images_after_crash().next().expect("there is always one");
        self.simulation = self.simulation.rebooted(&image.files);
        let opened_again = self.voices.iter().map(|voice| {
            let (environment, opened) = (voice.environment.clone(), voice.opened);
            Arc::new(Voice { writer: self.writer(&environment, opened), environment, opened })
        });
        self.voices = opened_again.collect();
    }

    /// A hook that is overtaken before it has the lock; what it answers, and what the other answers.
    pub(crate) fn overtaken(
        &self,
        who: usize,
        event: Event,
        by_ms: u64,
        meanwhile: &Operation,
    ) -> (String, String) {
        // A process of its own, so that the pause is met by nobody else.
        let process = self.simulation.another_process();
        let (clock, host) = (Arc::clone(&self.simulation.clock), self.simulation.host());
        let (voices, meanwhile) = (self.voices.clone(), meanwhile.clone());
        let answer = Arc::new(Mutex::new(None));
        let answered = Arc::clone(&answer);
        process.files.pause_before(Point::on(OperationKind::TryLock), move || {
            clock.advance(Duration::from_millis(by_ms));
            *answered.lock().expect("no panic") = deed(&voices, &host, &meanwhile);
        });
        let late = hook(&self.voices[who], &process.host(), payload(event));
        process.kill();
        let between = answer.lock().expect("no panic").take();
        (late, between.expect("a hook that observes takes the lock"))
    }

    pub(crate) fn deed(&self, operation: &Operation) -> Option<String> {
        deed(&self.voices, &self.simulation.host(), operation)
    }
}

/// What a writer does; none where there is no writer, and for what is not a writer's.
fn deed(voices: &[Arc<Voice>], host: &Host, operation: &Operation) -> Option<String> {
    let voice = |from_the_newest: usize| {
        let last = voices.len().checked_sub(1)?;
        voices.get(last - from_the_newest % voices.len())
    };
    Some(match operation {
        Operation::Observe { who, said, unless_ended } => {
            let (writer, observation) = (&voice(*who)?.writer, observation(said));
            answer(if *unless_ended {
                writer.observe_unless_ended(&observation)
            } else {
                writer.observe(&observation)
            })
        }
        Operation::Ended { who, exit } => answer(voice(*who)?.writer.ended(*exit)),
        Operation::Heartbeat(who) => match voice(*who)?.writer.heartbeat().expect("nothing fails here") {
            Heartbeat::Landed { floor_failure } => {
                assert!(floor_failure.is_none());
                "landed".to_owned()
            }
            Heartbeat::Skipped(skip) => format!("skipped:{}", skip.word()),
        },
        Operation::Interrupt(who) => {
            voice(*who)?.writer.interrupt();
            "interrupted".to_owned()
        }
        Operation::Child { who, id, starts } => {
            let step = if *starts { ChildStep::Started } else { ChildStep::Stopped };
            answer(voice(*who)?.writer.note_child(&Child { id: (*id).to_owned(), step }))
        }
        Operation::Owns(who) => {
            let guard = voice(*who)?.writer.lock_current_ownership().expect("nothing fails here");
            format!("owns {}", guard.is_some())
        }
        Operation::Hook { who, event } => hook(voice(*who)?, host, payload(*event)),
        Operation::SilentHook { who, event } => hook(voice(*who)?, host, silent_payload(*event).to_owned()),
        _ => return None,
    })
}

fn hook(voice: &Voice, host: &Host, payload: String) -> String {
    let options = options(voice.opened.extension);
    let report = observe_hook(Harness::Claude, payload.as_bytes(), Some(&voice.environment), &options, host);
    report.outcome.word().to_owned()
}

fn payload(event: Event) -> String {
    let (name, more) = match event {
        Event::Start => ("SessionStart", r#","source":"startup""#.to_owned()),
        Event::Prompt => ("UserPromptSubmit", String::new()),
        Event::Stop => ("Stop", String::new()),
        Event::IdleReminder => ("Notification", r#","notification_type":"idle_prompt""#.to_owned()),
        Event::PermissionReminder => {
            ("Notification", r#","notification_type":"permission_prompt""#.to_owned())
        }
        Event::PermissionAsked => ("PermissionRequest", r#","tool_name":"Bash""#.to_owned()),
        Event::QuestionAsked => ("PreToolUse", r#","tool_name":"AskUserQuestion""#.to_owned()),
        Event::End => ("SessionEnd", r#","reason":"other""#.to_owned()),
        Event::ChildStarts(id) => ("SubagentStart", format!(r#","agent_id":"{id}""#)),
        Event::ChildWorks(id) => ("PreToolUse", format!(r#","agent_id":"{id}","tool_name":"Bash""#)),
        Event::ChildStops(id) => ("SubagentStop", format!(r#","agent_id":"{id}""#)),
    };
    format!(r#"{{"hook_event_name":"{name}","session_id":"theirs"{more}}}"#)
}

fn silent_payload(event: Silent) -> &'static str {
    match event {
        Silent::Display => r#"{"hook_event_name":"MessageDisplay"}"#,
        Silent::UnknownNotification => r#"{"hook_event_name":"Notification","notification_type":"later"}"#,
        Silent::UnknownEvent => r#"{"hook_event_name":"Later"}"#,
    }
}

fn observation(said: &Said) -> Observation {
    Observation {
        state: State::from_word(said.state),
        blocked_on: BlockedOn::from_word(said.blocked_on),
        input_buffer: InputBuffer::from_word(said.input_buffer),
        ask: Ask::from_word(said.ask),
        reason: said.reason.map(str::to_owned),
        exit: said.exit.map(str::to_owned),
    }
}

fn answer(report: Result<Report>) -> String {
    match report {
        Err(error) => error.code().word(),
        Ok(Report { outcome, floor_failure }) => {
            assert!(floor_failure.is_none());
            match outcome {
                Outcome::Refused(refusal) => format!("refused:{}", refusal.word()),
                other => other.word().to_owned(),
            }
        }
    }
}

fn told(claimed: &Claim) -> String {
    assert!(claimed.floor_failure.is_none() && claimed.context_failure.is_none());
    let damage = if claimed.floor_damage.is_some() { " floor-damage" } else { "" };
    format!("claimed {}{damage}", claimed.sequence)
}

fn claimant(token: &str) -> Claimant {
    Claimant { agent: "a".to_owned(), harness: "claude".to_owned(), token: token.to_owned() }
}
