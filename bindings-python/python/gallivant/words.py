"""The words that calls take and answer, as constants. They are plain strings: `"idle"` is as good as `STATE_IDLE`."""

# What a harness is doing: `Observation.state`, `State.state`. `unknown` is derived by readers, never observed.
STATE_READY = "ready"
STATE_IDLE = "idle"
STATE_ACTIVE = "active"
STATE_CHILD = "child"
STATE_ENDED = "ended"
STATE_UNKNOWN = "unknown"

# Whom it waits for: `blocked_on`.
BLOCKED_ON_NONE = "none"
BLOCKED_ON_HUMAN = "human"
BLOCKED_ON_UNKNOWN = "unknown"

# Whether text waits in its input line: `input_buffer`.
INPUT_BUFFER_EMPTY = "empty"
INPUT_BUFFER_NONEMPTY = "nonempty"
INPUT_BUFFER_UNKNOWN = "unknown"

# What a person is asked for: `ask`.
ASK_NONE = "none"
ASK_PERMISSION = "permission"
ASK_QUESTION = "question"
ASK_REVIEW = "review"
ASK_UNKNOWN = "unknown"

# Why a state is unknown: `State.reason`.
UNKNOWN_UNREADABLE_RECORD = "unreadable-record"
UNKNOWN_MALFORMED_RECORD = "malformed-record"
UNKNOWN_UNSUPPORTED_SCHEMA = "unsupported-schema"
UNKNOWN_FUTURE_SKEW = "future-skew"
UNKNOWN_STALE = "stale"
UNKNOWN_LITERAL_UNKNOWN = "literal-unknown"
UNKNOWN_CLAIMED = "claimed"
UNKNOWN_UNFENCED_RECORD = "unfenced-record"
UNKNOWN_SESSION_DEAD = "session-dead"
UNKNOWN_HOST_SUSPENDED = "host-suspended"
UNKNOWN_REBOOTED = "rebooted"
UNKNOWN_ACTIVITY_AFTER_END = "activity-after-end"

# What came of a call that writes: `Report.outcome`, `Heartbeat.outcome`, `Tick.outcome`.
OUTCOME_LANDED = "landed"
OUTCOME_COALESCED = "coalesced"
OUTCOME_REFUSED = "refused"
OUTCOME_SKIPPED = "skipped"
OUTCOME_NOT_DUE = "not-due"
OUTCOME_RENEWED = "renewed"
OUTCOME_HARNESS_GONE = "harness-gone"

# What came of an event of a harness: `HookReport.kind`.
HOOK_KIND_OBSERVED = "observed"
HOOK_KIND_IGNORED = "ignored"
HOOK_KIND_FAILED = "failed"

# Why an observation was refused: `Report.refusal`.
REFUSED_UNREADABLE = "unreadable"
REFUSED_UNCLAIMED = "unclaimed"
REFUSED_SUPERSEDED = "superseded"
REFUSED_SCHEMA = "schema"
REFUSED_TERMINAL = "terminal"
REFUSED_LATE = "late"
REFUSED_WEAKER_EVIDENCE = "weaker-evidence"
REFUSED_FOREIGN_DESCENDANT = "foreign-descendant"
REFUSED_IDENTITY_MISSING = "identity-missing"

# By what a writer knows what it observes: `Writer.evidence`, `Extension.evidence`.
EVIDENCE_HOOK = "hook"
EVIDENCE_CHANNEL = "channel"
EVIDENCE_WRAPPER = "wrapper"
EVIDENCE_SCREEN = "screen"

# What became of a child: `Writer.note_child`.
CHILD_STEP_STARTED = "started"
CHILD_STEP_WORKING = "working"
CHILD_STEP_STOPPED = "stopped"

# How a watch notices changes: `Change.noticing`.
NOTICING_NOTIFIED = "notified"
NOTICING_POLLED_UNSUPPORTED = "polled-unsupported"
NOTICING_POLLED_LIMIT = "polled-limit"

# Why a heartbeat was skipped: `Heartbeat.skip`, `Tick.skip`.
SKIPPED_ABSENT = "absent"
SKIPPED_UNREADABLE = "unreadable"
SKIPPED_SCHEMA = "schema"
SKIPPED_FOREIGN_TOKEN = "foreign-token"
SKIPPED_UNKNOWN_STATE = "unknown-state"
SKIPPED_ENDED = "ended"
SKIPPED_SUPERSEDED = "superseded"

# Why an event of a harness is no observation: `HookReport.word` where the kind is `ignored`.
IGNORED_UNKNOWN_EVENT = "unknown-event"
IGNORED_UNKNOWN_NOTIFICATION = "unknown-notification"
IGNORED_UNTYPED_NOTIFICATION = "untyped-notification"
IGNORED_CHILD_EVENT = "child-event"
IGNORED_NO_CHANGE = "no-change"
IGNORED_UNATTRIBUTED_NOTIFY = "unattributed-notify"

# Who says what an event of a journal holds: `journal.Event.provenance`.
PROVENANCE_PROVIDER = "provider"
PROVENANCE_LOCAL = "local"
PROVENANCE_BOUNDARY = "boundary"

# Why something is missing: `journal.Event.gap`, `Row.reason`, `Gap.reason`.
GAP_PROVIDER_GAP = "provider-gap"
GAP_INTERRUPTED_APPEND = "interrupted-append"
GAP_OVERSIZED_RECORD = "oversized-record"
GAP_CORRUPT_RECORD = "corrupt-record"
GAP_LOCAL_OUTPUT_MISSING = "local-output-missing"
GAP_LOCAL_OUTPUT_TRUNCATED = "local-output-truncated"
GAP_LOCAL_OUTPUT_EXPIRED = "local-output-expired"
GAP_REDACTION_MISSING = "redaction-missing"
GAP_INDEX_MISSING = "index-missing"
GAP_RETAINED = "retained"

# How an event of a page came to its number: `journal.Placed.how`.
PLACED_RECORDED = "recorded"
PLACED_OVERSIZED = "oversized"
PLACED_KNOWN = "known"

# What a probe answers, and `ProcessIdentity.liveness`.
LIVENESS_ALIVE = "alive"
LIVENESS_DEAD = "dead"
LIVENESS_INDETERMINATE = "indeterminate"

# The harnesses whose events are understood.
HARNESS_CLAUDE = "claude"
HARNESS_CODEX = "codex"
HARNESS_OPENCODE = "opencode"
HARNESS_GEMINI = "gemini"

# What a caller does about an error: `GallivantError.kind`.
KIND_INPUT = "input"
KIND_REFUSED = "refused"
KIND_BUSY = "busy"
KIND_UNRESOLVED = "unresolved"
KIND_CORRUPT = "corrupt"
KIND_INCOMPATIBLE = "incompatible"
KIND_UNAVAILABLE = "unavailable"
KIND_INTERNAL = "internal"

# The environment variables that hand a session to its siblings.
VARIABLE_AGENT_DIR = "GALLIVANT_AGENT_DIR"
VARIABLE_AGENT = "GALLIVANT_AGENT"
VARIABLE_HARNESS = "GALLIVANT_HARNESS"
VARIABLE_SESSION_TOKEN = "GALLIVANT_SESSION_TOKEN"
VARIABLE_SESSION_SEQ = "GALLIVANT_SESSION_SEQ"
VARIABLE_PTY_SESSION = "GALLIVANT_PTY_SESSION"
