//! EX-VER: verification in a sandbox.

mod escapes;
mod ground;
mod list;
mod readiness;
mod sandbox;
mod view;
