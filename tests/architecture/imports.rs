//! The arrow of dependency points down: from the domains to the ground floor, and never back or across.

use std::collections::BTreeSet;

use crate::{files_below, text};

/// Each module of the core, and the modules that it may use. The ground floor knows nothing of the domains.
const MAY_USE: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("clock", &["error"]),
    ("random", &["error"]),
    ("forks", &[]),
    ("process", &["error", "clock", "forks"]),
    ("digest", &[]),
    ("json", &["error"]),
    ("words", &[]),
    ("storage", &["error", "clock", "forks", "host"]),
    ("host", &["clock", "random", "process", "storage"]),
    ("testing", &["error", "clock", "random", "process", "storage", "host", "json", "execution"]),
    ("harness_state", &["error", "clock", "random", "process", "json", "storage", "host"]),
    ("idempotency", &["error", "clock", "random", "process", "storage", "host"]),
    ("local_runner", &["clock", "process", "json", "storage", "host", "harness_state"]),
    (
        "inspection",
        &[
            "error",
            "host",
            "storage",
            "process",
            "json",
            "harness_state",
            "idempotency",
            "journal",
            "execution",
            "local_runner",
            "verification",
        ],
    ),
    ("redaction", &["error", "json"]),
    ("artifacts", &["error", "clock", "random", "process", "digest", "json", "storage", "host"]),
    (
        "journal",
        &["error", "clock", "random", "process", "digest", "json", "storage", "host", "redaction", "words"],
    ),
    (
        "verification",
        &[
            "error",
            "clock",
            "random",
            "process",
            "digest",
            "json",
            "storage",
            "host",
            "redaction",
            "artifacts",
        ],
    ),
    (
        "execution",
        &[
            "error",
            "clock",
            "random",
            "process",
            "digest",
            "json",
            "storage",
            "host",
            "redaction",
            "journal",
            "artifacts",
            "verification",
            "local_runner",
            "words",
        ],
    ),
    (
        "publication",
        &[
            "error",
            "clock",
            "digest",
            "json",
            "storage",
            "host",
            "redaction",
            "journal",
            "artifacts",
            "verification",
            "execution",
            "words",
        ],
    ),
];

/// The first segment of every path that begins with `crate::` in code, tests left out.
fn uses(source: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for rest in line.split("crate::").skip(1) {
            let segment: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            if !segment.is_empty() {
                found.insert(segment);
            }
        }
    }
    found
}

#[test]
fn modules_use_only_what_is_below_them() {
    let mut seen = BTreeSet::new();
    for path in files_below("core/src", &[".rs"]) {
        let below = path.strip_prefix("core/src").expect("in the core");
        let module = below.components().next().expect("a module").as_os_str().to_string_lossy();
        let module = module.trim_end_matches(".rs");
        let name = path.display().to_string();
        if module == "lib" || name.contains("/tests/") || name.ends_with("/tests.rs") {
            continue;
        }
        let (_, allowed) = MAY_USE
            .iter()
            .find(|(known, _)| *known == module)
            .unwrap_or_else(|| panic!("{name}: give the module {module} a row in MAY_USE"));
        seen.insert(module.to_owned());
        for used in uses(&text(&path)) {
            assert!(used == module || allowed.contains(&used.as_str()), "{name} uses crate::{used}");
        }
    }
    let rows: BTreeSet<String> = MAY_USE.iter().map(|(module, _)| (*module).to_owned()).collect();
    assert_eq!(seen, rows, "every row has its module");
}

#[test]
fn bindings_depend_on_the_core_only() {
    for package in ["cli", "ffi", "bindings-python", "bindings-node"] {
        let manifest = text(std::path::Path::new(package).join("Cargo.toml").as_path());
        assert!(manifest.contains("gallivant-core"), "{package}");
        for other in ["libgallivant", "gallivant-python", "gallivant-node", "gallivant-tests"] {
            let depends = manifest.lines().any(|line| {
                line.split('=').next().is_some_and(|key| key.trim().trim_end_matches(".workspace") == other)
            });
            assert!(!depends, "{package} depends on {other}");
        }
    }
}
