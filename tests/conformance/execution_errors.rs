//! EX-ERR: the words of the execution layer's errors, in the code, in every language and on the pages.
//!
//! The tests read the sources, so that they hold for whatever raises an error later.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gallivant_core::Code;
use gallivant_core::execution::{collection_validation_error, dispatch_not_sent_error};

use crate::support::pass::{observation, says};
use crate::support::task::{Answer, TaskRoot, acknowledgement, dispatch};

/// The folders of the core whose errors have the codes of this layer. Those of later domains count from their first day.
const DOMAINS: [&str; 7] =
    ["execution", "journal", "redaction", "artifacts", "publication", "verification", "local_runner"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The sources below a folder, without their tests: what stands behind `#[cfg(test)]` in a file and files of that name.
fn sources(folder: &Path, ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) && !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            found.push((path, code));
        }
    }
    found
}

/// The sources of the core's domains of this layer.
fn core() -> Vec<(PathBuf, String)> {
    DOMAINS.iter().flat_map(|domain| sources(&root().join("core/src").join(domain), ".rs")).collect()
}

/// The string literals that follow a call of this name, with their continued lines joined.
fn literals_of(call: &str, code: &str) -> Vec<String> {
    let arguments = code.split(call).skip(1).map(str::trim_start);
    let literals = arguments.filter_map(|text| {
        let text = text.strip_prefix("format!(").unwrap_or(text).trim_start();
        literal(text.strip_prefix('"')?)
    });
    literals.collect()
}

/// The literal whose first quote has just been read.
fn literal(text: &str) -> Option<String> {
    let mut said = String::new();
    let mut rest = text.chars();
    loop {
        match rest.next()? {
            '"' => return Some(said),
            '\\' => match rest.next()? {
                '\n' => {
                    let next = rest.as_str().trim_start();
                    rest = next.chars();
                }
                escaped => said.push(escaped),
            },
            letter => said.push(letter),
        }
    }
}

/// The words between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn specification() -> String {
    text("docs/spec/execution.md")
}

/// The line of a clause.
fn clause<'a>(specification: &'a str, number: &str) -> &'a str {
    let start = format!("- **{number}** ");
    specification.lines().find_map(|line| line.strip_prefix(&start)).expect("the clause")
}

/// The words of EX-ERR-02.
fn words_of_files(specification: &str) -> BTreeSet<String> {
    quoted(clause(specification, "EX-ERR-02")).into_iter().collect()
}

/// Every reason that an error of this layer may have: EX-ERR-02 and EX-ERR-03, the kinds of files of EX-UPG-06, and the
/// kinds of a transport's errors, which become reasons by EX-TRA-36.
fn reasons(specification: &str) -> BTreeSet<String> {
    let mut all = words_of_files(specification);
    for number in ["EX-ERR-03", "EX-UPG-06", "EX-TRA-26"] {
        let words = quoted(clause(specification, number)).into_iter();
        all.extend(words.filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
    }
    all
}

fn codes() -> impl Iterator<Item = Code> {
    Code::ALL.iter().copied().filter(|code| code.name().starts_with("EXECUTION_"))
}

/// What stands in one part of a page.
fn part<'a>(page: &'a str, heading: &str) -> &'a str {
    let body = page.split(&format!("## {heading}\n")).nth(1).unwrap_or_default();
    body.split("\n## ").next().unwrap_or_default()
}

/// The reasons of a page's table, each with what is said of it.
fn rows(page: &str) -> Vec<(String, &str)> {
    let rows = part(page, "Reasons").lines().filter_map(|line| line.strip_prefix("| `"));
    rows.flat_map(|row| {
        let (words, meaning) = row.split_once(" | ").expect("two columns");
        quoted(&format!("`{words}")).into_iter().map(move |word| (word, meaning))
    })
    .collect()
}

/// A word without what its spellings differ in.
fn bare(word: &str) -> String {
    word.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}

