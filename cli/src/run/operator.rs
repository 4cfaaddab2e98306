//! What a person has seen at the provider, recorded (EX-BND-44, EX-LED-59 to EX-LED-67). Nobody is called.

use gallivant_core::execution::{AbortToken, Boundary, Machine, Step};
use gallivant_core::json::{Object, Value};
use gallivant_core::{Code, Error};

use crate::exit::{Failure, Outcome, Result};
use crate::terminal::say;

pub(super) fn adopt(
    boundary: &Boundary,
    operation: &str,
    acknowledgement: &str,
    evidence: &str,
) -> Result<Outcome> {
    let acknowledgement = Value::parse(acknowledgement).ok().filter(|value| value.as_object().is_some());
    let acknowledgement = acknowledgement.ok_or_else(|| {
        let what = "the acknowledgement is no JSON object".to_owned();
        Failure::Arguments(
            what,
            "give what the provider shows, such as {\"providerJobId\":\"…\",\"turnId\":\"…\"}",
        )
    })?;
    let mut input = input(operation, evidence);
    input.insert("acknowledgement", acknowledgement);
    finish(boundary.adopt(input, AbortToken::new()))
}

pub(super) fn settle_absent(boundary: &Boundary, operation: &str, evidence: &str) -> Result<Outcome> {
    finish(boundary.settle_absent(input(operation, evidence), AbortToken::new()))
}

fn input(operation: &str, evidence: &str) -> Object {
    [("operationId", Value::from(operation)), ("evidence", evidence.into())].into_iter().collect()
}

fn finish(mut machine: Machine) -> Result<Outcome> {
    match machine.start() {
        Step::Done(done) => {
            say(&done?.to_json())?;
            Ok(Outcome::Yes)
        }
        Step::Call(_) => Err(Error::new(Code::Internal, "an operator's act calls nobody").into()),
    }
}
