//! One version number and one lowest version of each compiler, in every manifest and on every page that names them.

use std::path::Path;

use crate::{files_below, root, text};

/// The value of a line `key = "value"` of a manifest.
fn value(manifest: &str, key: &str) -> Option<String> {
    let line = manifest.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='))?;
    line.trim().strip_prefix('"')?.split('"').next().map(str::to_owned)
}

fn workspace(key: &str) -> String {
    let manifest = text(Path::new("Cargo.toml"));
    let section = manifest.split("[workspace.package]\n").nth(1).expect("a section");
    value(section, key).unwrap_or_else(|| panic!("Cargo.toml names no {key}"))
}

/// The members of the workspace, as folders.
fn members() -> Vec<String> {
    let manifest = text(Path::new("Cargo.toml"));
    let list = manifest.lines().find_map(|line| line.strip_prefix("members = [")).expect("members");
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The value of a member of a JSON file.
fn json(path: &str, pointer: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(&text(Path::new(path))).expect("JSON");
    value.pointer(pointer).and_then(|value| value.as_str()).map(str::to_owned)
}

#[test]
fn every_manifest_has_the_one_version() {
    let version = workspace("version");
    let members = members();
    assert!(members.len() > 4, "the members were found");
    for member in members {
        let manifest = text(Path::new(&member).join("Cargo.toml").as_path());
        for key in ["version", "edition", "rust-version", "license"] {
            assert!(
                manifest.contains(&format!("{key}.workspace = true\n")),
                "{member} has a {key} of its own"
            );
        }
    }
    let workspace = text(Path::new("Cargo.toml"));
    let core = workspace.lines().find(|line| line.starts_with("gallivant-core = ")).expect("the core");
    assert!(core.contains(&format!("version = \"{version}\"")), "{core}");

    let lock = text(Path::new("Cargo.lock"));
    let ours = lock.split("[[package]]\n").filter(|package| {
        value(package, "name").is_some_and(|name| name.contains("gallivant"))
            && value(package, "source").is_none()
    });
    let locked: Vec<_> = ours.map(|package| value(package, "version").expect("a version")).collect();
    assert!(locked.len() > 4 && locked.iter().all(|locked| *locked == version), "Cargo.lock: {locked:?}");

    // Python's comes from the crate by maturin.
    assert!(text(Path::new("bindings-python/pyproject.toml")).contains("dynamic = [\"version\"]\n"));

    let header = text(Path::new("include/gallivant.h"));
    assert!(header.contains(&format!("#define GALLIVANT_VERSION \"{version}\"\n")), "the header");

    assert_eq!(json("bindings-node/package.json", "/version").as_ref(), Some(&version));
    let mut platforms = 0;
    for manifest in files_below("bindings-node/platforms", &["package.json"]) {
        let manifest = manifest.to_str().expect("UTF-8");
        assert_eq!(json(manifest, "/version").as_ref(), Some(&version), "{manifest}");
        let name = json(manifest, "/name").expect("a name");
        let wanted = json("bindings-node/package.json", &format!("/optionalDependencies/{name}"));
        assert_eq!(wanted.as_ref(), Some(&version), "package.json names {name}");
        platforms += 1;
    }
    assert!(platforms > 0, "the platforms were found");

    // The newest section of the changes is of this version, be it out or not.
    let changes = text(Path::new("CHANGELOG.md"));
    let newest = changes.lines().filter_map(|line| line.strip_prefix("## ")).nth(1).expect("a section");
    assert!(newest.split([' ', ':']).any(|word| word == version), "CHANGELOG.md begins with `{newest}`");
    assert!(root().join("tests/compat").join(&version).is_dir(), "tests/compat has no files of {version}");
}

#[test]
fn every_page_names_the_same_lowest_versions() {
    let rust = workspace("rust-version");
    for page in
        ["README.md", "docs/stability.md", "docs/guides/rust.md", "docs/tutorial.md", "core/README.md"]
    {
        let page_text = text(Path::new(page));
        assert!(
            page_text.contains(&format!("Rust {rust}")) || page_text.contains(&format!("Rust ({rust}")),
            "{page}"
        );
    }
    let clippy = text(Path::new("clippy.toml"));
    assert!(value(&clippy, "msrv").is_none_or(|msrv| msrv == rust), "clippy.toml");

    let python = text(Path::new("bindings-python/pyproject.toml"));
    let lowest = value(&python, "requires-python").expect("requires-python").replace(">=", "");
    let tag = format!("abi3-py{}", lowest.replace('.', ""));
    assert!(
        text(Path::new("bindings-python/Cargo.toml")).contains(&tag),
        "the extension is built for {lowest}"
    );
    let node = json("bindings-node/package.json", "/engines/node").expect("engines").replace(">=", "");
    let floor = text(Path::new("packages/FLOOR"));
    for page in ["README.md", "docs/stability.md", "docs/tutorial.md"] {
        let page_text = text(Path::new(page));
        assert!(page_text.contains(&format!("Python {lowest}")), "{page}: Python {lowest}");
        assert!(page_text.contains(&format!("Node {node}")), "{page}: Node {node}");
    }
    for page in ["docs/stability.md", "bindings-node/platforms/linux-x64-gnu/README.md"] {
        assert!(text(Path::new(page)).contains(&format!("glibc {}", floor.trim())), "{page}: glibc");
    }
}

/// No other check builds that workspace.
#[test]
fn the_fuzz_workspace_locks_the_dependencies_of_the_core() {
    let dependencies = |lock: &str| {
        let lock = text(Path::new(lock));
        let package =
            lock.split("[[package]]").find(|package| package.contains("name = \"gallivant-core\"\n"));
        let names = package.expect("the core").lines().filter(|line| line.starts_with(" \""));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let locked = dependencies("fuzz/Cargo.lock");
    assert!(locked.len() > 10, "{locked:?}");
    // What the core's own tests need is in the other one too.
    let all = dependencies("Cargo.lock");
    assert!(locked.iter().all(|name| all.contains(name)), "{locked:?}");
    let manifest = text(Path::new("core/Cargo.toml"));
    let section = manifest.split("\n[").find_map(|section| section.strip_prefix("dependencies]"));
    for line in section.expect("dependencies").lines().filter(|line| line.ends_with(".workspace = true")) {
        let name = line.split('.').next().unwrap_or_default();
        assert!(locked.contains(&format!(" \"{name}\",")), "{name} is not in fuzz/Cargo.lock");
    }
}
