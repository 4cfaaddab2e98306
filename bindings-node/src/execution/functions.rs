//! Constants, pure functions, and what is read of a root without its boundary, for JavaScript.

use std::path::Path;

use gallivant_core::Result;
use gallivant_core::execution::boundary::EXECUTION_VERSION;
use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{
    EXECUTION_CURSOR_BYTES, EXECUTION_LIMITS, Limit, Method, PROVIDER_STATES, Runtime, UnresolvedOperation,
    assert_execution_dependency, unresolved,
};
use gallivant_core::json::{Object, Value};
use gallivant_core::publication::functions;
use gallivant_core::verification::{SandboxCheck, SystemSandbox};
use napi_derive::napi;

use crate::answer::Answer;
use crate::host::NativeHost;
use crate::job::{Promised, promise};
use crate::waiting::{NativeWait, Patience};

/// A limit, in the unit of its name.
#[napi(object, object_from_js = false)]
pub struct LimitParts {
    /// Its name.
    pub name: &'static str,
    /// Its value where nothing is set.
    pub default: i64,
    /// The least that it may be set to.
    pub min: i64,
    /// The most that it may be set to.
    pub max: i64,
}

/// The constants of the execution layer.
#[napi(object, object_from_js = false)]
pub struct ExecutionConstants {
    /// The version of the contract.
    pub version: i64,
    /// The states of a provider's work.
    pub states: Vec<&'static str>,
    /// The limits.
    pub limits: Vec<LimitParts>,
    /// The most bytes of a cursor.
    pub cursor_bytes: i64,
    /// The methods of a transport.
    pub methods: Vec<&'static str>,
    /// The kinds of a transport's failures.
    pub kinds: Vec<&'static str>,
}

/// The constants.
#[napi(catch_unwind)]
pub fn execution_constants() -> ExecutionConstants {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let limit = |limit: &Limit| LimitParts {
        name: limit.name,
        default: whole(limit.default),
        min: whole(limit.min),
        max: whole(limit.max),
    };
    ExecutionConstants {
        version: whole(EXECUTION_VERSION),
        states: PROVIDER_STATES.iter().map(|state| state.word()).collect(),
        limits: EXECUTION_LIMITS.iter().map(limit).collect(),
        cursor_bytes: whole(EXECUTION_CURSOR_BYTES as u64),
        methods: Method::ALL.iter().map(|method| method.word()).collect(),
        kinds: ErrorKind::ALL.iter().map(|kind| kind.word()).collect(),
    }
}

/// Calls a pure function by its name: JSON text in, JSON text out.
#[napi(catch_unwind)]
pub fn execution_function(name: String, args: String) -> Answer<String> {
    Answer::of(|| Ok(functions::call(&name, &args)?.to_json()))
}

/// Refuses a runtime in which the layer cannot work. None is a version that is no whole number from 0.
#[napi(catch_unwind)]
pub fn assert_dependency(contract_version: Option<i64>, has_intake: bool) -> Answer<bool> {
    Answer::of(|| {
        let contract_version = contract_version.and_then(|version| u64::try_from(version).ok());
        assert_execution_dependency(&Runtime { contract_version, has_intake })?;
        Ok(true)
    })
}

/// The operations of a root whose acceptance is unknown, as the text of a JSON array.
#[napi(catch_unwind)]
pub fn execution_unresolved_async(host: &NativeHost, root: String, wait: &NativeWait) -> Promised<String> {
    let host = host.host.clone();
    promise(wait, Patience::Unlimited, move || -> Result<String> {
        let found = unresolved(Path::new(&root), &host)?;
        Ok(Value::Array(found.iter().map(told).collect()).to_json())
    })
}

/// Checks this machine's sandbox, and answers the evidence as JSON text.
#[napi(catch_unwind)]
pub fn sandbox_readiness_async(
    host: &NativeHost,
    scratch: Option<String>,
    runtime: Option<String>,
    runtime_programs: Option<String>,
    wait: &NativeWait,
) -> Promised<String> {
    let host = host.host.clone();
    promise(wait, Patience::OneTry, move || -> Result<String> {
        let [scratch, runtime, programs] =
            [&scratch, &runtime, &runtime_programs].map(|given| given.as_deref().map(Path::new));
        let sandbox = SystemSandbox::of(scratch, runtime, programs)?;
        Ok(sandbox.check(&host, &|| host.clock.is_cancelled())?.to_json())
    })
}

fn told(operation: &UnresolvedOperation) -> Value {
    let members: [(&str, Value); 8] = [
        ("taskId", operation.owner.task_id.as_str().into()),
        ("provider", operation.owner.provider.as_str().into()),
        ("account", operation.owner.account.as_str().into()),
        ("operationId", operation.operation_id.as_str().into()),
        ("runId", operation.run_id.as_str().into()),
        ("idempotencyKey", operation.idempotency_key.as_str().into()),
        ("intentAt", operation.intent_at.into()),
        ("remedy", operation.remedy.into()),
    ];
    Value::Object(members.into_iter().collect::<Object>())
}
