//! EX-VER: verification in a sandbox.

mod boundary;
mod environment;
mod escapes;
mod ground;
mod list;
mod readiness;
mod sandbox;
mod view;
