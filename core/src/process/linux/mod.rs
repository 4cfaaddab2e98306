//! The process table of Linux: `table` for one process, `whole_table` for all of them.

mod table;
mod whole_table;

pub(super) use table::since_boot;
