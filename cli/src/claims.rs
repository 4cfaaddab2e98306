//! `gallivant claims`: what stands in a store of idempotent creates, claim by claim too, and sweeping it.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use gallivant_core::clock::length_in_words;
use gallivant_core::idempotency::{
    IdempotencyStore, ListOptions, ListedClaim, ListedOwner, ListedState, StoreOptions, check_store,
    list_claims, read_claims,
};
use gallivant_core::json::{Object, Value};
use gallivant_core::process::Liveness;
use gallivant_core::storage::FileType;
use gallivant_core::{Code, Error, Host};

use crate::arguments::{Claims, ListClaims, Standing};
use crate::exit::{Failure, Outcome, Result};
use crate::table::{Cell, Table};
use crate::terminal::{Screen, Tone, printable, say};

/// What the three counts mean.
const RESERVED: &str = "being made, or given up by an owner that was lost; nothing may exist of them yet";
const MARKED: &str = "as these, and their effect may have happened: to be looked for, and not made again";
const FINISHED: &str = "made; a repeat gets the saved answer until its time is over";

pub(crate) fn claims(asked: &Claims, screen: &Screen) -> Result<Outcome> {
    let host = Host::system();
    match asked {
        Claims::Show { store, operation: None, json, .. } => count(store, *json, &host),
        Claims::Show { store, operation: Some(operation), scope, key: Some(key), json } => {
            let store = open(store, &host)?;
            let scope: Vec<&str> = scope.iter().map(String::as_str).collect();
            show(&store, operation, &scope, key, *json)
        }
        Claims::Show { .. } => {
            Err(Failure::Arguments("an operation is named without a key".to_owned(), "name both, or none"))
        }
        Claims::List(asked) => list(asked, screen, &host),
        Claims::Sweep { store, json } => sweep(&open(store, &host)?, *json),
    }
}

/// Refuses what is no store yet: opening would make one there.
fn refuse_nothing(path: &Path, host: &Host) -> Result<()> {
    let what = match host.files.metadata(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            "there is no store"
        }
        _ if host.files.open_to_read(path).is_ok() => "a directory is no store",
        Ok(found) if found.file_type == FileType::Regular && found.size == 0 => {
            "the file is empty, and no store yet"
        }
        _ => return Ok(()),
    };
    let what = format!("{what}, file=`{}`", path.display());
    Err(Failure::Arguments(what, "name the file that the coordinator opens as its store"))
}

fn open(path: &Path, host: &Host) -> Result<IdempotencyStore> {
    refuse_nothing(path, host)?;
    Ok(IdempotencyStore::open(path, &StoreOptions::default(), host)?)
}

fn count(path: &Path, json: bool, host: &Host) -> Result<Outcome> {
    refuse_nothing(path, host)?;
    let found = check_store(path, host)?.ok_or_else(|| {
        let message = format!("the file is a database of another program, file=`{}`", path.display());
        Error::new(Code::IdempotencyStoreCorrupt, message)
    })?;
    if json {
        let counts = [
            ("reserved", Value::from(found.reserved)),
            ("marked", found.marked.into()),
            ("finished", found.finished.into()),
            ("damaged", found.damaged.into()),
            ("damage", found.damage.clone().into()),
        ];
        say(&Value::Object(counts.into_iter().collect()).to_json())?;
    } else {
        say(&format!(
            "reserved  {:<6}  {RESERVED}\nmarked    {:<6}  {MARKED}\nfinished  {:<6}  {FINISHED}",
            found.reserved, found.marked, found.finished
        ))?;
        if found.damaged > 0 || found.damage.is_some() {
            say(&format!("damaged   {}  {}", found.damaged, found.damage.as_deref().unwrap_or_default()))?;
        }
    }
    Ok(Outcome::of(found.damaged == 0 && found.damage.is_none()))
}

fn show(store: &IdempotencyStore, operation: &str, scope: &[&str], key: &str, json: bool) -> Result<Outcome> {
    let Some(view) = store.inspect(operation, scope, key)? else {
        say(if json { "null" } else { "nothing stands under this key" })?;
        return Ok(Outcome::No);
    };
    let answer = view.answer.as_deref();
    if json {
        let members = [
            ("state", Value::from(view.state.word())),
            ("resource", view.resource.clone().into()),
            ("answerBytes", answer.map(|answer| answer.len() as u64).into()),
            ("answer", answer.and_then(|answer| std::str::from_utf8(answer).ok()).into()),
        ];
        say(&Value::Object(members.into_iter().collect::<Object>()).to_json())?;
    } else {
        say(&format!("state     {}", view.state.word()))?;
        if let Some(resource) = &view.resource {
            say(&format!("resource  {}", printable(resource)))?;
        }
        if let Some(answer) = answer {
            say(&format!("answer    {} bytes", answer.len()))?;
        }
    }
    Ok(Outcome::Yes)
}

fn sweep(store: &IdempotencyStore, json: bool) -> Result<Outcome> {
    let mut removed = 0;
    loop {
        let swept = store.sweep()?;
        removed += swept.removed;
        if !swept.has_more {
            break;
        }
    }
    say(&if json { format!("{{\"removed\":{removed}}}") } else { format!("removed {removed}") })?;
    Ok(Outcome::Yes)
}

