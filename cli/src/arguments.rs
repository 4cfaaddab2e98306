//! What may be said on the command line. The texts are the help and the manual pages too.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

const STATUSES: &str = "Exit status: 0 yes, or done; 1 no, or something is not in order; 2 wrong arguments; 3 refused by the \
rules; 4 somebody else is at work, try again; 5 damaged, or of another version; 6 the machine cannot do it now.";

/// Shows and keeps what coordinators of coding agents have on disk.
#[derive(Debug, Parser)]
#[command(name = "gallivant", version, after_help = STATUSES, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    State(State),
    Check(Check),
    Doctor(Doctor),
    #[command(subcommand)]
    Claims(Claims),
    #[command(subcommand)]
    Run(Run),
    Hook(Hook),
    Wrap(Wrap),
    #[command(subcommand)]
    Hooks(Hooks),
    #[command(subcommand, hide = true)]
    Pages(Pages),
}

/// What each agent is doing, since when, and why that is not known
#[derive(Args, Debug)]
pub(crate) struct State {
    /// Directories below which agents are; GALLIVANT_DIR or else .gallivant by default
    pub(crate) dir: Vec<PathBuf>,
    /// Show it until interrupted, drawn anew whenever something changes
    #[arg(long)]
    pub(crate) watch: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Say why a reader concludes what it does of this agent: a directory, or a path below the first DIR
    #[arg(long, value_name = "AGENT", conflicts_with_all = ["watch", "is"])]
    pub(crate) explain: Option<PathBuf>,
    /// Print nothing; exit 0 if there are agents and each is in one of these states, else 1; with --watch once it is so
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = Trimmed(EnumValueParser::<Seen>::new()))]
    pub(crate) is: Vec<Seen>,
    /// Believe a live record without asking whether its session holds its lease
    #[arg(long)]
    pub(crate) no_probe: bool,
    /// How many levels of directories are entered
    #[arg(long, value_name = "LEVELS", default_value_t = 8)]
    pub(crate) depth: u32,
}

/// A state that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Seen {
    Ready,
    Idle,
    Active,
    Child,
    Ended,
    Unknown,
    /// Whatever the state, a person is waited for
    Blocked,
}

/// A state of a list, in which blanks may stand beside the commas.
#[derive(Clone, Debug)]
struct Trimmed<T: ValueEnum + Clone + Send + Sync + 'static>(EnumValueParser<T>);

impl<T: ValueEnum + Clone + Send + Sync + 'static> TypedValueParser for Trimmed<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let trimmed = value.to_str().map_or(value, |value| OsStr::new(value.trim()));
        self.0.parse_ref(command, argument, trimmed)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// Look at every file below a directory: whole, gap, corrupt, of another version, abandoned. Changes nothing
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The directory
    pub(crate) dir: PathBuf,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the files that are whole too
    #[arg(long)]
    pub(crate) all: bool,
}

/// Whether this machine and a directory give what the files need
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// The directory in which files would be; GALLIVANT_DIR or else .gallivant by default
    pub(crate) dir: Option<PathBuf>,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What stands in a store of idempotent creates
#[derive(Debug, Subcommand)]
pub(crate) enum Claims {
    /// Show how many creates run and have finished, or what stands under one key
    Show {
        /// The store's file
        store: PathBuf,
        /// The namespace of the key, such as harnesses.create
        #[arg(long)]
        operation: Option<String>,
        /// Whom the key belongs to, outermost first; may be given several times
        #[arg(long, requires = "operation")]
        scope: Vec<String>,
        /// The caller's key
        #[arg(long, requires = "operation")]
        key: Option<String>,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// List claims in the order in which they were made: state, age, owner, digest of the key, operation, scope, resource
    List(ListClaims),
    /// Remove finished claims whose time is over
    Sweep {
        /// The store's file
        store: PathBuf,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
}

/// List the claims of a store, in the order in which they were made. Writes nothing, and no writer waits for it
///
/// Keys do not stand in the store, but digests of operation, scope and key: the first 12 hexadecimal digits are shown, and all
/// 64 with --json. AGE counts from when it finished, or from when its owner last refreshed it. Exit 1 if one that makes no
/// sense is among them.
#[derive(Args, Debug)]
pub(crate) struct ListClaims {
    /// The store's file
    #[arg(default_value = "idempotency.db")]
    pub(crate) store: PathBuf,
    /// Those in one of these states
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = Trimmed(EnumValueParser::<Standing>::new()))]
    pub(crate) state: Vec<Standing>,
    /// Those of this operation, such as harnesses.create
    #[arg(long)]
    pub(crate) operation: Option<String>,
    /// Those of at least this age: a number and s, m, h or d, such as 90s or 2h
    #[arg(long, value_name = "AGE", value_parser = length)]
    pub(crate) older_than: Option<Duration>,
    /// At most so many
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// How far a claim is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Standing {
    /// A create runs, or its owner was lost while nothing outside could exist
    Reserved,
    /// As reserved, and an effect may have happened
    Marked,
    /// Made; a repeat gets the saved answer
    Finished,
    /// Made, and its time is over
    Expired,
    /// It makes no sense
    Damaged,
}

