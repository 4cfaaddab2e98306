//! Accounts of providers, as arguments and as answers.

use gallivant_core::execution::HealthScope;
use gallivant_core::{Code, Error, Result};

use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, array, borrow};
use crate::view::{Fixed, Texts, gallivant_str};

/// An account of a provider. Neither name may be empty.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_execution_scope {
    /// The provider.
    pub provider: gallivant_str,
    /// The account.
    pub account: gallivant_str,
}

/// The accounts whose check was due when they were asked for. Never changes.
///
/// Threads: any number at once. Free it with `gallivant_execution_due_scopes_free`.
#[derive(Debug)]
pub struct gallivant_execution_due_scopes {
    pub(super) scopes: Vec<HeldScope>,
}

impl Handle for gallivant_execution_due_scopes {}

/// How many accounts are due; 0 where `due` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_due_scopes_count(
    due: *const gallivant_execution_due_scopes,
) -> u64 {
    // SAFETY: null or a handle, by the conventions.
    answer(|| unsafe { due.as_ref() }.map_or(0, |due| due.scopes.len() as u64))
}

/// One of the accounts, counted from 0. Its names are valid until `due` is freed.
///
/// Errors: `GALLIVANT_INPUT` with reason `index`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_due_scopes_at(
    due: *const gallivant_execution_due_scopes,
    index: usize,
    scope: *mut gallivant_execution_scope,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let scopes = &borrow(due, "due")?.scopes;
            let out = Out::new(scope, "scope")?;
            let scope = scopes.get(index).ok_or_else(|| {
                let message = format!("there is no such account, index=`{index}` count=`{}`", scopes.len());
                Error::new(Code::Input, message).with_reason("index")
            })?;
            out.set(scope.view());
            Ok(())
        })
    }
}

/// Frees the list. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_execution_due_scopes_free(due: *mut gallivant_execution_due_scopes) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(due) });
}

/// A scope that a handle lends.
#[derive(Debug)]
pub(super) struct HeldScope {
    views: Fixed<[gallivant_str; 2]>,
    _texts: Texts,
}

impl HeldScope {
    pub(super) fn new(scope: &HealthScope) -> Self {
        let mut texts = Texts::default();
        let views = texts.hold([Some(&*scope.provider), Some(&*scope.account)]);
        // SAFETY: the texts stand beside the views and are not touched again.
        HeldScope { views: unsafe { Fixed::new(views) }, _texts: texts }
    }

    pub(super) fn view(&self) -> gallivant_execution_scope {
        let [provider, account] = *self.views.get();
        gallivant_execution_scope { provider, account }
    }
}

/// The scope of an argument.
///
/// # Errors
/// `GALLIVANT_INPUT` for NULL and strings that cannot be used. That a name is empty is the store's to refuse.
///
/// # Safety
/// `scope` is null or points to one whose strings are as the conventions say.
pub(super) unsafe fn scope_of(scope: *const gallivant_execution_scope) -> Result<HealthScope> {
    // SAFETY: the same contract.
    unsafe {
        let scope = borrow(scope, "scope")?;
        Ok(HealthScope::new(scope.provider.text("provider")?, scope.account.text("account")?))
    }
}

/// The scopes of an array.
///
/// # Errors
/// As [`scope_of`].
///
/// # Safety
/// As [`array`] and [`scope_of`].
pub(super) unsafe fn scopes_of(
    scopes: *const gallivant_execution_scope,
    count: usize,
) -> Result<Vec<HealthScope>> {
    // SAFETY: the same contract.
    let scopes = unsafe { array(scopes, count, "scopes") }?;
    // SAFETY: the same contract.
    scopes.iter().map(|scope| unsafe { scope_of(scope) }).collect()
}