#[test]
fn ex_err_02_a_reason_word_of_files_is_spelled_in_one_way_wherever_it_stands() {
    let words = words_of_files(&specification());
    assert_eq!(words.len(), 8, "{words:?}");
    // Of one part there is one spelling anyway; what may go wrong are the hyphens.
    let spelled: BTreeMap<String, &String> =
        words.iter().filter(|word| word.contains('-')).map(|word| (bare(word), word)).collect();
    let mut seen = BTreeSet::new();
    let mut look = |place: &Path, said: &str| {
        let Some(right) = spelled.get(&bare(said)) else { return };
        // The name of the code has the form of codes.
        let is_code = said == "EXECUTION_DISPATCH_REFUSED" || said == "DISPATCH_REFUSED";
        assert!(said == **right || is_code, "{}: `{said}` is `{right}`", place.display());
        seen.insert((*right).clone());
    };
    let mut texts = core();
    for folder in ["ffi/src", "bindings-python/src", "bindings-node/src"] {
        texts.extend(sources(&root().join(folder), ".rs"));
    }
    texts.extend(sources(&root().join("bindings-python/python"), ".py"));
    texts.extend(sources(&root().join("bindings-node/lib"), ".js"));
    assert!(texts.len() > 100, "only {} sources were found", texts.len());
    for (path, code) in &texts {
        code.split(['"', '\'']).for_each(|said| look(path, said));
    }
    for folder in ["docs/errors", "docs/format", "docs/guides"] {
        for (path, page) in sources(&root().join(folder), ".md") {
            quoted(&page).iter().for_each(|said| look(&path, said));
        }
    }
    assert!(seen.contains("dispatch-refused") && seen.contains("result-validation"), "{seen:?}");
    assert_eq!(Code::ExecutionDispatchRefused.word(), "dispatch-refused");
}

#[test]
fn ex_err_03_every_reason_that_the_code_gives_is_one_of_the_list() {
    let specification = specification();
    let known = reasons(&specification);
    let mut given = BTreeSet::new();
    for (path, code) in core() {
        // A file's kind is the reason of its version's refusal.
        let reasons =
            ["with_reason(", "version::check("].into_iter().flat_map(|call| literals_of(call, &code));
        for reason in reasons {
            assert!(known.contains(&reason), "{}: `{reason}` is no reason of the layer", path.display());
            given.insert(reason);
        }
    }
    for expected in ["cursor", "checkpoint-cursor", "secret", "output-state"] {
        assert!(given.contains(expected), "`{expected}` was not found among {given:?}");
    }
}

#[test]
fn ex_err_03_the_pages_have_every_reason_at_its_code_and_no_other() {
    let specification = specification();
    let known = reasons(&specification);
    for code in codes() {
        let mut seen = BTreeSet::new();
        for (reason, meaning) in rows(code.page()) {
            // Beside the reasons of the layer a language may have some for its own objects.
            let of_a_language = meaning.starts_with("in Python:") || meaning.starts_with("in Node:");
            assert!(known.contains(&reason) || of_a_language, "{}: `{reason}`", code.name());
            assert!(seen.insert(reason.clone()), "{}: `{reason}` stands twice", code.name());
        }
    }
    let mut ties = 0;
    for line in specification.lines().filter(|line| line.starts_with("- **EX-")) {
        for tie in [", reason `", " with reason `"] {
            for (before, after) in
                line.match_indices(tie).map(|(at, _)| (&line[..at], &line[at + tie.len()..]))
            {
                let Some((_, code)) = before.trim_end_matches('`').rsplit_once('`') else { continue };
                let reason = after.split('`').next().unwrap_or_default();
                if !before.ends_with('`') || !code.starts_with("EXECUTION_") {
                    continue;
                }
                let code = Code::from_name(code).unwrap_or_else(|| panic!("{code}: {line}"));
                assert!(rows(code.page()).iter().any(|(row, _)| row == reason), "{}: {reason}", code.name());
                ties += 1;
            }
        }
    }
    assert!(ties > 30, "only {ties} reasons were found with their codes");
}