/// A length of time as people write it: a number and its unit.
fn length(text: &str) -> Result<Duration, String> {
    let units = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)];
    let found = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let seconds = found.and_then(|(number, seconds)| number.parse::<u64>().ok()?.checked_mul(*seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| "a length is a number and s, m, h or d".to_owned())
}

/// Runs of the execution layer, by the root directory of their task
#[derive(Debug, Subcommand)]
pub(crate) enum Run {
    /// Show what is recorded of the task's current run, its runs and refused dispatches, or of another run
    Show {
        /// The task's root directory
        root: PathBuf,
        /// The run; the current one by default
        run: Option<String>,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show the last lines of a run's log
    Tail {
        /// The task's root directory
        root: PathBuf,
        /// The run; the current one by default
        run: Option<String>,
        /// Go on with what comes, until the run has settled and its output is taken in
        #[arg(short, long)]
        follow: bool,
        /// How many lines
        #[arg(short = 'n', long, value_name = "LINES", default_value_t = 20)]
        lines: usize,
        /// Begin after the line with this id, instead of the last ones
        #[arg(long, value_name = "ID", conflicts_with = "lines")]
        after: Option<String>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// What a settled run has come to, as JSON; exit 1 while it is not settled
    Outcome {
        /// The task's root directory
        root: PathBuf,
        /// The run; the current one by default
        run: Option<String>,
    },
    /// List the operations of which nobody knows whether the provider has them; exit 1 where there are any
    Unresolved {
        /// The tasks' root directories
        #[arg(required = true)]
        root: Vec<PathBuf>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Record the job that you found at the provider for an operation of unknown acceptance. Calls nobody
    Adopt {
        /// The task's root directory
        root: PathBuf,
        /// The operation
        operation: String,
        /// What the provider shows: a JSON object with providerJobId and turnId, and sessionId, cursor, state if known
        #[arg(long, value_name = "JSON")]
        acknowledgement: String,
        /// What was seen, where and by whom
        #[arg(long, value_name = "TEXT")]
        evidence: String,
    },
    /// Record that the provider proved never to have accepted an operation, and that it cannot any more. Calls nobody
    SettleAbsent {
        /// The task's root directory
        root: PathBuf,
        /// The operation
        operation: String,
        /// What was seen, where and by whom
        #[arg(long, value_name = "TEXT")]
        evidence: String,
    },
}

/// Serve one hook, as a harness's settings call it: the payload on standard input. Prints nothing and exits 0
#[derive(Args, Debug)]
pub(crate) struct Hook {
    /// claude, codex, gemini or opencode
    pub(crate) harness: Option<String>,
    /// Say what a hook would find that is started here, and what is wrong
    #[arg(long)]
    pub(crate) check: bool,
}

/// Run a program as an agent's session: claim, lease, variables, heartbeat, and its end with the real exit
#[derive(Args, Debug)]
pub(crate) struct Wrap {
    /// The agent's name
    #[arg(long)]
    pub(crate) agent: String,
    /// The directory that holds the agents' directories; GALLIVANT_DIR or else .gallivant by default
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// The harness's name; the program's by default
    #[arg(long)]
    pub(crate) harness: Option<String>,
    /// The name under which a person finds the terminal; the agent's by default
    #[arg(long, value_name = "NAME")]
    pub(crate) pty_session: Option<String>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// The hooks in a harness's settings
#[derive(Debug, Subcommand)]
pub(crate) enum Hooks {
    /// Show the difference, and write it with --yes
    Install(Change),
    /// Show which hooks are there, are missing, or start a program that does not exist; exit 1 where one is not there
    Show(Place),
    /// Show the difference that takes them out again, and write it with --yes
    Remove(Change),
}

#[derive(Args, Debug)]
pub(crate) struct Place {
    /// Whose settings
    pub(crate) harness: Harness,
    /// The settings of this project instead of the user's own
    #[arg(long, value_name = "DIR", conflicts_with = "file")]
    pub(crate) project: Option<PathBuf>,
    /// The settings in this file
    #[arg(long)]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Change {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Write it
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Harness {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

/// What packagers make of this program
#[derive(Debug, Subcommand)]
pub(crate) enum Pages {
    /// The completions of a shell, on standard output
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
    /// The manual pages, into a directory
    Man {
        /// An existing directory
        dir: PathBuf,
    },
}
