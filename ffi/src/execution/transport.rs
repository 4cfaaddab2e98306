//! A transport as a table of callbacks: the program's own code, which reaches the provider.

use std::ffi::{c_char, c_void};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use gallivant_core::Result;
use gallivant_core::clock::Clock;
use gallivant_core::execution::contract::{ErrorKind, Methods};
use gallivant_core::execution::{AbortToken, Method, Transport, TransportCall, TransportError};
use gallivant_core::json::Value;

use super::failure::{gallivant_execution_failure, told};
use super::not_outstanding;
use crate::barrier::{answer, call, outside};
use crate::error::gallivant_error;
use crate::handle::{Handle, borrow};
use crate::options::sized;
use crate::view::{Fixed, Texts, gallivant_str};

/// One call of a method, lent to it until it returns.
///
/// Threads: any number at once.
#[derive(Debug)]
pub struct gallivant_execution_call {
    call: TransportCall,
    /// The method's name, its input and the limits.
    views: Fixed<[gallivant_str; 3]>,
    _owner: Texts,
    reply: Mutex<Option<std::result::Result<String, TransportError>>>,
    /// By which a method that keeps its deadlines learns that it should end.
    own: Option<(Arc<dyn Clock>, AbortToken)>,
}

impl Handle for gallivant_execution_call {}

/// A method. It says how it has ended by `gallivant_execution_call_reply` or `gallivant_execution_call_fail`, once, and returns
/// soon after `gallivant_execution_call_is_cancelled` has become 1; what it says then is not read. Where it says nothing it has
/// failed with `GALLIVANT_FAILURE_IO`. It starts no timer and no loop of its own, makes one try, and leaves retries to the
/// boundary.
pub type gallivant_execution_method =
    Option<unsafe extern "C" fn(user_data: *mut c_void, call: *const gallivant_execution_call)>;

/// The methods of a transport. The options of the boundary list those that it has; where such a one is NULL here its calls fail.
///
/// Each method runs on a thread beside the driver's, one at a time, and is left alone where it has not returned 1,000 ms after
/// its deadline or the caller's abort. `user_data` has to live until every method has returned, that one too.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_execution_transport {
    /// Set by `GALLIVANT_EXECUTION_TRANSPORT_INIT`.
    pub struct_size: usize,
    /// Handed to every method; may be NULL.
    pub user_data: *mut c_void,
    /// Not 0 where every method returns by itself at its deadline. It then runs on the thread that drives, and there is no other
    /// thread.
    pub keeps_deadlines: i32,
    /// A boundary and a grant for intake, without a paid submit.
    pub prepare: gallivant_execution_method,
    /// A new job.
    pub submit: gallivant_execution_method,
    /// What a job does.
    pub inspect: gallivant_execution_method,
    /// Another turn of a session: `continue`, which C has for itself.
    pub continue_run: gallivant_execution_method,
    /// A job's result.
    pub collect: gallivant_execution_method,
    /// The end of a job.
    pub cancel: gallivant_execution_method,
    /// The job of a saved intent, if it is there.
    pub lookup: gallivant_execution_method,
    /// The acknowledgement of an answer whose reply was lost.
    pub recover_response: gallivant_execution_method,
}
sized!(gallivant_execution_transport);

// C: #define GALLIVANT_EXECUTION_TRANSPORT_INIT \
// C:     { sizeof(gallivant_execution_transport), NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

impl gallivant_execution_transport {
    /// A table without methods, for a boundary whose calls the library carries out.
    pub(super) const NONE: gallivant_execution_transport = gallivant_execution_transport {
        struct_size: size_of::<gallivant_execution_transport>(),
        user_data: std::ptr::null_mut(),
        keeps_deadlines: 0,
        prepare: None,
        submit: None,
        inspect: None,
        continue_run: None,
        collect: None,
        cancel: None,
        lookup: None,
        recover_response: None,
    };
}

/// Which method it is, as in `recoverResponse`. Valid until the method returns; no string where `request` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_call_method(
    request: *const gallivant_execution_call,
) -> gallivant_str {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { view(request, 0) })
}

/// The input, a JSON object with exactly the members of the contract, byte for byte. Valid until the method returns; no string
/// where `request` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_call_input(
    request: *const gallivant_execution_call,
) -> gallivant_str {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { view(request, 1) })
}

/// The limits in force, a JSON object. Valid until the method returns; no string where `request` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_call_limits(
    request: *const gallivant_execution_call,
) -> gallivant_str {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { view(request, 2) })
}

/// When the call counts as failed, in ms since 1970 on the boundary's clock; 0 where `request` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_call_deadline_at_ms(
    request: *const gallivant_execution_call,
) -> u64 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { request.as_ref() }.map_or(0, |call| call.call.deadline_at_ms))
}