#[test]
fn ex_err_04_codes_are_the_same_text_in_every_language() {
    let ours: BTreeSet<String> = codes().map(|code| code.name().to_owned()).collect();
    let specification = specification();
    let section = specification.split("- **EX-ERR-01**").nth(1).expect("the clause");
    let table = section.split("- **EX-ERR-02**").next().expect("the table");
    let specified = table.lines().filter_map(|line| line.strip_prefix("| `EXECUTION_")?.split('`').next());
    assert_eq!(specified.map(|name| format!("EXECUTION_{name}")).collect::<BTreeSet<_>>(), ours);

    let header = text("include/gallivant.h");
    let defines = header.lines().filter_map(|line| line.strip_prefix("#define GALLIVANT_EXECUTION_"));
    let numbers: BTreeMap<String, i32> = defines
        .filter_map(|define| define.split_once(' '))
        .filter_map(|(name, number)| Some((format!("EXECUTION_{name}"), number.parse().ok()?)))
        // The layer's hundred: what else begins so is no status.
        .filter(|(_, number)| (200..300).contains(number))
        .collect();
    let wanted = codes().map(|code| (code.name().to_owned(), code.number())).collect();
    assert_eq!(numbers, wanted, "the header");

    let python = text("bindings-python/python/gallivant/errors.py");
    let classes = python.lines().filter_map(|line| line.strip_prefix("    code = \"EXECUTION_"));
    let names = classes.map(|rest| format!("EXECUTION_{}", rest.trim_end_matches('"')));
    assert_eq!(names.collect::<BTreeSet<_>>(), ours, "Python");

    let node = text("bindings-node/lib/index.d.ts");
    let union = node.lines().filter_map(|line| line.strip_prefix("  | 'EXECUTION_"));
    let names = union.map(|rest| format!("EXECUTION_{}", rest.trim_end_matches('\'')));
    assert_eq!(names.collect::<BTreeSet<_>>(), ours, "Node");
}

#[test]
fn ex_err_04_a_binding_hands_reasons_on_as_they_are_and_its_own_stand_on_a_page() {
    for file in ["ffi/src/error.rs", "bindings-python/src/error.rs", "bindings-node/src/error.rs"] {
        assert!(text(file).contains("error.reason()"), "{file}");
    }
    let on_pages: BTreeSet<String> =
        codes().flat_map(|code| rows(code.page())).map(|(reason, _)| reason).collect();
    let mut own = BTreeSet::new();
    for folder in ["ffi/src/journal", "bindings-python/src/journal", "bindings-node/src/journal"] {
        for (path, code) in sources(&root().join(folder), ".rs") {
            // Each error of a code of this layer, up to the end of its statement.
            let errors =
                code.split("Error::new(").filter(|error| error.trim_start().starts_with("Code::Execution"));
            let statements = errors.filter_map(|error| error.split([';', '}']).next());
            for reason in statements.flat_map(|statement| literals_of("with_reason(", statement)) {
                assert!(on_pages.contains(&reason), "{}: `{reason}` stands on no page", path.display());
                own.insert(reason);
            }
        }
    }
    assert!(own.contains("shape") && own.contains("closed"), "{own:?}");
}

