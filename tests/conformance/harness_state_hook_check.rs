//! What a hook would find, as `check_hook` says it to whoever installs one (HS-115: a hook itself says nothing).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use gallivant_core::harness_state::adapters::Harness;
use gallivant_core::harness_state::{
    AGENT_DIR, Checked, HARNESS, HookCheck, PTY_SESSION, SESSION_SEQ, SESSION_TOKEN, SessionEnvironment,
    SessionVariables, check_hook,
};

use crate::support::{Seat, identity, idle, line, observe};

const TOKEN: &str = "tok-secret";

/// The variables of a session of this seat, some of them changed or, where the value is none, left out.
fn variables(seat: &Seat, sequence: u64, changes: &[(&'static str, Option<OsString>)]) -> SessionVariables {
    let session = SessionEnvironment {
        agent_dir: seat.dir.to_str().expect("UTF-8").to_owned(),
        identity: identity(TOKEN),
        sequence: Some(sequence),
    };
    let given = session.to_env();
    SessionVariables::of(|name| match changes.iter().find(|(changed, _)| *changed == name) {
        Some((_, value)) => value.clone(),
        None => given.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()),
    })
}

fn check(seat: &Seat, variables: &SessionVariables) -> HookCheck {
    let check = check_hook(variables, Some(Harness::Codex), &seat.options, seat.machine.host());
    let shown = check.to_string();
    assert!(!shown.contains(TOKEN), "{shown}");
    let places: Vec<_> = check
        .findings
        .iter()
        .map(|finding| Checked::ALL.iter().position(|checked| *checked == finding.checked).expect("listed"))
        .collect();
    assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{shown}");
    check
}

/// The first problem's word, and a part of its text.
fn assert_problem(check: &HookCheck, checked: Checked, text: &str) {
    let problem = check.problem().unwrap_or_else(|| panic!("no problem: {check}"));
    assert_eq!(problem.checked, checked, "{check}");
    assert!(problem.text.contains(text), "{check}");
    let remedy = problem.remedy.expect("a problem has a remedy");
    let shown = check.to_string();
    let last = shown.lines().last().expect("a line");
    assert_eq!(last, format!("{}: {}; {remedy}", checked.word(), problem.text));
}

#[test]
fn hs_115_an_installation_in_order_ends_with_ok_and_changes_nothing() {
    let seat = Seat::new();
    let writer = seat.owner(TOKEN);
    observe(&writer, &idle());
    let before = seat.bytes("harness-state");
    let check = check(&seat, &variables(&seat, 1, &[]));
    assert_eq!(check.problem(), None, "{check}");
    let words: Vec<_> = check.findings.iter().map(|finding| finding.checked).collect();
    assert_eq!(words, Checked::ALL);
    let shown = check.to_string();
    assert!(shown.ends_with("\nok\n"), "{shown}");
    assert!(shown.contains("a reader concludes idle"), "{shown}");
    assert_eq!(seat.bytes("harness-state"), before);
    assert_eq!(shown.lines().count(), Checked::ALL.len() + 1);
}

#[test]
fn hs_115_each_variable_that_is_missing_or_unusable_is_named() {
    let seat = Seat::new();
    seat.owner(TOKEN);
    let none = check(&seat, &SessionVariables::default());
    assert_problem(&none, Checked::AgentDir, "GALLIVANT_AGENT_DIR is missing");
    assert_eq!(none.findings.iter().filter(|finding| finding.is_problem()).count(), 5, "{none}");
    let broken = OsString::from_vec(vec![b'a', 0xff]);
    for (name, value, checked, text) in [
        (AGENT_DIR, Some("".into()), Checked::AgentDir, "is empty"),
        (AGENT_DIR, Some("relative/dir".into()), Checked::AgentDir, "is relative"),
        (SESSION_TOKEN, None, Checked::Token, "is missing"),
        (SESSION_SEQ, Some("one".into()), Checked::Sequence, "no decimal number"),
        (PTY_SESSION, None, Checked::PtySession, "every live state is refused"),
        (HARNESS, Some(broken), Checked::SessionHarness, "is no Unicode"),
        (HARNESS, Some("claude".into()), Checked::Harness, "the session is one of claude"),
    ] {
        assert_problem(&check(&seat, &variables(&seat, 1, &[(name, value)])), checked, text);
    }
    let token_only = check(&seat, &variables(&seat, 1, &[(SESSION_SEQ, None)]));
    assert_eq!(token_only.problem(), None, "{token_only}");
}

#[test]
fn hs_115_what_stands_in_the_directory_is_told_apart() {
    let seat = Seat::new();
    let gone = seat.path("gone").into_os_string();
    let variables = variables(&seat, 1, &[]);
    let elsewhere = self::variables(&seat, 1, &[(AGENT_DIR, Some(gone))]);
    assert_problem(&check(&seat, &elsewhere), Checked::Directory, "cannot be opened");
    assert_problem(&check(&seat, &variables), Checked::Record, "nobody has claimed");
    seat.plant("harness-state", "garbage");
    assert_problem(&check(&seat, &variables), Checked::Record, "cannot be read");
    seat.plant("harness-state", line(&[("schema", "\"other.v9\"")]));
    assert_problem(&check(&seat, &variables), Checked::Owner, "schema");
    seat.plant("harness-state", line(&[("reason", "\"a\\nb\"")]));
    let shown = check(&seat, &variables).to_string();
    assert!(shown.contains("reason=`a\u{FFFD}b`"), "{shown}");
}

#[test]
fn hs_115_a_session_that_is_not_the_owner_is_told_why() {
    let seat = Seat::new();
    let writer = seat.owner(TOKEN);
    let first = variables(&seat, 1, &[]);
    observe(&writer, &idle());
    assert_problem(&check(&seat, &variables(&seat, 7, &[])), Checked::Owner, "own=`7`");
    seat.plant(".harness-state.seq", "9\n");
    assert_problem(&check(&seat, &first), Checked::Owner, "own=`1`");
    seat.plant(".harness-state.seq", "1\n");
    let held = writer.lock_current_ownership().expect("no error").expect("owned");
    assert_problem(&check(&seat, &first), Checked::Owner, "HARNESS_STATE_BUSY");
    held.release();
    writer.ended(Some("exit 0")).expect("lands");
    assert_problem(&check(&seat, &first), Checked::Owner, "has ended");
    seat.claim("tok-other");
    assert_problem(&check(&seat, &first), Checked::Owner, "another session's token");
}
