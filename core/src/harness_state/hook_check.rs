//! What a hook would find: the check of an installation, for a person to read (HS-115 leaves a hook itself no voice).
//!
//! The variables, the directory, the record, and the ownership of the session that the variables name, in the order
//! in which a hook goes through them. Nothing is written; the lock is taken as a hook takes it and let go of at once.

use std::fmt;
use std::path::Path;

use super::adapters::Harness;
use super::environment::{
    AGENT, AGENT_DIR, HARNESS, PTY_SESSION, SESSION_SEQ, SESSION_TOKEN, SessionEnvironment, SessionVariables,
    decimal,
};
use super::hook::HOOK_LOCK_WAIT;
use super::options::Options;
use super::probe::LeaseProbe;
use super::reader::Reader;
use super::record::Record;
use crate::error::{Error, one_line};
use crate::host::Host;

const HAND_ON: &str = "start the harness by `gallivant wrap`, or with the variables that the session's to_env gave, and the hook from the harness";
const CLAIM: &str = "start the session before its harness: the claim makes the directory and the record";
const RESTART: &str =
    "start the harness again from the wrapper that owns the seat, with that session's variables";

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Checked {
    /// The version of the library.
    Version,
    /// The harness that the hook is asked to serve, beside that of the session.
    Harness,
    /// `GALLIVANT_AGENT_DIR`.
    AgentDir,
    /// `GALLIVANT_AGENT`.
    Agent,
    /// `GALLIVANT_HARNESS`.
    SessionHarness,
    /// `GALLIVANT_SESSION_TOKEN`.
    Token,
    /// `GALLIVANT_SESSION_SEQ`.
    Sequence,
    /// `GALLIVANT_PTY_SESSION`.
    PtySession,
    /// Whether the directory can be opened.
    Directory,
    /// Whether a record stands there.
    Record,
    /// What a reader concludes.
    State,
    /// Whether the session of the variables owns the seat.
    Owner,
}

impl Checked {
    /// Everything that is looked at, in this order.
    pub const ALL: &'static [Checked] = &[
        Checked::Version,
        Checked::Harness,
        Checked::AgentDir,
        Checked::Agent,
        Checked::SessionHarness,
        Checked::Token,
        Checked::Sequence,
        Checked::PtySession,
        Checked::Directory,
        Checked::Record,
        Checked::State,
        Checked::Owner,
    ];

    /// The stable lower-case word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Checked::Version => "version",
            Checked::Harness => "harness",
            Checked::AgentDir => "agent-dir",
            Checked::Agent => "agent",
            Checked::SessionHarness => "session-harness",
            Checked::Token => "token",
            Checked::Sequence => "sequence",
            Checked::PtySession => "pty-session",
            Checked::Directory => "directory",
            Checked::Record => "record",
            Checked::State => "state",
            Checked::Owner => "owner",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub checked: Checked,
    /// What was found: one line for people, without the token.
    pub text: String,
    /// What to do about it, where it is a problem; none where it is in order.
    pub remedy: Option<&'static str>,
}

impl Finding {
    /// Whether hooks do not work because of it.
    #[must_use]
    pub fn is_problem(&self) -> bool {
        self.remedy.is_some()
    }
}

/// What a hook would find. What could not be looked at, because something before it is wrong, has no finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCheck {
    /// In the order of [`Checked::ALL`], each at most once.
    pub findings: Vec<Finding>,
}

impl HookCheck {
    /// The first problem, which may be the cause of those after it.
    #[must_use]
    pub fn problem(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.is_problem())
    }

    fn fine(&mut self, checked: Checked, text: impl Into<String>) {
        self.findings.push(Finding { checked, text: one_line(&text.into()).into_owned(), remedy: None });
    }

    fn wrong(&mut self, checked: Checked, text: impl Into<String>, remedy: &'static str) {
        self.findings.push(Finding {
            checked,
            text: one_line(&text.into()).into_owned(),
            remedy: Some(remedy),
        });
    }

    fn failed(&mut self, checked: Checked, error: &Error) {
        self.wrong(checked, error.to_string(), error.code().remedy());
    }
}

/// A line a finding, and at the end the line `ok`, or the first problem and what to do about it.
impl fmt::Display for HookCheck {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            let mark = if finding.is_problem() { "!" } else { " " };
            writeln!(out, "{mark} {:15}  {}", finding.checked.word(), finding.text)?;
        }
        match self.problem() {
            None => writeln!(out, "ok"),
            Some(Finding { checked, text, remedy }) => {
                writeln!(out, "{}: {text}; {}", checked.word(), remedy.unwrap_or_default())
            }
        }
    }
}

