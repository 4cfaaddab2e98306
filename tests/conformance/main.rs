//! One test a clause: its number is in its name.
//!
//! A file a domain, or a file a section where a domain is large. What needs no test of its own stands with its reason
//! in `exempt.md`.
#![allow(missing_docs, reason = "a test's name says what it shows")]
#![allow(clippy::disallowed_methods, reason = "a test looks at disk and processes itself")]

#[path = "../support/allocations.rs"]
mod allocations;
#[path = "../support/mod.rs"]
mod support;

mod artifacts;
mod cases;
mod cases_execution;
mod execution_boundary;
mod execution_boundary_reading;
mod execution_calls;
mod execution_cancel;
mod execution_capability;
mod execution_capability_checks;
mod execution_collection;
mod execution_contract;
mod execution_contract_inputs;
mod execution_cost;
mod execution_cursor;
mod execution_deadlines;
mod execution_driver;
mod execution_errors;
mod execution_fences;
mod execution_field_cases;
mod execution_fuzz_seeds;
mod execution_health;
mod execution_identities;
mod execution_initial_dispatch;
mod execution_journal;
mod execution_journal_anything;
mod execution_journal_damage;
mod execution_journal_display;
mod execution_journal_keys;
mod execution_journal_projection;
mod execution_journal_reading;
mod execution_journal_recovery;
mod execution_keys;
mod execution_lanes;
mod execution_ledger_answers;
mod execution_ledger_dispatch;
mod execution_ledger_local;
mod execution_ledger_lock;
mod execution_ledger_money;
mod execution_ledger_operator;
mod execution_ledger_refusals;
mod execution_ledger_schema;
mod execution_lifetimes;
mod execution_limits;
mod execution_local_output;
mod execution_local_output_queue;
mod execution_local_output_retention;
mod execution_local_runs;
mod execution_machine;
mod execution_memory_transport;
mod execution_observation;
mod execution_older_records;
mod execution_options;
mod execution_pass_crashes;
mod execution_pass_identities;
mod execution_pass_observing;
mod execution_pass_reports;
mod execution_preparation;
mod execution_preparation_native;
mod execution_preparation_status;
mod execution_reconciliation;
mod execution_redaction;
mod execution_redaction_cases;
mod execution_redaction_properties;
mod execution_rejected_replies;
mod execution_remote_table;
mod execution_result_view;
mod execution_results;
mod execution_scheduling;
mod execution_transport;
mod execution_transport_check;
mod execution_versions;
mod harness_adapters;
mod harness_settings;
mod harness_state_claims;
mod harness_state_explain;
mod harness_state_extension;
mod harness_state_files;
mod harness_state_fleet;
mod harness_state_fleet_threads;
mod harness_state_hook_check;
mod harness_state_hooks;
mod harness_state_invariants;
mod harness_state_lock;
mod harness_state_reading;
mod harness_state_restating;
mod harness_state_watch;
mod harness_state_watching;
mod harness_state_writers;
mod idempotency;
mod publication;
mod publication_locks;
mod publication_next;
mod publication_recovery;
mod publication_refusals;
mod recorded_runs;
mod verification;
