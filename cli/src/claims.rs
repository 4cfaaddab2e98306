//! `gallivant claims`: what stands in a store of idempotent creates, and sweeping it.

use std::io;
use std::path::Path;

use gallivant_core::idempotency::{IdempotencyStore, StoreOptions, check_store};
use gallivant_core::json::{Object, Value};
use gallivant_core::storage::FileType;
use gallivant_core::{Code, Error, Host};

use crate::arguments::Claims;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{Screen, printable, say};

/// What the three counts mean.
const RESERVED: &str = "being made, or given up by an owner that was lost; nothing may exist of them yet";
const MARKED: &str = "as these, and their effect may have happened: to be looked for, and not made again";
const FINISHED: &str = "made; a repeat gets the saved answer until its time is over";

pub(crate) fn claims(asked: &Claims, _screen: &Screen) -> Result<Outcome> {
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