/// What a remedy may never tell anyone to do, if this one does.
fn forbidden(remedy: &str) -> Option<String> {
    const NOT: [&str; 6] = ["do not ", "never ", "no ", "nothing ", "nor ", "a new dispatch is not "];
    const DISPATCHING: [&str; 7] = [
        "dispatch again",
        "dispatched again",
        "dispatch anew",
        "new dispatch",
        "redispatch",
        "submit again",
        "repeat the dispatch",
    ];
    const ACTS: [(&[&str], &str); 3] = [
        (&["delete", "remove", "erase", "drop", "discard"], "intent"),
        (&["clear", "reset", "delete", "remove", "erase", "empty"], "cursor"),
        (&["move", "copy", "transfer"], "session"),
    ];
    let lower = remedy.to_lowercase().replace('\n', " ").replace("no new dispatch", "nothing");
    let clauses = lower.split([';', ':', '.', ',']).flat_map(|part| part.split(" and "));
    for clause in clauses.flat_map(|part| part.split(" or ")).map(str::trim) {
        if NOT.iter().any(|not| clause.starts_with(not)) {
            continue;
        }
        let says = |word: &str| clause.split(|c: char| !c.is_ascii_alphabetic()).any(|said| said == word);
        let acts =
            ACTS.iter().any(|(verbs, object)| clause.contains(object) && verbs.iter().any(|verb| says(verb)));
        if acts || DISPATCHING.iter().any(|words| clause.contains(words)) {
            return Some(clause.to_owned());
        }
    }
    None
}

#[test]
fn ex_err_07_remedies_say_something_and_never_the_forbidden() {
    // The judge itself: it sees what is forbidden, and lets pass what forbids it.
    for bad in [
        "look at the file, then delete the intent",
        "Delete the saved intent and submit it once more",
        "reset its cursor; restart",
        "move the session to the new run",
        "correct the transport and dispatch again",
        "do not wait, make a new dispatch",
    ] {
        assert!(forbidden(bad).is_some(), "{bad}");
    }
    assert_eq!(
        forbidden("keep it; do not delete the intent, do not clear the cursor and do not dispatch again"),
        None
    );

    let mut remedies: Vec<(String, String)> =
        codes().map(|code| (code.name().to_owned(), code.remedy().to_owned())).collect();
    for (path, code) in core() {
        for call in ["with_remedy(", "_REMEDY: &'static str =", "let remedy ="] {
            let said = literals_of(call, &code).into_iter();
            remedies.extend(said.map(|remedy| (path.display().to_string(), remedy)));
        }
    }
    // Of their own have the cursor, the queue twice, and two kinds of a foreign version.
    assert!(remedies.len() >= codes().count() + 5, "only {} remedies were found", remedies.len());
    for code in codes() {
        remedies.push((format!("{}.md", code.name()), part(code.page(), "What to do").to_owned()));
        remedies.extend(rows(code.page()).iter().map(|(_, row)| (code.name().to_owned(), (*row).to_owned())));
    }
    for (place, remedy) in remedies {
        assert!(!remedy.trim().is_empty(), "{place}");
        assert_eq!(forbidden(&remedy), None, "{place}: {remedy}");
    }
}

/// What the remedy of a code has to say, by the table of EX-ERR-01, in the words of the remedy.
const SAID: [(Code, &[&str]); 24] = [
    (Code::ExecutionDependency, &["complete compatible package", "do not rebuild"]),
    (Code::ExecutionProtocol, &["correct the transport", "reconcile the same job and key"]),
    (Code::ExecutionResult, &["exact owned result", "owned cache", "retry collection", "do not dispatch"]),
    (Code::ExecutionPublicationBusy, &["retry after the publication has finished"]),
    (Code::ExecutionVerificationSandbox, &["repair", "system or runtime", "resume"]),
    (Code::ExecutionDispatchRefused, &["repair the prerequisite", "resume the same operation"]),
    (Code::ExecutionAcceptanceUnknown, &["reconcile", "adopt", "settleAbsent", "do not delete the intent"]),
    (Code::ExecutionUnresolved, &["reconcile the operation", "first"]),
    (Code::ExecutionActive, &["wait", "stop it"]),
    (Code::ExecutionConflict, &["identical input", "new operation id"]),
    (Code::ExecutionFenced, &["releases its fence"]),
    (Code::ExecutionCapability, &["allows", "field"]),
    (Code::ExecutionPreparation, &["prepare again with the exact input"]),
    (Code::ExecutionAllowance, &["limit", "a new budget is the coordinator's decision"]),
    (Code::ExecutionHealth, &["health record"]),
    (Code::ExecutionOwnership, &["open the root with its own"]),
    (Code::ExecutionBusy, &["retry", "holder", "hint"]),
    (Code::ExecutionQueue, &["restore the matching package or checkpoint"]),
    (Code::ExecutionJournal, &["restore the matching backup before replay"]),
    (Code::ExecutionVersion, &["compatible package", "matching backup"]),
    (Code::ExecutionDeadline, &["retry at the saved time"]),
    (Code::ExecutionIo, &["retry at the saved time", "last durable state"]),
    (Code::ExecutionInput, &["argument that the message names"]),
    (Code::ExecutionUnknownRun, &["id", "names"]),
];

