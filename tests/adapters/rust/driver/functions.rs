//! The pure functions of the core by their names in the protocol (EX-SEA-15).

use gallivant_core::execution::health::authorize;
use gallivant_core::execution::{
    Cursor, HealthRecord, Limits, Nanos, Remaining, Round, backoff, cost, cursor, execution_live, keys,
    unsubmitted_initial_dispatch,
};
use gallivant_core::json::{Number, Value};
use gallivant_core::redaction::{Secrets, sanitize};
use gallivant_core::{Code, Error, Result, digest, journal};

use crate::wire::{Members, number, object, raw, tell, text, value};

/// Calls the function of this name, without its prefix.
pub(crate) fn call(name: &str, args: &Members) -> Result<Value> {
    let part = |name: &str| text(args, name).ok_or_else(|| wrong(name));
    let any = |name: &str| value(args, name).ok_or_else(|| wrong(name));
    let amount = |name: &str| value(args, name).and_then(|value| value.as_number().cloned());
    match name {
        "checkCursor" => {
            let checked = cursor::check_json(raw(args, "cursor"));
            Ok(tell([("valid", checked.valid.into()), ("bytes", (checked.bytes as u64).into())]))
        }
        "gapId" => {
            let next = Cursor::after(Some(&any("cursor")?), None).map_err(|invalid| invalid.in_reply())?;
            Ok(cursor::gap_id(next.as_ref(), None).into())
        }
        "idempotencyKey" => {
            let (task, run) = (part("taskId")?, part("runId")?);
            let (provider, account) = (part("provider")?, part("account")?);
            Ok(keys::dispatch_key(&task, &provider, &account, &run, &part("operationId")?).into())
        }
        "cancellationKey" => {
            let (provider, account) = (part("provider")?, part("account")?);
            Ok(keys::cancellation_key(&part("taskId")?, &provider, &account, &part("runId")?).into())
        }
        "runId" => {
            let (provider, account) = (part("provider")?, part("account")?);
            Ok(keys::run_id(&part("taskId")?, &provider, &account, &part("operationId")?).into())
        }
        "replayKey" => {
            let texts = ["provider", "providerJobId", "turnId", "eventId"].map(|name| text(args, name));
            let [provider, job, turn, event] = texts.each_ref().map(|text| text.as_deref());
            Ok(digest::hex(&journal::replay_key(provider, job, turn, event)).into())
        }
        "backoff" => {
            let failures = number(args, "failures").ok_or_else(|| wrong("failures"))?;
            let jitter = amount("jitter").ok_or_else(|| wrong("jitter"))?.as_f64();
            let retry_after_ms = amount("retryAfterMs").map(|number| number.as_f64());
            let limits = Limits::with_overrides(object(args, "limits").as_ref())?;
            Ok(backoff::delay_ms(failures, jitter, retry_after_ms, &limits).into())
        }
        "intakeReservation" => {
            let budget = amount("budgetUsd").and_then(|budget| Nanos::from_number(&budget, Round::Down));
            let remaining = amount("remaining").and_then(|remaining| Remaining::from_number(&remaining));
            let budget = budget.ok_or_else(|| wrong("budgetUsd"))?;
            let remaining = remaining.ok_or_else(|| wrong("remaining"))?;
            let reserved = cost::intake_reservation(budget, remaining);
            let nothing = || Error::new(Code::ExecutionAllowance, "nothing is left to reserve");
            reserved.map(|nanos| Value::Number(nanos.to_number())).ok_or_else(nothing)
        }
        "money" => {
            let round = Round::from_word(&part("round")?).ok_or_else(|| wrong("round"))?;
            let nanos = Nanos::parse(&part("amount")?, round).ok_or_else(|| wrong("amount"))?;
            Ok(tell([("nano", nanos.nanos().to_string().into()), ("usd", nanos.to_string().into())]))
        }
        "crc32c" => Ok(digest::crc32c_hex(part("text")?.as_bytes()).into()),
        "sanitize" => {
            let list = any("secrets")?;
            let mut secrets = Vec::new();
            for (position, secret) in list.as_array().unwrap_or_default().iter().enumerate() {
                secrets.push(secret.as_str().ok_or_else(|| Secrets::not_a_string(position))?);
            }
            sanitize(&any("value")?, secrets)
        }
        "executionLive" => Ok(execution_live(&any("value")?).into()),
        "unsubmittedInitialDispatch" => {
            Ok(unsubmitted_initial_dispatch(&any("entry")?, &any("ledger")?).into())
        }
        "healthAuthorize" => {
            let record = match any("record")? {
                Value::Null => None,
                record => Some(HealthRecord::from_value(&record)?),
            };
            let now = amount("now").as_ref().and_then(Number::as_u64).ok_or_else(|| wrong("now"))?;
            Ok(authorize(record.as_ref(), now).into())
        }
        _ => Err(Error::new(Code::ExecutionInput, format!("no such function, function=`{name}`"))),
    }
}

fn wrong(argument: &str) -> Error {
    Error::new(Code::ExecutionInput, format!("an argument is missing or malformed, argument=`{argument}`"))
}
