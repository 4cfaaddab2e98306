//! include/gallivant.h is printed from the sources, and compiles wherever it has to.
//!
//! `GALLIVANT_BLESS=1 cargo test -p libgallivant --test header` writes it anew. cbindgen prints each file of `ffi/src`
//! by itself, so that constants, types and functions of a matter stand together; this program puts the conventions
//! page on top and the initialisers, which are comments beginning with `// C: ` in the sources, below their structs.
#![allow(clippy::disallowed_methods, reason = "a generator reads and writes files and asks whether to")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of ffi/src that have something for C, in the order of the header: nothing is used above its declaration.
const PARTS: &[&str] = &[
    "version.rs",
    "status.rs",
    "view.rs",
    "error.rs",
    "buffer.rs",
    "options.rs",
    "host.rs",
    "process.rs",
    "harness_state/words.rs",
    "harness_state/options.rs",
    "harness_state/record.rs",
    "harness_state/probe.rs",
    "harness_state/reader.rs",
    "harness_state/snapshot.rs",
    "harness_state/fleet.rs",
    "harness_state/watch.rs",
    "harness_state/identity.rs",
    "harness_state/report.rs",
    "harness_state/claim.rs",
    "harness_state/writer.rs",
    "harness_state/ownership.rs",
    "harness_state/environment.rs",
    "harness_state/session.rs",
    "harness_state/hook.rs",
    "redaction.rs",
    "journal/words.rs",
    "journal/writer.rs",
    "journal/projection.rs",
    "journal/log_reader.rs",
    "journal/replay.rs",
    "journal/frame.rs",
    "journal/look.rs",
    "idempotency/words.rs",
    "idempotency/name.rs",
    "idempotency/fingerprint.rs",
    "idempotency/begun.rs",
    "idempotency/store.rs",
    "idempotency/reservation.rs",
    "idempotency/claim.rs",
    "idempotency/changes.rs",
    "idempotency/ticket.rs",
    "idempotency/unknown_claim.rs",
    "execution/words.rs",
    "execution/abort_token.rs",
    "execution/failure.rs",
    "execution/machine.rs",
    "execution/registry.rs",
    "execution/points.rs",
    "execution/scope.rs",
    "execution/refresh.rs",
    "execution/health.rs",
    "execution/boundary.rs",
    "execution/publication.rs",
    "execution/transport.rs",
    "execution/drive.rs",
    "execution/lanes.rs",
    "execution/dispatch_lane.rs",
    "execution/local_runs.rs",
    "execution/functions.rs",
    "verification.rs",
    "testing.rs",
];

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn header_path() -> PathBuf {
    package().join("../include/gallivant.h")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines of a file's or crate's `//!` comment.
fn page(source: &str) -> impl Iterator<Item = &str> {
    source
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
}

/// The macros of a file: the comments that begin with `// C: `, a block a macro.
fn macros(source: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in source.lines() {
        match line.strip_prefix("// C: ") {
            Some(line) => writeln!(blocks.last_mut().expect("never empty"), "{line}").expect("a string"),
            None if blocks.last().is_some_and(|block| !block.is_empty()) => blocks.push(String::new()),
            None => {}
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// The types that a file declares for C.
fn types(source: &str) -> impl Iterator<Item = String> {
    let declared = source
        .lines()
        .filter_map(|line| line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub type ")));
    declared.map(|rest| rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect())
}

fn print_part(file: &str) -> String {
    let path = package().join("src").join(file);
    let source = read(&path);
    let mut config = cbindgen::Config::from_file(package().join("cbindgen.toml")).expect("the configuration");
    // A type is printed in its own part, whether a function there uses it or not.
    config.export.include = types(&source).collect();
    let bindings = cbindgen::Builder::new().with_config(config).with_src(&path).generate().expect(file);
    let mut printed = Vec::new();
    bindings.write(&mut printed);
    let mut printed = String::from_utf8(printed).expect("UTF-8").trim().to_owned() + "\n";
    // Every type has a name without `struct`, so that one spelling does for those of this part and of others.
    printed = printed
        .replace("struct gallivant_", "gallivant_")
        .replace("typedef gallivant_", "typedef struct gallivant_");
    for block in macros(&source) {
        let name =
            block.split_whitespace().find(|word| word.starts_with("GALLIVANT_")).expect("a macro's name");
        let Some(of) = name.strip_suffix("_INIT") else {
            printed = format!("{block}\n{printed}");
            continue;
        };
        let end = format!("}} {};\n", of.to_lowercase());
        assert_eq!(printed.matches(&end).count(), 1, "{file}: {name} belongs to no struct");
        printed =
            printed.replace(&end, &format!("{end}\n/* Initialises one, as input or output. */\n{block}"));
    }
    let title: String = page(&source).map(|line| format!(" * {line}").trim_end().to_owned() + "\n").collect();
    format!("/* {}\n{title} */\n\n{}\n\n", "-".repeat(74), printed.trim())
}

fn print_header() -> String {
    let mut header = String::from("/*\n");
    for line in page(&read(&package().join("src/lib.rs"))) {
        header += format!(" * {line}").trim_end();
        header += "\n";
    }
    let [major, minor, patch] =
        [env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"), env!("CARGO_PKG_VERSION_PATCH")];
    write!(
        header,
        " */\n\n\
         /* Printed from ffi/src by `GALLIVANT_BLESS=1 cargo test -p libgallivant --test header`; do not edit. */\n\n\
         #ifndef GALLIVANT_H\n#define GALLIVANT_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n\
         /* The version of this header. */\n\
         #define GALLIVANT_VERSION \"{}\"\n\
         #define GALLIVANT_VERSION_MAJOR {major}\n\
         #define GALLIVANT_VERSION_MINOR {minor}\n\
         #define GALLIVANT_VERSION_PATCH {patch}\n\
         #define GALLIVANT_VERSION_NUMBER \\\n    \
         (GALLIVANT_VERSION_MAJOR * 1000000 + GALLIVANT_VERSION_MINOR * 1000 + GALLIVANT_VERSION_PATCH)\n\n\
         /* The version of the binary interface, which is the number in the soname. */\n\
         #define GALLIVANT_ABI_VERSION {major}\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
        env!("CARGO_PKG_VERSION"),
    )
    .expect("a string");
    for part in PARTS {
        header += &print_part(part);
    }
    header + "#ifdef __cplusplus\n} /* extern \"C\" */\n#endif\n\n#endif /* GALLIVANT_H */\n"
}

#[test]
fn the_header_is_what_the_sources_say() {
    let printed = print_header();
    if std::env::var("GALLIVANT_BLESS").is_ok_and(|bless| bless == "1") {
        std::fs::write(header_path(), &printed).expect("the header can be written");
    }
    let committed = std::fs::read_to_string(header_path()).unwrap_or_default();
    let differs = printed.lines().zip(committed.lines()).find(|(printed, committed)| printed != committed);
    assert!(
        printed == committed,
        "include/gallivant.h is not what the sources say; set GALLIVANT_BLESS=1 to write it; first difference: \
         {differs:?}"
    );
}

#[test]
fn every_file_with_an_export_has_its_part() {
    let mut folders = vec![package().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if read(&path).contains("extern \"C\" fn gallivant_") {
                let name = path.strip_prefix(package().join("src")).expect("below src");
                assert!(PARTS.iter().any(|part| Path::new(part) == name), "{} has no part", name.display());
            }
        }
    }
}

/// Compiles a program that does nothing but include the header.
fn compiles(compiler: &str, language: &str, flags: &[&str]) {
    let output = Command::new(compiler)
        .args(["-x", language, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wpedantic", "-include"])
        .arg(header_path())
        .args(flags)
        .arg("/dev/null")
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler} {flags:?}: {complaint}");
}

#[test]
fn the_header_compiles_as_c11_and_c17() {
    for standard in ["-std=c11", "-std=c17"] {
        compiles("cc", "c", &[standard, "-Wstrict-prototypes"]);
    }
}

#[test]
fn the_header_compiles_as_cpp17_and_cpp20() {
    for standard in ["-std=c++17", "-std=c++20"] {
        compiles("c++", "c++", &[standard]);
    }
}
