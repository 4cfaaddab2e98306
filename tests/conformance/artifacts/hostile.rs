//! Generated names, against what systems do with them: a plain model, which is not made like the library.

use gallivant_core::artifacts::Detail;
use gallivant_core::artifacts::path::{canonical, is_rewritten_somewhere};
use gallivant_core::random::Random;
use gallivant_core::testing::SeededRandom;

use super::{create, tracked, validate};

const NAMES: usize = 30_000;

/// What names are put together from.
const PIECES: [&str; 46] = [
    ".git",
    ".GIT",
    ".gIt",
    "git~1",
    "GIT~1",
    ".gi",
    "t",
    "git",
    "~1",
    ".",
    "..",
    "...",
    "/",
    "//",
    "/./",
    "/../",
    "\\",
    ":",
    " ",
    "\0",
    "\n",
    "\u{1}",
    "con",
    "CON",
    "aux",
    "nul",
    "NUL",
    "com1",
    "COM9",
    "com0",
    "lpt3",
    "conin$",
    "CONOUT$",
    ".txt",
    "a",
    "B",
    "ß",
    "é",
    "e\u{301}",
    "\u{200c}",
    "\u{200f}",
    "\u{202a}",
    "\u{206f}",
    "\u{feff}",
    "\u{1f600}",
    "ſ",
];

fn generated(random: &SeededRandom) -> String {
    let mut name = String::new();
    for _ in 0..=random.below(5) {
        name.push_str(PIECES[random.below(PIECES.len() as u64) as usize]);
    }
    if random.below(200) == 0 {
        name.push_str(&"x".repeat(240 + random.below(30) as usize));
    }
    name
}

/// What HFS+ makes of a component: without the characters that it leaves out.
fn on_hfs(component: &str) -> String {
    let left_out = "\u{200c}\u{200d}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{206a}\u{206b}\u{206c}\u{206d}\u{206e}\u{206f}\u{feff}";
    component.chars().filter(|c| !left_out.contains(*c)).collect()
}

/// What NTFS makes of it: until a colon, without dots and spaces at the end.
fn on_ntfs(component: &str) -> String {
    let mut name: String = component.chars().take_while(|c| *c != ':').collect();
    while name.ends_with('.') || name.ends_with(' ') {
        name.pop();
    }
    name
}

fn is_git(component: &str) -> bool {
    // The only letters that fold into these are ASCII: neither ſ nor the Kelvin sign is in the word.
    [on_hfs(component), on_ntfs(component), on_ntfs(&on_hfs(component))]
        .iter()
        .any(|name| [".git", "git~1"].contains(&name.to_ascii_lowercase().as_str()))
}

fn is_device(component: &str) -> bool {
    let stem: String = component.chars().take_while(|c| *c != '.').collect();
    let stem = stem.replace('ſ', "s").to_ascii_uppercase();
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(&stem.as_str())
        || (1..=9).any(|digit| stem == format!("COM{digit}") || stem == format!("LPT{digit}"))
}

/// What a path must be to be created: every component stands for itself, everywhere.
fn may_be_created(raw: &str) -> bool {
    let components: Vec<&str> =
        raw.split('/').filter(|component| !component.is_empty() && *component != ".").collect();
    !components.is_empty()
        && !raw.starts_with('/')
        && !raw.ends_with('/')
        && !raw.contains(['\0', '\\'])
        && raw.len() <= 4096
        && components.iter().all(|component| {
            *component != ".."
                && component.len() <= 255
                && !is_git(component)
                && on_ntfs(component) == *component
                && !is_device(component)
        })
}

#[test]
fn ex_art_07_ex_art_68_ex_art_69_ten_thousand_hostile_names_are_judged_as_systems_would() {
    let random = SeededRandom::from_machine();
    println!("GALLIVANT_SEED={}", random.seed());
    let (mut accepted, mut refused, mut distinct) = (0, 0, std::collections::HashSet::new());
    while distinct.len() < NAMES {
        let name = generated(&random);
        if !distinct.insert(name.clone()) {
            continue;
        }
        let is_accepted = canonical(&name).is_ok() && !is_rewritten_somewhere(&name);
        assert_eq!(is_accepted, may_be_created(&name), "{name:?}: {:?}", canonical(&name));
        if is_accepted {
            accepted += 1
        } else {
            refused += 1
        }
        let validated = validate(&[create(&name)], &tracked(&[]));
        assert_eq!(validated.is_ok(), is_accepted, "{name:?}");
        match validated {
            Ok(manifest) => {
                let path = std::path::Path::new(manifest.entries()[0].path());
                let is_below =
                    path.components().all(|component| matches!(component, std::path::Component::Normal(_)));
                assert!(is_below, "{name:?}");
            }
            // Whatever is refused has an answer that does not repeat it.
            Err(error) => {
                assert!(name.len() < 8 || !error.to_string().contains(&name), "{name:?}: {error}");
            }
        }
    }
    assert!(accepted > 2_000 && refused > 10_000, "{accepted} accepted, {refused} refused");
}

#[test]
fn ex_art_07_any_bytes_at_all_have_an_answer() {
    let random = SeededRandom::from_machine();
    println!("GALLIVANT_SEED={}", random.seed());
    for _ in 0..20_000 {
        let length = random.below(12) as usize;
        let bytes: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
        let name = String::from_utf8_lossy(&bytes);
        match canonical(&name) {
            Ok(path) => {
                assert_eq!(canonical(&path).as_deref(), Ok(&*path), "{name:?} is canonical once and for all")
            }
            Err(detail) => assert_ne!(detail, Detail::Shape),
        }
    }
}