/// Looks at what a hook would find that is started with these variables: for a person who installs one, in the
/// environment of the harness. `harness` is what the hook's command names, where it is known.
///
/// Never fails: what goes wrong is a finding. Waits for the lock as a hook does. Nothing is written, except that a
/// missing lock file is made in a directory that holds a record.
#[must_use]
pub fn check_hook(
    variables: &SessionVariables,
    harness: Option<Harness>,
    options: &Options,
    host: &Host,
) -> HookCheck {
    let mut check = HookCheck { findings: Vec::new() };
    check.fine(Checked::Version, format!("gallivant {}", crate::VERSION));
    if let Some(harness) = harness {
        check_harness(&mut check, harness, variables);
    }
    check_variables(&mut check, variables);
    let Some(directory) = variables.agent_dir() else { return check };
    if let Err(error) = host.files.open(Path::new(directory)) {
        check.wrong(Checked::Directory, format!("cannot be opened: {error}"), CLAIM);
        return check;
    }
    check.fine(Checked::Directory, "can be opened");
    let reader = Reader::open(directory, options, host);
    let snapshot = reader.snapshot();
    let Some(record) = snapshot.record() else {
        match snapshot.damage() {
            Some(damage) => {
                check.wrong(Checked::Record, format!("cannot be read: {damage}"), "claim the seat again");
            }
            None => check.wrong(Checked::Record, "none stands there: nobody has claimed the seat", CLAIM),
        }
        return check;
    };
    let stamp = format!("stands, schema=`{}` sequence=`{}`", record.schema, record.seq);
    check.fine(Checked::Record, stamp);
    check_state(&mut check, &reader);
    if let Ok(Some(session)) = variables.session() {
        check_owner(&mut check, &session, record, options, host);
    }
    check
}

fn check_harness(check: &mut HookCheck, harness: Harness, variables: &SessionVariables) {
    let asked = format!("the hook serves {}", harness.name());
    match variables.get(HARNESS).and_then(Harness::from_name) {
        Some(session) if session != harness => check.wrong(
            Checked::Harness,
            format!("{asked}, and the session is one of {}", session.name()),
            "name in the hook's command the harness that starts it, or clear the variables before starting another",
        ),
        _ => check.fine(Checked::Harness, asked),
    }
}

fn check_variables(check: &mut HookCheck, variables: &SessionVariables) {
    let all = [
        (Checked::AgentDir, AGENT_DIR),
        (Checked::Agent, AGENT),
        (Checked::SessionHarness, HARNESS),
        (Checked::Token, SESSION_TOKEN),
        (Checked::Sequence, SESSION_SEQ),
        (Checked::PtySession, PTY_SESSION),
    ];
    for (checked, name) in all {
        if variables.is_unusable(name) {
            check.wrong(checked, format!("{name} is no Unicode"), HAND_ON);
            continue;
        }
        match (checked, variables.get(name)) {
            (Checked::Sequence, None) => {
                check.fine(checked, format!("{name} is missing: the hook goes by the token alone"));
            }
            (Checked::PtySession, None) => check.wrong(
                checked,
                format!("{name} is missing: every live state is refused"),
                "start the session with the name of the pty session in which the harness runs",
            ),
            (_, None) => check.wrong(checked, format!("{name} is missing"), HAND_ON),
            (Checked::Sequence, Some(value)) if decimal(value).is_none() => {
                check.wrong(checked, format!("{name} is no decimal number of 64 bits"), HAND_ON);
            }
            (Checked::AgentDir | Checked::Agent | Checked::SessionHarness | Checked::Token, Some("")) => {
                check.wrong(checked, format!("{name} is empty"), HAND_ON);
            }
            (Checked::AgentDir, Some(value)) if !Path::new(value).is_absolute() => check.wrong(
                checked,
                format!("{name}=`{value}` is relative, and hooks run in another directory"),
                HAND_ON,
            ),
            // Whoever knows it can write for the session.
            (Checked::Token, Some(_)) => check.fine(checked, format!("{name} is set")),
            (_, Some(value)) => check.fine(checked, format!("{name}=`{value}`")),
        }
    }
}

fn check_state(check: &mut HookCheck, reader: &Reader) {
    let Some(derived) = reader.read(Some(&LeaseProbe::new(reader))) else { return };
    let mut text = format!("a reader concludes {}", derived.state.word());
    let further = [("blocked_on", derived.blocked_on.word(), "none"), ("ask", derived.ask.word(), "none")];
    for (name, word, usual) in further {
        if derived.unknown.is_none() && word != usual {
            text.push_str(&format!(" {name}=`{word}`"));
        }
    }
    if let Some(reason) = derived.reason {
        text.push_str(&format!(" reason=`{reason}`"));
    }
    if let Some(exit) = derived.exit {
        text.push_str(&format!(" exit=`{exit}`"));
    }
    check.fine(Checked::State, text);
}

fn check_owner(
    check: &mut HookCheck,
    session: &SessionEnvironment,
    record: &Record,
    options: &Options,
    host: &Host,
) {
    let waiting = Options { lock_wait: HOOK_LOCK_WAIT.min(options.lock_wait), ..options.clone() };
    let owned = session.writer(&waiting, host).and_then(|writer| writer.lock_current_ownership());
    match owned {
        Err(error) => check.failed(Checked::Owner, &error),
        Ok(Some(_)) if record.is_terminal() => check.wrong(
            Checked::Owner,
            "the session of the variables has ended, and hooks revive nothing",
            "start a new session with a claim of its own",
        ),
        Ok(Some(_)) => check.fine(Checked::Owner, "the session of the variables owns the seat"),
        Ok(None) if !options.accepts(&record.schema) => check.wrong(
            Checked::Owner,
            "the record is of a schema that is not accepted",
            "let hooks and wrapper be of the same version, or claim the seat again",
        ),
        Ok(None) if record.incarnation != session.identity.token => {
            check.wrong(Checked::Owner, "another session's token stands in the record", RESTART);
        }
        Ok(None) => {
            let own = session.sequence.map_or_else(|| "-".to_owned(), |sequence| sequence.to_string());
            check.wrong(
                Checked::Owner,
                format!("record or floor carries another sequence than the session, own=`{own}`"),
                RESTART,
            );
        }
    }
}
