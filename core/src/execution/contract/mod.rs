//! The contract with a transport, as far as it needs no call: what a method is asked, and what its reply may be
//! (EX-TRA).
//!
//! - [`Method`]: the methods, their limits, and which of them a transport has ([`method`]);
//! - [`TransportError`]: how a method fails, and what that is for the method that failed ([`error`]);
//! - [`Reply`]: a reply as text, up to the members that every judgement reads alike ([`reply`]);
//! - [`Acknowledgement`]: the reply to a submit or a continue ([`acknowledgement`]);
//! - [`Prepared`]: the reply to a prepare ([`preparation`]);
//! - [`request`] and [`question`]: the inputs of the methods that make or recover something, and of those that ask about
//!   what was made.
//!
//! A reply is judged as a whole and by the first rule that it breaks; nothing of a refused one is used. No error quotes
//! a reply, a prompt, an answer or a grant.

pub mod acknowledgement;
pub mod error;
pub mod method;
pub mod preparation;
pub mod question;
pub mod reply;
pub mod request;

pub use acknowledgement::{Acknowledgement, Identities};
pub use error::{ErrorKind, TransportError, collection_validation_error, dispatch_not_sent_error};
pub use method::{Method, Methods, Promised};
pub use preparation::{Phase, Prepared};
pub use reply::Reply;
