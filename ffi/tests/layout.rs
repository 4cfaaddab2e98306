//! The layout of the header's structs and the numbers of its constants, as a C compiler sees them, are those of ffi/abi.txt.
//!
//! The file is the promise of the binary interface beside ffi/symbols.txt. `GALLIVANT_BLESS=1 cargo test -p libgallivant --test
//! layout` writes it anew, but only where everything that stood there still holds.
#![allow(clippy::disallowed_methods, reason = "the test reads the header and runs a compiler")]
#![cfg(target_pointer_width = "64")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIST: &str = "abi.txt";

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A struct of the header whose members programs see: its name, and its members in order.
struct Struct {
    name: String,
    members: Vec<String>,
}

/// The member that a declaration names: `const char *name`, `uint8_t name[16]`, `int32_t (*name)(void *user_data)`.
fn member(declaration: &str) -> String {
    let named = match declaration.split_once("(*") {
        Some((_, rest)) => rest.split(')').next().expect("never empty"),
        None => declaration.split('[').next().expect("never empty"),
    };
    let name = named.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().expect("never empty");
    assert!(!name.is_empty(), "a declaration names no member: {declaration}");
    name.to_owned()
}

fn structs(header: &str) -> Vec<Struct> {
    let lines = header.lines().map(|line| line.split("//").next().expect("never empty"));
    let code = lines.collect::<Vec<_>>().join("\n");
    code.split("\ntypedef struct ")
        .skip(1)
        .filter_map(|text| {
            let (name, rest) = text.split_once(" {\n")?;
            if name.contains(';') {
                return None;
            }
            let (body, _) = rest.split_once("\n}").expect("a struct ends");
            let members = body.split(';').map(str::trim).filter(|part| !part.is_empty()).map(member);
            Some(Struct { name: name.to_owned(), members: members.collect() })
        })
        .collect()
}

/// The constants that are one number: `#define GALLIVANT_NAME 7`. The version's own change with every release.
fn constants(header: &str) -> Vec<&str> {
    let defined = header.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' '));
    defined
        .filter(|(name, value)| value.trim().parse::<i64>().is_ok() && !name.starts_with("GALLIVANT_VERSION"))
        .map(|(name, _)| name)
        .collect()
}

/// What the C compiler of this machine makes of the header, one fact a line.
fn seen(header: &str) -> String {
    let mut program = String::from("#include <gallivant.h>\n#include <stdio.h>\nint main(void)\n{\n");
    for Struct { name, members } in structs(header) {
        writeln!(program, "printf(\"struct {name} %zu\\n\", sizeof({name}));").expect("a string");
        for member in members {
            let size = format!("sizeof((({name} *)0)->{member})");
            let print =
                format!("printf(\"{name}.{member} %zu %zu\\n\", offsetof({name}, {member}), {size});");
            writeln!(program, "{print}").expect("a string");
        }
    }
    for name in constants(header) {
        writeln!(program, "printf(\"{name} %lld\\n\", (long long){name});").expect("a string");
    }
    program.push_str("return 0;\n}\n");

    let folder = tempfile::tempdir().expect("a folder");
    let (source, built) = (folder.path().join("layout.c"), folder.path().join("layout"));
    std::fs::write(&source, program).expect("a source");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let include = package().join("../include");
    let compiled = Command::new(compiler).arg("-I").arg(include).arg(&source).arg("-o").arg(&built).output();
    let compiled = compiled.expect("a C compiler runs");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&built).output().expect("the program runs");
    assert!(ran.status.success());
    String::from_utf8(ran.stdout).expect("UTF-8")
}

/// What of the kept list does not hold any more. A struct may grow at its end where its first member is its size, which is
/// then the first member that the program filled in.
fn broken(kept: &str, now: &str) -> Vec<String> {
    let facts: BTreeSet<&str> = now.lines().collect();
    let grows = |name: &str| facts.contains(format!("{name}.struct_size 0 8").as_str());
    let size_of = |fact: &str| fact.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
    let holds = |line: &&str| {
        if facts.contains(line) {
            return true;
        }
        let Some(name) = line.strip_prefix("struct ").and_then(|rest| rest.split(' ').next()) else {
            return false;
        };
        let fact = facts.iter().find(|fact| fact.starts_with(&format!("struct {name} ")));
        grows(name) && fact.is_some_and(|fact| size_of(fact) >= size_of(line))
    };
    kept.lines().filter(|line| !holds(line)).map(str::to_owned).collect()
}

#[test]
fn layouts_and_numbers_are_those_that_are_promised() {
    let header = read(package().join("../include/gallivant.h"));
    let (now, list) = (seen(&header), package().join(LIST));
    let kept = std::fs::read_to_string(&list).unwrap_or_default();
    let gone = broken(&kept, &now);
    assert!(gone.is_empty(), "the binary interface has changed, which only a new soname may: {gone:#?}");
    if std::env::var_os("GALLIVANT_BLESS").is_some() {
        std::fs::write(&list, &now).expect("the list is written");
    } else {
        assert_eq!(kept, now, "ffi/{LIST} lacks what was added; GALLIVANT_BLESS=1 writes it");
    }
    assert!(now.lines().filter(|line| line.starts_with("struct ")).count() > 30, "the structs were found");
}

#[test]
fn a_change_of_what_is_promised_is_found() {
    let kept =
        "struct grows 16\ngrows.struct_size 0 8\ngrows.a 8 8\nstruct fixed 8\nfixed.a 0 8\nGALLIVANT_A 1\n";
    assert_eq!(broken(kept, kept), Vec::<String>::new());
    let grown = kept.replace("grows 16", "grows 24") + "grows.b 16 8\nGALLIVANT_B 2\n";
    assert_eq!(broken(kept, &grown), Vec::<String>::new());
    for (from, to, found) in [
        ("grows 16", "grows 8", "struct grows 16"),
        ("fixed 8", "fixed 16", "struct fixed 8"),
        ("grows.a 8 8", "grows.a 8 4", "grows.a 8 8"),
        ("GALLIVANT_A 1", "GALLIVANT_A 2", "GALLIVANT_A 1"),
    ] {
        assert_eq!(broken(kept, &kept.replace(from, to)), [found]);
    }
}