/// Rows whose widths are known before the first is written. Later ones may be wider.
const ROWS_TOGETHER: usize = 1000;
/// Of a digest's 64 digits as many as tell claims apart.
const DIGEST_DIGITS: usize = 12;
const HEADINGS: [&str; 7] = ["STATE", "AGE", "OWNER", "KEY (DIGEST)", "OPERATION", "SCOPE", "RESOURCE"];

/// Writes claims as they are read, so that a store of any size is listed in the same memory.
fn list(asked: &ListClaims, screen: &Screen, host: &Host) -> Result<Outcome> {
    refuse_nothing(&asked.store, host)?;
    let reader = read_claims(&asked.store, host)?;
    let options = ListOptions {
        states: asked.state.iter().map(|standing| state_of(*standing)).collect(),
        operation: asked.operation.clone(),
        older_than: asked.older_than,
        limit: asked.limit,
    };
    let (mut out, mut table) = (screen.out(), Table::new(HEADINGS));
    let (mut is_headed, mut written, mut is_whole) = (false, Ok(()), true);
    let listed = list_claims(&*reader, &options, host, |claim| {
        is_whole &= claim.state != ListedState::Damaged;
        if asked.json {
            written = writeln!(out, "{}", to_json(claim));
        } else {
            add(&mut table, claim);
            if table.len() == ROWS_TOGETHER {
                written = write_rows(&mut table, &mut is_headed, &mut out, screen);
            }
        }
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    written?;
    if !asked.json {
        if listed.claims == 0 {
            writeln!(out, "no such claims")?;
        } else {
            write_rows(&mut table, &mut is_headed, &mut out, screen)?;
        }
    }
    out.flush()?;
    if listed.has_more {
        let _ = writeln!(io::stderr(), "gallivant: there are more claims than the limit");
    }
    Ok(Outcome::of(is_whole))
}

fn write_rows(
    table: &mut Table<7>,
    is_headed: &mut bool,
    out: &mut impl Write,
    screen: &Screen,
) -> io::Result<()> {
    if !std::mem::replace(is_headed, true) {
        table.write_headings(out, screen)?;
    }
    table.write_out(out, screen)
}

fn state_of(standing: Standing) -> ListedState {
    match standing {
        Standing::Reserved => ListedState::Reserved,
        Standing::Marked => ListedState::Marked,
        Standing::Finished => ListedState::Finished,
        Standing::Expired => ListedState::Expired,
        Standing::Damaged => ListedState::Damaged,
    }
}

fn add(table: &mut Table<7>, claim: &ListedClaim<'_>) {
    let is_lost = claim.owner.is_none_or(|owner| owner.liveness == Liveness::Dead);
    let tone = match claim.state {
        ListedState::Damaged => Tone::Bad,
        ListedState::Marked if is_lost => Tone::Waiting,
        ListedState::Reserved | ListedState::Marked => Tone::Good,
        ListedState::Finished => Tone::Plain,
        ListedState::Expired => Tone::Faint,
    };
    let scope = match claim.operation {
        Some(_) => scope_of(claim).to_json(),
        None => String::new(),
    };
    table.push([
        Cell::new(claim.state.word(), tone),
        Cell::plain(claim.age_ms.map_or_else(String::new, length_in_words)),
        Cell::plain(match (claim.owner, claim.state) {
            (Some(owner), _) => format!("{} {}", owner.pid, life_of(owner)),
            (None, ListedState::Marked) => "gave it up".to_owned(),
            (None, _) => String::new(),
        }),
        Cell::plain(digits(claim, DIGEST_DIGITS)),
        Cell::plain(printable(claim.operation.unwrap_or_default())),
        Cell::plain(printable(&scope)),
        Cell::plain(printable(claim.resource.unwrap_or_default())),
    ]);
}

fn life_of(owner: ListedOwner) -> &'static str {
    match owner.liveness {
        Liveness::Alive => "lives",
        Liveness::Dead => "is gone",
        Liveness::Indeterminate => "cannot be told",
    }
}

fn scope_of(claim: &ListedClaim<'_>) -> Value {
    Value::Array(claim.scope.iter().map(|part| Value::from(part.as_str())).collect())
}

/// The first hexadecimal digits of a claim's digest.
fn digits(claim: &ListedClaim<'_>, most: usize) -> String {
    let mut digits = String::with_capacity(64);
    for byte in claim.digest.into_iter().flatten() {
        // Writing into a string never fails.
        let _ = write!(digits, "{byte:02x}");
    }
    digits.truncate(most);
    digits
}

/// Of an owner it says whether it lives by true, false, or null where that cannot be proved.
fn to_json(claim: &ListedClaim<'_>) -> String {
    let owner = claim.owner.map(|owner| {
        let lives = match owner.liveness {
            Liveness::Alive => Some(true),
            Liveness::Dead => Some(false),
            Liveness::Indeterminate => None,
        };
        let members = [("pid", Value::from(u64::from(owner.pid))), ("lives", lives.into())];
        Value::Object(members.into_iter().collect())
    });
    let members = [
        ("state", Value::from(claim.state.word())),
        ("ageMs", claim.age_ms.into()),
        ("owner", owner.unwrap_or(Value::Null)),
        ("keyDigest", claim.digest.map(|_| digits(claim, 64)).into()),
        ("operation", claim.operation.map(str::to_owned).into()),
        ("scope", claim.operation.map_or(Value::Null, |_| scope_of(claim))),
        ("resource", claim.resource.map(str::to_owned).into()),
    ];
    Value::Object(members.into_iter().collect::<Object>()).to_json()
}
