//! The pure functions of the execution layer under their public names (EX-SEA-15), from JSON to JSON: one table for every
//! language.

use super::health::authorize;
use super::transport::check_step;
use super::{
    Cursor, HealthRecord, Limits, Nanos, Remaining, Round, backoff, cost, cursor, execution_live, keys,
    observation, unsubmitted_initial_dispatch,
};
use crate::artifacts::{Detail, Tree, public_text_check, validate_manifest};
use crate::error::{Code, Error, Result};
use crate::json::{Number, Object, Value};
use crate::redaction::{Secrets, sanitize};
use crate::{digest, journal};

/// What stands in the place of half a character.
const REPLACEMENT: char = '\u{fffd}';

/// Calls the function of this name with the members of a JSON object, as its text.
///
/// `checkCursor {cursor}`, `gapId {cursor}`, `idempotencyKey {taskId, provider, account, runId, operationId}`, `cancellationKey
/// {taskId, provider, account, runId}`, `runId {taskId, provider, account, operationId}`, `replayKey {provider, providerJobId,
/// turnId, eventId}`, `backoff {failures, jitter, retryAfterMs?, limits?}`, `intakeReservation {budgetUsd, remaining}`, `money
/// {amount, round}`, `crc32c {text}`, `sanitize {value, secrets}`, `validateManifest {files, tree}`, `publicTextCheck {text}`,
/// `executionLive {value}`, `unsubmittedInitialDispatch {entry, ledger}`, `healthAuthorize {record, now}`, `checkTransport
/// {methods, subject, seen}` (one step of the check: [`check_step`]), `fittingEvents {events, limits?}`.
///
/// # Errors
/// `EXECUTION_INPUT` that names the argument, or the function where there is none of this name, and those of the function.
pub fn call(name: &str, args: &str) -> Result<Value> {
    let (args, is_replaced) = Value::parse_replacing(args).map_err(|_| wrong("args"))?;
    let args = Args { args: args.as_object().cloned().ok_or_else(|| wrong("args"))?, is_replaced };
    match name {
        "checkCursor" => Ok(args.check_cursor()),
        "gapId" => {
            let next =
                Cursor::after(Some(&args.any("cursor")?), None).map_err(|invalid| invalid.in_reply())?;
            Ok(cursor::gap_id(next.as_ref(), None).into())
        }
        "idempotencyKey" => {
            let [task, provider, account] = args.owner()?;
            let (run, operation) = (args.text("runId")?, args.text("operationId")?);
            Ok(keys::dispatch_key(task, provider, account, run, operation).into())
        }
        "cancellationKey" => {
            let [task, provider, account] = args.owner()?;
            Ok(keys::cancellation_key(task, provider, account, args.text("runId")?).into())
        }
        "runId" => {
            let [task, provider, account] = args.owner()?;
            Ok(keys::run_id(task, provider, account, args.text("operationId")?).into())
        }
        "replayKey" => {
            let part = |name| args.get(name).and_then(Value::as_str);
            let key =
                journal::replay_key(part("provider"), part("providerJobId"), part("turnId"), part("eventId"));
            Ok(digest::hex(&key).into())
        }
        "backoff" => args.backoff(),
        "intakeReservation" => args.intake_reservation(),
        "money" => {
            let round = Round::from_word(args.text("round")?).ok_or_else(|| wrong("round"))?;
            let nanos = Nanos::parse(args.text("amount")?, round).ok_or_else(|| wrong("amount"))?;
            let members =
                [("nano", Value::from(nanos.nanos().to_string())), ("usd", nanos.to_string().into())];
            Ok(members.into_iter().collect::<Object>().into())
        }
        "crc32c" => Ok(digest::crc32c_hex(args.text("text")?.as_bytes()).into()),
        "sanitize" => {
            let list = args.any("secrets")?;
            let mut secrets = Vec::new();
            for (position, secret) in list.as_array().unwrap_or_default().iter().enumerate() {
                secrets.push(secret.as_str().ok_or_else(|| Secrets::not_a_string(position))?);
            }
            sanitize(&args.any("value")?, secrets)
        }
        "validateManifest" => args.validate_manifest(),
        "publicTextCheck" => public_text_check(args.text("text")?).map(|()| true.into()),
        "executionLive" => Ok(execution_live(&args.any("value")?).into()),
        "unsubmittedInitialDispatch" => {
            Ok(unsubmitted_initial_dispatch(&args.any("entry")?, &args.any("ledger")?).into())
        }
        "healthAuthorize" => {
            let record = match args.any("record")? {
                Value::Null => None,
                record => Some(HealthRecord::from_value(&record)?),
            };
            let now = args.number("now").and_then(Number::as_u64).ok_or_else(|| wrong("now"))?;
            Ok(authorize(record.as_ref(), now).into())
        }
        "checkTransport" => check_step(&args.args),
        "fittingEvents" => {
            let events = args.any("events")?;
            let limits = Limits::with_overrides(args.get("limits").and_then(Value::as_object))?;
            let events = events.as_array().ok_or_else(|| wrong("events"))?;
            Ok((observation::fitting(events, &limits) as u64).into())
        }
        _ => Err(Error::new(Code::ExecutionInput, format!("no such function, function=`{name}`"))),
    }
}

