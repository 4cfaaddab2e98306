//! Field cases of manifests. Where a case asks for what the specification does not, the specification decides.

use std::path::PathBuf;

use gallivant_core::Host;
use gallivant_core::artifacts::Checkout;
use gallivant_core::digest::sha256;
use serde_json::Value as Json;

use super::{assert_refused, create, tracked, validate};

fn case(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors/cases").join(file)
}

fn json(file: &str) -> Json {
    serde_json::from_slice(&std::fs::read(case(file)).expect("the case is there")).expect("it is JSON")
}

/// The swap of the same case is in `tests/races/artifacts.rs`.
#[test]
fn c_058_no_link_anywhere_in_a_path_leads_out_of_the_root() {
    let above = tempfile::tempdir().expect("a directory");
    let set_up = std::process::Command::new("sh").arg(case("C-058.setup.sh")).arg(above.path()).status();
    assert!(set_up.expect("sh starts").success());
    let checkout = Checkout::open(&above.path().join("root"), &Host::system()).expect("a checkout");
    let expected = [
        ("out/report.txt", None),
        ("hop/secret.txt", Some("link-in-path")),
        ("final-link.txt", Some("link")),
        // Nothing is followed, so that a loop is a link like any other.
        ("loop/a", Some("link-in-path")),
        ("fifo", Some("special")),
        ("hard.txt", Some("names")),
    ];
    let files = json("C-058.manifest.json");
    let files = files["files"].as_array().expect("a list");
    assert_eq!(files.len(), expected.len());
    for (file, (path, refused)) in files.iter().zip(expected) {
        assert_eq!(file["path"], path);
        match refused {
            None => assert_eq!(checkout.hash(path).expect("accepted"), Some(sha256(b"ok\n"))),
            Some(detail) => assert_refused(checkout.hash(path), detail),
        }
    }
}

#[test]
fn c_060_the_raw_name_is_judged_with_one_answer_on_every_system() {
    let names = json("C-060.names.json");
    let names = names.as_array().expect("a list");
    assert_eq!(names.len(), 27);
    for name in names {
        let (name, expect) =
            (name["name"].as_str().expect("a name"), name["expect"].as_str().expect("an answer"));
        // By EX-ART-05 these are spellings of a path; EX-ART-09 allows control characters but NUL; com0 is no device.
        let is_decided = matches!(name, "a//b" | "./a" | "a\nb" | "com0.txt" | "\u{202e}gnp.exe");
        let is_accepted = is_decided || expect == "accept";
        let one = validate(&[create(name)], &tracked(&[]));
        assert_eq!(one.is_ok(), is_accepted, "{name:?}: {one:?}");
        if let Err(error) = &one {
            // EX-ART-45: by its number alone.
            assert!(error.message().contains("entry=`0`"), "{error}");
        }
        // One bad name refuses the whole.
        let among = validate(&[create("fine.txt"), create(name)], &tracked(&[]));
        assert_eq!(among.is_ok(), is_accepted, "{name:?}");
    }
}
