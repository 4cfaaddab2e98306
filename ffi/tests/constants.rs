//! Every value of the core has its constant in the header, with the number that the library means by it.
#![allow(clippy::disallowed_methods, reason = "the test reads the header")]

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::path::Path;

use gallivant as c;
use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{EXECUTION_CURSOR_BYTES, EXECUTION_VERSION, Joined, PROVIDER_STATES, Port};
use gallivant_core::harness_state::{
    Ask, BlockedOn, Evidence, InputBuffer, Refusal, Skip, State, UnknownReason,
};
use gallivant_core::idempotency::{How, ViewState};
use gallivant_core::journal::{GapReason, How as Placed};
use gallivant_core::process::Liveness;
use gallivant_core::{Code, Kind};

/// The constants of the header whose value is a plain number.
fn constants() -> BTreeMap<String, i32> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include/gallivant.h");
    let header = std::fs::read_to_string(path).expect("the header");
    let defines = header.lines().filter_map(|line| line.strip_prefix("#define "));
    let pairs = defines.filter_map(|define| define.split_once(' '));
    pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

fn text(name: *const c_char) -> &'static str {
    assert!(!name.is_null());
    // SAFETY: names of constants are never null, end in a zero byte and live for ever.
    unsafe { CStr::from_ptr(name) }.to_str().expect("UTF-8")
}

/// `GALLIVANT_<FAMILY>_<WORD>`.
fn constant(family: &str, word: &str) -> String {
    format!("GALLIVANT_{family}_{}", word.to_uppercase().replace('-', "_"))
}

/// Checks that the words have their constants, that no further constant begins so, that no number stands for two, and
/// that the library names each by its word.
fn check(family: &str, words: &[&str], name: extern "C" fn(i32) -> *const c_char) {
    let all = constants();
    let prefix = format!("GALLIVANT_{family}_");
    // Longer families that begin alike have a check of their own.
    let others = ["GALLIVANT_UNKNOWN_REASON_", "GALLIVANT_INPUT_BUFFER_"];
    let of_family = all.iter().filter(|(name, _)| {
        name.starts_with(&prefix) && !others.iter().any(|other| *other != prefix && name.starts_with(other))
    });
    let mut numbers: BTreeMap<i32, &str> = BTreeMap::new();
    for (name, number) in of_family {
        assert_eq!(numbers.insert(*number, name), None, "{name} has the number of another");
    }
    assert_eq!(numbers.len(), words.len(), "{family}: {numbers:?} against {words:?}");
    for word in words {
        let constant = constant(family, word);
        let number = *all.get(&constant).unwrap_or_else(|| panic!("{constant} is not in the header"));
        assert_eq!(text(name(number)), *word, "{constant}");
    }
    assert_eq!(text(name(9999)), "invalid", "{family}");
}

#[test]
fn every_code_has_its_status() {
    let all = constants();
    let statuses = all.iter().filter(|(_, number)| text(c::gallivant_status_name(**number)) != "invalid");
    let statuses = statuses.filter(|(name, _)| {
        let bare = name.strip_prefix("GALLIVANT_").expect("the prefix");
        Code::from_name(name).or(Code::from_name(bare)).is_some()
    });
    assert_eq!(statuses.count(), Code::ALL.len());
    for code in Code::ALL {
        let name = code.name();
        let constant =
            if name.starts_with("GALLIVANT_") { name.to_owned() } else { format!("GALLIVANT_{name}") };
        assert_eq!(all.get(&constant), Some(&code.number()), "{constant}");
        assert_eq!(text(c::gallivant_status_name(code.number())), name);
        assert_eq!(text(c::gallivant_status_word(code.number())), code.word());
        assert_eq!(text(c::gallivant_status_remedy(code.number())), code.remedy());
        assert_eq!(text(c::gallivant_status_page(code.number())), code.page());
        let kind = c::gallivant_status_kind(code.number());
        assert_eq!(text(c::gallivant_kind_name(kind)), code.kind().name());
    }
    assert_eq!(all.get("GALLIVANT_OK"), Some(&0));
    let mut numbers: Vec<i32> = Code::ALL.iter().map(|code| code.number()).collect();
    numbers.dedup();
    assert_eq!(numbers.len(), Code::ALL.len(), "a number is used twice");
}

#[test]
fn every_kind_has_its_constant() {
    let words: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    check("KIND", &words, c::gallivant_kind_name);
}

#[test]
fn every_word_of_a_record_has_its_constant() {
    check("STATE", &State::ALL.iter().map(|value| value.word()).collect::<Vec<_>>(), c::gallivant_state_name);
    let words: Vec<_> = BlockedOn::ALL.iter().map(|value| value.word()).collect();
    check("BLOCKED_ON", &words, c::gallivant_blocked_on_name);
    let words: Vec<_> = InputBuffer::ALL.iter().map(|value| value.word()).collect();
    check("INPUT_BUFFER", &words, c::gallivant_input_buffer_name);
    let words: Vec<_> = Evidence::ALL.iter().map(|value| value.word()).collect();
    check("EVIDENCE", &words, c::gallivant_evidence_name);
    check("ASK", &Ask::ALL.iter().map(|value| value.word()).collect::<Vec<_>>(), c::gallivant_ask_name);
}

