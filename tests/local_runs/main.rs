//! Local runs with real processes: shell scripts in the place of harnesses, killed at every step of their lives.

mod adoption;
mod ground;
mod launchers;
mod output;
mod starting;
mod stopping;
mod supervisors;
mod trees;
