//! What a manifest may say (EX-ART-01 to EX-ART-21, 54, 68, 69): the pure function.

use gallivant_core::artifacts::path::canonical;
use gallivant_core::artifacts::{Change, Mode, Tracked, Tree, fold, public_text_check, validate_pushed_tree};
use gallivant_core::json::Value;
use serde_json::{Value as Json, json};

use super::{assert_refused, assert_retryable, create, delete, edit, hash, tracked, validate};

fn paths(files: &[Json], tree: &Tree) -> Vec<String> {
    let manifest = validate(files, tree).unwrap_or_else(|error| panic!("{files:?}: {error}"));
    manifest.entries().iter().map(|entry| entry.path().to_owned()).collect()
}

#[test]
fn ex_art_01_an_entry_creates_edits_or_deletes_and_nothing_else() {
    let tree = tracked(&["a", "b"]);
    let files = [create("c"), edit("a", "1", "2"), delete("b", "1")];
    let manifest = validate(&files, &tree).expect("valid");
    let changes: Vec<Change> = manifest.entries().iter().map(|entry| entry.change()).collect();
    assert_eq!(changes, [Change::Create, Change::Edit, Change::Delete]);
    assert_refused(
        validate(&[json!({ "path": "c", "beforeHash": null, "afterHash": null, "text": null })], &tree),
        "hash",
    );
    for wrong in [json!("a"), json!({}), json!({ "path": 1 }), json!({ "path": "c", "afterHash": 1 })] {
        assert_refused(validate(&[wrong], &tree), "shape");
    }
    let not_a_list = Value::parse(r#"{"path":"a"}"#).expect("it is JSON");
    assert_refused(gallivant_core::artifacts::validate_manifest(&not_a_list, &tree), "shape");
}

#[test]
fn ex_art_02_hashes_are_of_the_exact_bytes_and_in_one_spelling() {
    let tree = tracked(&["a"]);
    let with = |before: Json, after: Json, text: Json| {
        validate(&[json!({ "path": "a", "beforeHash": before, "afterHash": after, "text": text })], &tree)
    };
    let (before, after) = (hash("1"), hash("ä\r\n"));
    with(json!(before), json!(after), json!("ä\r\n")).expect("valid");
    for wrong in [before.to_uppercase(), before[1..].to_owned(), before.clone() + "0", "g".repeat(64)] {
        assert_refused(with(json!(wrong), json!(after), json!("ä\r\n")), "hash");
        assert_refused(with(json!(before), json!(wrong), json!("ä\r\n")), "hash");
    }
}

#[test]
fn ex_art_54_changed_or_cut_content_is_refused_for_good() {
    let tree = tracked(&["a"]);
    for text in [json!("ä\n"), json!("ä\r"), json!(""), json!(null)] {
        let file = json!({ "path": "a", "beforeHash": hash("1"), "afterHash": hash("ä\r\n"), "text": text });
        assert_refused(validate(&[file], &tree), "text");
    }
    let kept = json!({ "path": "a", "beforeHash": hash("1"), "afterHash": null, "text": "1" });
    assert_refused(validate(&[kept], &tree), "text");
}

#[test]
fn ex_art_03_the_answer_is_the_canonical_entries_in_their_order() {
    let tree = tracked(&["src/old.txt", "README"]);
    let files = [create("z/./y"), edit("./src//old.txt", "1", "2"), delete("README", "1")];
    assert_eq!(paths(&files, &tree), ["z/y", "src/old.txt", "README"]);
    // The same input has the same answer.
    assert_eq!(validate(&files, &tree).expect("valid"), validate(&files, &tree).expect("valid"));
}

#[test]
fn ex_art_04_every_path_is_judged_before_any_content_is() {
    let cut = json!({ "path": "a", "beforeHash": null, "afterHash": hash("1"), "text": "2" });
    assert_refused(validate(std::slice::from_ref(&cut), &tracked(&[])), "text");
    assert_refused(validate(&[cut.clone(), create("x/../y")], &tracked(&[])), "parent");
    assert_refused(validate(&[cut, create("B")], &tracked(&["b"])), "tracked-alias");
}

#[test]
fn ex_art_05_spellings_of_one_path_have_one_canonical_form() {
    for (raw, wanted) in [
        ("a.txt", "a.txt"),
        ("./a.txt", "a.txt"),
        (".//a.txt", "a.txt"),
        ("a/./b//c", "a/b/c"),
        ("./a/.b", "a/.b"),
    ] {
        assert_eq!(canonical(raw).expect("valid"), wanted);
    }
}

#[test]
fn ex_art_06_one_path_twice_is_refused() {
    for second in ["a/b", "./a/b", "a//b", "a/./b"] {
        assert_refused(validate(&[create("a/b"), create(second)], &tracked(&[])), "duplicate");
    }
}

#[test]
fn ex_art_07_what_is_no_path_of_a_file_below_the_root() {
    let long = vec!["x".repeat(200); 21].join("/");
    for (path, detail) in [
        ("", "empty"),
        (".", "empty"),
        ("./.", "empty"),
        ("/etc/x", "absolute"),
        ("//x", "absolute"),
        ("..", "parent"),
        ("a/../b", "parent"),
        ("a/..", "parent"),
        ("a\0b", "nul"),
        ("a/", "separator"),
        ("./", "separator"),
        ("a\\b", "backslash"),
        (&*"x".repeat(256), "length"),
        (&*"ä".repeat(128), "length"),
        (&*long, "length"),
    ] {
        assert_refused(validate(&[create(path)], &tracked(&[])), detail);
    }
    let longest = format!("{}/{}", vec!["x".repeat(255); 15].join("/"), "x".repeat(255));
    assert_eq!(longest.len(), 4095);
    assert_eq!(paths(&[create(&longest)], &tracked(&[])), [longest]);
    // Half a character has no bytes of UTF-8.
    let cut = r#"{"files":[{"path":"a\ud800","beforeHash":null,"afterHash":null,"text":null}],"tree":{"input":[],"head":[],"index":[]}}"#;
    assert_refused(gallivant_core::execution::functions::call("validateManifest", cut), "encoding");
}

#[test]
fn ex_art_08_no_component_is_gits_directory() {
    for path in [".git", ".git/config", "sub/.GIT/hooks/x", ".gIt", "a/.git"] {
        assert_refused(validate(&[create(path)], &tracked(&[])), "git");
    }
    assert_eq!(paths(&[create("a/.github/x"), create(".gitignore"), create("git")], &tracked(&[])).len(), 3);
}

#[test]
fn ex_art_69_nor_what_git_or_a_file_system_takes_for_it() {
    for path in [
        "git~1",
        "GIT~1/x",
        ".git.",
        ".git ",
        ".git. .",
        ".git:stream",
        ".g\u{200c}it",
        "\u{200f}.git",
        ".git\u{202a}",
        ".gi\u{202e}t/x",
        ".\u{206a}git",
        ".git\u{206f}",
        "\u{feff}.GIT",
        "a/.git\u{200d}. ",
        "git~1 ",
    ] {
        assert_refused(validate(&[create(path)], &tracked(&[])), "git");
        // Also where it is tracked with this very spelling.
        assert_refused(validate(&[edit(path, "1", "2")], &tracked(&[path])), "git");
    }
    assert_eq!(paths(&[create("git~2"), create(".gitx"), create("x.git")], &tracked(&[])).len(), 3);
}

#[test]
fn ex_art_68_no_new_name_is_one_that_another_system_rewrites() {
    let names = [
        "x.",
        "x ",
        "d./x",
        "d /x",
        "a:stream",
        "C:x",
        "con",
        "CON",
        "Con.txt",
        "prn",
        "aux.h",
        "nul.tar.gz",
        "com1",
        "COM9.log",
        "lpt1",
        "LPT9.x",
        "conin$",
        "CONOUT$.y",
        "a/b/NUL",
        "...",
    ];
    for name in names {
        assert_refused(validate(&[create(name)], &tracked(&[])), "rewritten");
        // One of them refuses the whole.
        assert_refused(validate(&[create("fine"), create(name)], &tracked(&[])), "rewritten");
        // An exact tracked spelling may be changed and removed.
        assert_eq!(paths(&[edit(name, "1", "2")], &tracked(&[name])), [name]);
        assert_eq!(paths(&[delete(name, "1")], &tracked(&[name])), [name]);
    }
    for name in ["com0.txt", "com10", "lpt", "console", "nul1", "x.con", "auxiliary", ".x", "..x"] {
        assert_eq!(paths(&[create(name)], &tracked(&[])), [name]);
    }
}

#[test]
fn ex_art_09_white_space_and_control_characters_are_allowed() {
    for path in ["a b", "a\nb", "a\tb\r", "\u{1}\u{7f}", " a", "\u{85}x", "\u{202e}gnp.exe"] {
        assert_eq!(paths(&[create(path)], &tracked(&[])), [path]);
    }
}

#[test]
fn ex_art_10_folding_is_nfc_full_upper_full_lower_nfc() {
    for (a, b) in [
        ("straße", "STRASSE"),
        ("ﬁle", "FILE"),
        ("é", "e\u{301}"),
        ("É", "e\u{301}"),
        ("ΣΑΣ", "σασ"),
        ("σας", "σασ"),
        ("K", "\u{212a}"),
        ("å", "\u{212b}"),
        ("ſ", "s"),
        ("ı", "I"),
        ("ŉ", "ʼN"),
        ("ΐ", "Ϊ\u{301}"),
        ("ᾳ", "ΑΙ"),
    ] {
        assert_eq!(fold(a), fold(b), "{a} {b}");
        assert_refused(validate(&[create(a), create(b)], &tracked(&[])), "alias");
    }
    for (a, b) in [("a", "b"), ("i", "İ"), ("ä", "a"), ("o", "ø"), ("²", "2")] {
        assert_ne!(fold(a), fold(b), "{a} {b}");
    }
}

#[test]
fn ex_art_11_spellings_that_fold_alike_are_refused_in_every_directory_of_a_path() {
    for (a, b) in [("A.txt", "a.txt"), ("Src/a", "src/b"), ("x/Lib/a", "x/lib/b"), ("é/a", "e\u{301}/b")] {
        assert_refused(validate(&[create(a), create(b)], &tracked(&[])), "alias");
        assert_refused(validate(&[create("0"), create(b), create(a)], &tracked(&[])), "alias");
    }
    assert_eq!(paths(&[create("src/a"), create("src/b"), create("srd/A")], &tracked(&[])).len(), 3);
}

/// Every directory of every path is compared, and costs no more than its own name.
#[test]
fn ex_art_11_long_paths_cost_what_they_are_long() {
    let files: Vec<Json> =
        (0..300).map(|number| create(&format!("{number:03}{}", "/a".repeat(2000)))).collect();
    assert_eq!(paths(&files, &tracked(&[])).len(), 300);
    let deep = format!("000{}/A/b", "/a".repeat(1000));
    assert_refused(validate(&[files[0].clone(), create(&deep)], &tracked(&[])), "alias");
    assert_refused(validate(&files[..1], &tracked(&[&deep])), "tracked-alias");
}

#[test]
fn ex_art_12_nothing_is_file_and_directory_at_once() {
    for (a, b) in [("a", "a/b"), ("a/b/c", "a/b"), ("A", "a/b"), ("x/Ä/c", "x/ä")] {
        assert_refused(validate(&[create(a), create(b)], &tracked(&[])), "file-and-directory");
        assert_refused(validate(&[create(b), create(a)], &tracked(&[])), "file-and-directory");
    }
}

#[test]
fn ex_art_13_the_remedy_says_to_split_the_result() {
    for files in [[create("A"), create("a")], [create("a"), create("A/b")]] {
        let error = validate(&files, &tracked(&[])).expect_err("refused");
        assert!(
            error.remedy().contains("split ambiguous spellings into separate results"),
            "{}",
            error.remedy()
        );
    }
}

#[test]
fn ex_art_14_a_tracked_name_with_another_spelling_refuses_unless_this_one_is_tracked_too() {
    let tree = tracked(&["src/old.txt", "README", "docs/a/b.txt", "café.txt"]);
    for path in [
        "SRC/new.txt",
        "readme",
        "src/OLD.txt",
        "src/OLD.txt/x",
        "Docs",
        "docs/A/c",
        "cafe\u{301}.txt",
        "README ",
    ] {
        let detail = if path.ends_with(' ') { "rewritten" } else { "tracked-alias" };
        assert_refused(validate(&[create(path)], &tree), detail);
    }
    let both = tracked(&["src/a", "SRC/b"]);
    assert_eq!(paths(&[create("src/c")], &both), ["src/c"]);
    assert_refused(validate(&[create("Src/c")], &both), "tracked-alias");
    // The index counts as HEAD does.
    let empty = || Some(Vec::new().into());
    let staged = Some(vec![Tracked::new("B.txt", Mode::Regular)].into());
    let tree = Tree { input: empty(), head: empty(), index: staged.clone() };
    assert_refused(validate(&[create("b.txt")], &tree), "tracked-alias");
    let tree = Tree { input: empty(), head: staged, index: empty() };
    assert_refused(validate(&[create("b.txt")], &tree), "tracked-alias");
}

#[test]
fn ex_art_15_a_tracked_directory_is_no_file_and_a_tracked_file_no_directory() {
    let tree = tracked(&["docs/a/b.txt", "README", "link"]);
    for path in ["docs", "docs/a", "README/x", "docs/a/b.txt/c"] {
        assert_refused(validate(&[create(path)], &tree), "collision");
    }
    for mode in [Mode::Link, Mode::Submodule, Mode::Executable] {
        assert_refused(validate(&[create("link/x")], &Tree::of([Tracked::new("link", mode)])), "collision");
    }
}

#[test]
fn ex_art_16_an_exact_tracked_spelling_may_be_edited_and_deleted() {
    let tree = tracked(&["a.txt", "A.txt", "straße", "STRASSE"]);
    for path in ["a.txt", "A.txt", "straße", "STRASSE"] {
        assert_eq!(paths(&[edit(path, "1", "2")], &tree), [path]);
        assert_eq!(paths(&[delete(path, "1")], &tree), [path]);
    }
}

#[test]
fn ex_art_17_an_accepted_path_keeps_its_spelling() {
    for path in ["Straße.TXT", "e\u{301}", "ΣΑΣ", "a\u{212a}"] {
        assert_eq!(paths(&[create(path)], &tracked(&[])), [path]);
    }
}

#[test]
fn ex_art_19_what_is_created_is_not_tracked_and_what_is_changed_is() {
    let tree = tracked(&["a"]);
    assert_refused(validate(&[create("a")], &tree), "tracked");
    assert_refused(validate(&[edit("b", "1", "2")], &tree), "untracked");
    assert_refused(validate(&[delete("b", "1")], &tree), "untracked");
    let one = || Some(vec![Tracked::new("a", Mode::Regular)].into());
    let none = || Some(Vec::new().into());
    for tree in [
        Tree { input: one(), head: none(), index: none() },
        Tree { input: none(), head: one(), index: none() },
        Tree { input: none(), head: none(), index: one() },
    ] {
        assert_refused(validate(&[create("a")], &tree), "tracked");
        assert_refused(validate(&[edit("a", "1", "2")], &tree), "untracked");
    }
}

#[test]
fn ex_art_20_a_tree_that_is_not_known_whole_is_no_tree_without_conflicts() {
    let list = || Some(Vec::new().into());
    for tree in [
        Tree::default(),
        Tree { input: None, head: list(), index: list() },
        Tree { input: list(), head: None, index: list() },
        Tree { input: list(), head: list(), index: None },
    ] {
        assert_retryable(&validate(&[create("a")], &tree).expect_err("not known"));
        assert_retryable(&validate(&[], &tree).expect_err("not known"));
    }
    for malformed in [
        r#"{"input":[],"head":[],"index":1}"#,
        r#"{"input":[],"head":[],"index":[{"path":"a"}]}"#,
        r#"{"input":[],"head":[{"path":"a","mode":"644"}],"index":[]}"#,
        r#"{"input":[],"head":[{"path":1,"mode":"100644"}],"index":[]}"#,
    ] {
        let value = Value::parse(malformed).expect("it is JSON");
        assert_retryable(&Tree::from_value(&value).expect_err("malformed"));
    }
}

#[test]
fn ex_art_21_equal_hashes_are_valid_and_change_nothing() {
    let manifest = validate(&[edit("a", "1", "1")], &tracked(&["a"])).expect("valid");
    assert!(!manifest.entries()[0].changes());
}

#[test]
fn ex_art_22_an_empty_list_is_a_manifest_without_entries() {
    assert_eq!(validate(&[], &tracked(&["a"])).expect("valid").entries(), []);
}

#[test]
fn ex_art_32_a_pushed_tree_has_no_two_names_that_are_one() {
    let list = |paths: &[&str]| -> Vec<Tracked> {
        paths.iter().map(|path| Tracked::new(path, Mode::Executable)).collect()
    };
    validate_pushed_tree(&list(&["a", "b/c", "b/d/e", "b/d/f", "con"])).expect("allowed");
    assert_refused(validate_pushed_tree(&list(&["a", "b", "A"])), "alias");
    assert_refused(validate_pushed_tree(&list(&["B/c", "a", "b/d"])), "alias");
    assert_refused(validate_pushed_tree(&list(&["B", "b/d"])), "file-and-directory");
    // Its own modes are its own affair.
    validate_pushed_tree(&[Tracked::new("l", Mode::Link), Tracked::new("s", Mode::Submodule)])
        .expect("allowed");
}

#[test]
fn ex_art_44_a_public_text_holds_no_nul() {
    for text in ["", "Title", "a\u{2400}b", "\u{1}\n"] {
        public_text_check(text).expect("it may be public");
    }
    for text in ["\0", "a\0b", "Title\0"] {
        assert_refused(public_text_check(text), "public-text");
    }
}