#[test]
fn every_answer_has_its_constant() {
    let words: Vec<_> = UnknownReason::ALL.iter().map(|value| value.word()).collect();
    check("UNKNOWN_REASON", &words, c::gallivant_unknown_reason_name);
    let words: Vec<_> = Refusal::ALL.iter().map(|value| value.word()).collect();
    check("REFUSAL", &words, c::gallivant_refusal_name);
    check("SKIP", &Skip::ALL.iter().map(|value| value.word()).collect::<Vec<_>>(), c::gallivant_skip_name);
    let words = [Liveness::Indeterminate, Liveness::Alive, Liveness::Dead].map(Liveness::word);
    check("LIVENESS", &words, c::gallivant_liveness_name);
    check("OUTCOME", &["landed", "coalesced", "refused", "skipped"], c::gallivant_outcome_name);
    check("TICK", &["not-due", "renewed", "skipped", "harness-gone"], c::gallivant_tick_name);
}

#[test]
fn every_word_of_a_create_has_its_constant() {
    check("BEGIN", &["create", "replay", "in_progress", "unknown"], c::gallivant_begin_name);
    let hows =
        [How::Fresh, How::Replayed, How::Waited, How::TakenOver, How::Expired, How::Recreated, How::Settled];
    check("HOW", &hows.map(How::word), c::gallivant_how_name);
    let states = [ViewState::Reserved, ViewState::Marked, ViewState::Finished].map(ViewState::word);
    check("CLAIM_STATE", &states, c::gallivant_claim_state_name);
}

#[test]
fn every_word_of_a_journal_has_its_constant() {
    let words: Vec<_> = GapReason::ALL.iter().map(|value| value.word()).collect();
    check("GAP_REASON", &words, c::gallivant_gap_reason_name);
    let words: Vec<_> = Placed::ALL.iter().map(|value| value.word()).collect();
    check("PLACED", &words, c::gallivant_placed_name);
    check("ROW", &["line", "gap"], c::gallivant_row_name);
    check("FRAME", &["line", "gap", "heartbeat"], c::gallivant_frame_name);
}

#[test]
fn every_word_of_the_execution_layer_has_its_constant() {
    check("STEP", &["call", "done", "failed"], c::gallivant_step_name);
    let words: Vec<_> = Port::ALL.iter().map(|value| value.word()).collect();
    check("PORT", &words, c::gallivant_port_name);
    let words: Vec<_> = ErrorKind::ALL.iter().map(|value| value.word()).collect();
    check("FAILURE", &words, c::gallivant_failure_name);
    check("ROUND", &["up", "down"], c::gallivant_round_name);
    check("JOINED", &Joined::ALL.map(Joined::word), c::gallivant_joined_name);
}

#[test]
fn ex_bnd_02_the_provider_states_count_in_their_order() {
    let words: Vec<_> = PROVIDER_STATES.iter().map(|value| value.word()).collect();
    check("PROVIDER_STATE", &words, c::gallivant_provider_state_name);
    for (number, word) in (1..).zip(words) {
        assert_eq!(text(c::gallivant_provider_state_name(number)), word);
    }
}

#[test]
fn ex_bnd_01_the_constants_of_the_execution_layer_are_those_of_the_core() {
    let all = constants();
    assert_eq!(u64::from(all["GALLIVANT_EXECUTION_CONTRACT_VERSION"].unsigned_abs()), EXECUTION_VERSION);
    let bytes = usize::try_from(all["GALLIVANT_EXECUTION_CURSOR_BYTES"]).expect("positive");
    assert_eq!(bytes, EXECUTION_CURSOR_BYTES);
}

#[test]
fn a_window_has_as_many_rows_as_the_header_says() {
    let rows = constants()["GALLIVANT_LOG_ROWS_CAPACITY"];
    assert_eq!(usize::try_from(rows).expect("positive"), gallivant_core::journal::MAX_ROWS);
    let texts = constants()["GALLIVANT_LOG_TEXTS_CAPACITY"];
    // Each row is counted with more than its id and two zero bytes take, and two cursors come besides.
    let longest_id = "byte:".len() + u64::MAX.to_string().len() + 1;
    let most = gallivant_core::journal::MAX_DATA_BYTES + 2 * longest_id as u64;
    assert!(u64::try_from(texts).expect("positive") >= most);
}

#[test]
fn a_fingerprint_is_as_long_as_the_header_says() {
    let bytes = constants()["GALLIVANT_IDEMPOTENCY_FINGERPRINT_BYTES"];
    let fingerprint = gallivant_core::idempotency::Fingerprint::of(b"");
    assert_eq!(usize::try_from(bytes).expect("positive"), fingerprint.as_bytes().len());
}

#[test]
fn the_hook_deadline_is_that_of_the_core() {
    let deadline = constants()["GALLIVANT_HARNESS_STATE_HOOK_DEADLINE_MS"];
    let core = gallivant_core::harness_state::HOOK_DEADLINE;
    assert_eq!(u128::from(deadline.unsigned_abs()), core.as_millis());
}

#[test]
fn every_minted_token_has_room() {
    let capacity = constants()["GALLIVANT_HARNESS_STATE_TOKEN_CAPACITY"];
    let longest = format!("{}-{}-{}-{:016x}", u32::MAX, u64::MAX, u64::MAX, u64::MAX);
    assert!(usize::try_from(capacity).expect("positive") > longest.len());
}

#[test]
fn the_versions_agree() {
    let all = constants();
    assert_eq!(text(c::gallivant_version()), gallivant_core::VERSION);
    let part = |name: &str| u32::try_from(all[&format!("GALLIVANT_VERSION_{name}")]).expect("positive");
    let number = part("MAJOR") * 1_000_000 + part("MINOR") * 1_000 + part("PATCH");
    assert_eq!(c::gallivant_version_number(), number);
    assert_eq!(c::gallivant_abi_version(), part("MAJOR"));
    assert_eq!(all["GALLIVANT_ABI_VERSION"].unsigned_abs(), part("MAJOR"));
}