struct Args {
    args: Object,
    is_replaced: bool,
}

impl Args {
    fn get(&self, name: &str) -> Option<&Value> {
        self.args.get(name)
    }

    fn any(&self, name: &str) -> Result<Value> {
        self.get(name).cloned().ok_or_else(|| wrong(name))
    }

    fn text(&self, name: &str) -> Result<&str> {
        self.get(name).and_then(Value::as_str).ok_or_else(|| wrong(name))
    }

    fn number(&self, name: &str) -> Option<&Number> {
        self.get(name).and_then(Value::as_number)
    }

    fn owner(&self) -> Result<[&str; 3]> {
        Ok([self.text("taskId")?, self.text("provider")?, self.text("account")?])
    }

    /// A string that was cut inside a character has no serialised form (EX-CUR-24).
    fn check_cursor(&self) -> Value {
        let given = self.get("cursor").unwrap_or(&Value::Null);
        let is_cut = self.is_replaced && given.as_str().is_some_and(|text| text.contains(REPLACEMENT));
        let checked = if is_cut { cursor::Checked { valid: false, bytes: 0 } } else { cursor::check(given) };
        let members = [("valid", Value::from(checked.valid)), ("bytes", Value::from(checked.bytes as u64))];
        members.into_iter().collect::<Object>().into()
    }

    /// The canonical entries (EX-ART-03). A path that was cut inside a character is no UTF-8.
    fn validate_manifest(&self) -> Result<Value> {
        let files = self.any("files")?;
        let is_cut = |file: &Value| {
            file.get("path").and_then(Value::as_str).is_some_and(|path| path.contains(REPLACEMENT))
        };
        if self.is_replaced
            && let Some(entry) = files.as_array().unwrap_or_default().iter().position(is_cut)
        {
            return Err(Detail::Encoding.refuse(Some(entry)));
        }
        let manifest = validate_manifest(&files, &Tree::from_value(&self.any("tree")?)?)?;
        let entries = manifest.entries().iter().map(|entry| {
            let hash = |hash: Option<&[u8; 32]>| hash.map_or(Value::Null, |hash| digest::hex(hash).into());
            let text = entry.text().map_or(Value::Null, Value::from);
            let members = [
                ("path", Value::from(entry.path())),
                ("beforeHash", hash(entry.before())),
                ("afterHash", hash(entry.after())),
                ("text", text),
            ];
            Value::from(members.into_iter().collect::<Object>())
        });
        let members = [("files", Value::Array(entries.collect()))];
        Ok(members.into_iter().collect::<Object>().into())
    }

    fn backoff(&self) -> Result<Value> {
        let failures = self.number("failures").and_then(Number::as_u64).ok_or_else(|| wrong("failures"))?;
        let jitter = self.number("jitter").ok_or_else(|| wrong("jitter"))?.as_f64();
        let retry_after_ms = self.number("retryAfterMs").map(Number::as_f64);
        let limits = Limits::with_overrides(self.get("limits").and_then(Value::as_object))?;
        Ok(backoff::delay_ms(failures, jitter, retry_after_ms, &limits).into())
    }

    fn intake_reservation(&self) -> Result<Value> {
        let budget = self.number("budgetUsd").and_then(|budget| Nanos::from_number(budget, Round::Down));
        let budget = budget.ok_or_else(|| wrong("budgetUsd"))?;
        let remaining = self.number("remaining").and_then(Remaining::from_number);
        let reserved = cost::intake_reservation(budget, remaining.ok_or_else(|| wrong("remaining"))?);
        let nothing = || Error::new(Code::ExecutionAllowance, "nothing is left to reserve");
        reserved.map(|nanos| Value::Number(nanos.to_number())).ok_or_else(nothing)
    }
}

fn wrong(argument: &str) -> Error {
    Error::new(Code::ExecutionInput, format!("an argument is missing or malformed, argument=`{argument}`"))
}