#[test]
fn ex_err_01_every_code_has_its_kind_its_page_what_is_kept_and_its_remedy() {
    let codes: BTreeSet<&str> = codes().map(Code::name).collect();
    assert_eq!(SAID.iter().map(|(code, _)| code.name()).collect::<BTreeSet<_>>(), codes);
    let specification = specification();
    let section = specification.split("- **EX-ERR-01**").nth(1).expect("the clause");
    let table = section.split("- **EX-ERR-02**").next().expect("the table");
    for (code, said) in SAID {
        let name = code.name();
        let row = table.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).expect(name);
        let keeps_all = row.split('|').nth(4).is_some_and(|kept| kept.trim().starts_with("Everything"));
        for phrase in said {
            assert!(code.remedy().contains(phrase), "{name}: `{phrase}` in `{}`", code.remedy());
        }
        let page = code.page();
        assert!(page.starts_with(&format!("# {name}\n\nKind `{}`.", code.kind().name())), "{name}");
        for heading in ["What it means", "What is true on disk now", "What to do"] {
            assert!(part(page, heading).trim().len() > 40, "{name}: {heading}");
        }
        let kept = part(page, "What is true on disk now").to_lowercase();
        let unchanged = ["as it was", "as they were", "nothing"].iter().any(|words| kept.contains(words));
        assert!(unchanged || !keeps_all, "{name} keeps everything: {kept}");
        assert!(code.kind() != gallivant_core::Kind::Internal, "{name}");
    }
}

#[test]
fn ex_err_01_the_two_markers_lead_to_their_codes_and_keep_what_the_table_says() {
    let task = TaskRoot::new();
    let marker = dispatch_not_sent_error("no-route", "there is no route");
    task.accepted(1);
    task.settle(1);
    let before = task.ledger();
    let refused = task.submit(dispatch(2), [Answer::Fails(marker)]).error();
    assert_eq!(
        (refused.code(), refused.reason()),
        (Code::ExecutionDispatchRefused, Some("dispatch-refused"))
    );
    let after = task.ledger();
    for kept in ["currentRunId", "allowance", "operations", "executions"] {
        assert_eq!(after[kept], before[kept], "the prior root and its allowance are restored: {kept}");
    }
    assert_eq!(after["dispatchRefusals"][0]["code"], "no-route");

    let task = TaskRoot::new();
    task.accepted(1);
    let faulty = collection_validation_error("checksum", "the archive is not what it says");
    task.due_pass([says(observation(1, "succeeded")), Answer::Fails(faulty)]).ok();
    let checkpoint: serde_json::Value =
        serde_json::from_str(&task.text("run-1/result-application.json")).expect("a checkpoint");
    assert_eq!(
        (checkpoint["status"].as_str(), checkpoint["reason"].as_str()),
        (Some("blocked"), Some("result-collection-validation"))
    );
    let run = task.run(1);
    assert_eq!((&run["terminalState"], &run["resultRejected"]), (&"succeeded".into(), &true.into()));
    // The same session may go on for a correction.
    assert_eq!(
        task.continue_run(dispatch(2), [Answer::Says(acknowledgement(2))]).ok()["acceptance"],
        "accepted"
    );
}
