//! EX-VER: verification in a sandbox.

mod ground;
mod list;
mod sandbox;
