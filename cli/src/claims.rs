//! `gallivant claims`: what stands in a store of idempotent creates, and sweeping it.

use std::path::Path;

use gallivant_core::idempotency::{IdempotencyStore, StoreOptions, check_store};
use gallivant_core::json::{Object, Value};
use gallivant_core::{Code, Error, Host};

use crate::arguments::Claims;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{Screen, printable, say};

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

/// A store that is there: opening would make one.
fn open(path: &Path, host: &Host) -> Result<IdempotencyStore> {
    host.files.metadata(path).map_err(|error| {
        let message = format!("there is no store, file=`{}`", path.display());
        Error::new(Code::Input, message).with_source(error)
    })?;
    Ok(IdempotencyStore::open(path, &StoreOptions::default(), host)?)
}

fn count(path: &Path, json: bool, host: &Host) -> Result<Outcome> {
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
            "reserved  {}\nmarked    {}\nfinished  {}",
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