/// To be called just before the first request to the provider, or the first record of the transport's own: from now on
/// `GALLIVANT_FAILURE_NOT_SENT` is not believed of this call. Does nothing where `request` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_call_sending(request: *const gallivant_execution_call) {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        if let Some(call) = unsafe { request.as_ref() } {
            call.call.sending();
        }
    });
}

/// 1 where the method should end: the deadline has come, the caller has given the call up, or the boundary was freed. Else 0,
/// and where `request` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_call_is_cancelled(
    request: *const gallivant_execution_call,
) -> i32 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| i32::from(unsafe { request.as_ref() }.is_some_and(gallivant_execution_call::is_cancelled)))
}

/// The method has succeeded, with this JSON text: an object, or `null` where the method may answer so. Its digits are kept.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` with reason `reply` where the method has said how it has ended; the first counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_call_reply(
    request: *const gallivant_execution_call,
    reply_json: *const c_char,
    reply_json_length: usize,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(request, "request")?;
            let json = gallivant_str::new(reply_json, reply_json_length).text("reply_json")?;
            handle.end(Ok(json.to_owned()))
        })
    }
}

/// The method has failed.
///
/// Errors: as `gallivant_execution_call_reply`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_call_fail(
    request: *const gallivant_execution_call,
    failure: *const gallivant_execution_failure,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(request, "request")?;
            handle.end(Err(told(failure)?))
        })
    }
}

/// # Safety
/// `request` is null or a handle of this library.
unsafe fn view(request: *const gallivant_execution_call, at: usize) -> gallivant_str {
    // SAFETY: the same contract.
    unsafe { request.as_ref() }.map_or(gallivant_str::NONE, |call| call.views.get()[at])
}

impl gallivant_execution_call {
    fn new(call: TransportCall, own: Option<(Arc<dyn Clock>, AbortToken)>) -> Self {
        let (input, limits) = (Value::Object(call.input.clone()).to_json(), call.limits.to_value().to_json());
        let mut owner = Texts::default();
        let views = owner.hold([Some(call.method.word()), Some(&input), Some(&limits)]);
        // SAFETY: the texts stand beside the views and are not touched again.
        let views = unsafe { Fixed::new(views) };
        gallivant_execution_call { call, views, _owner: owner, reply: Mutex::new(None), own }
    }

    fn is_cancelled(&self) -> bool {
        let is_over = |(clock, abort): &(Arc<dyn Clock>, AbortToken)| {
            abort.is_aborted() || clock.wall_ms() >= self.call.deadline_at_ms
        };
        self.call.signal.is_aborted() || self.own.as_ref().is_some_and(is_over)
    }

    fn end(&self, how: std::result::Result<String, TransportError>) -> Result<()> {
        let mut reply = self.reply.lock().unwrap_or_else(PoisonError::into_inner);
        if reply.is_some() {
            return Err(not_outstanding("the method has said how it has ended"));
        }
        *reply = Some(how);
        Ok(())
    }
}

/// A table, and what a method on the driver's own thread looks at.
pub(super) struct Table {
    pub(super) table: gallivant_execution_transport,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) abort: AbortToken,
}

// SAFETY: callbacks and data are the host's, which is told on which thread they run, and that they run one at a time.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl fmt::Debug for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Table")
    }
}

impl Table {
    fn method(&self, method: Method) -> gallivant_execution_method {
        match method {
            Method::Prepare => self.table.prepare,
            Method::Submit => self.table.submit,
            Method::Inspect => self.table.inspect,
            Method::Continue => self.table.continue_run,
            Method::Collect => self.table.collect,
            Method::Cancel => self.table.cancel,
            Method::Lookup => self.table.lookup,
            Method::RecoverResponse => self.table.recover_response,
        }
    }
}

impl Transport for Table {
    fn methods(&self) -> Methods {
        Method::ALL.iter().copied().filter(|method| self.method(*method).is_some()).collect()
    }

    fn call(&self, call: &TransportCall) -> std::result::Result<String, TransportError> {
        let failed = |message: &str| Err(TransportError::of(ErrorKind::Io, message));
        let Some(method) = self.method(call.method) else {
            return failed("the transport's table has no such method");
        };
        let own = self.keeps_deadlines().then(|| (Arc::clone(&self.clock), self.abort.clone()));
        let handle = gallivant_execution_call::new(call.clone(), own);
        // SAFETY: the call lives until the method has returned, and the rest is the conventions.
        outside(|| unsafe { method(self.table.user_data, &raw const handle) });
        let said = handle.reply.lock().unwrap_or_else(PoisonError::into_inner).take();
        said.unwrap_or_else(|| failed("the method has returned without a reply"))
    }

    fn keeps_deadlines(&self) -> bool {
        self.table.keeps_deadlines != 0
    }
}
