//! One path of a manifest: its canonical form, and what no path may be (EX-ART-05 to EX-ART-09, 68, 69). Pure.

use std::borrow::Cow;

use super::detail::Detail;
use super::fold::fold;

/// Bytes of a path.
const PATH_BYTES: usize = 4096;
/// Bytes of a component.
const COMPONENT_BYTES: usize = 255;
/// Device names of Windows, but for those that a digit follows.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// The canonical form: without `.` components and repeated separators, spelled as it was.
///
/// # Errors
/// Why the path is none that is ever written.
pub fn canonical(raw: &str) -> Result<Cow<'_, str>, Detail> {
    for (is_wrong, detail) in [
        (raw.is_empty(), Detail::Empty),
        (raw.contains('\0'), Detail::Nul),
        (raw.contains('\\'), Detail::Backslash),
        (raw.starts_with('/'), Detail::Absolute),
        (raw.ends_with('/'), Detail::Separator),
        (raw.len() > PATH_BYTES, Detail::Length),
    ] {
        if is_wrong {
            return Err(detail);
        }
    }
    let mut is_canonical = true;
    for component in raw.split('/') {
        match component {
            "" | "." => is_canonical = false,
            ".." => return Err(Detail::Parent),
            _ if component.len() > COMPONENT_BYTES => return Err(Detail::Length),
            _ if is_git(component) => return Err(Detail::Git),
            _ => {}
        }
    }
    if is_canonical {
        return Ok(Cow::Borrowed(raw));
    }
    let kept: Vec<&str> = components(raw).collect();
    if kept.is_empty() { Err(Detail::Empty) } else { Ok(Cow::Owned(kept.join("/"))) }
}

/// Whether some system would write a component of this raw path as another name (EX-ART-68).
#[must_use]
pub fn is_rewritten_somewhere(raw: &str) -> bool {
    components(raw)
        .any(|component| component.ends_with(['.', ' ']) || component.contains(':') || is_device(component))
}

fn components(raw: &str) -> impl Iterator<Item = &str> {
    raw.split('/').filter(|component| !matches!(*component, "" | "."))
}

fn is_device(component: &str) -> bool {
    let stem = fold(component.split('.').next().unwrap_or_default());
    let numbered = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    DEVICES.contains(&stem.as_str()) || matches!(numbered.map(str::as_bytes), Some([b'1'..=b'9']))
}

/// Whether a component is `.git` to Git itself, to HFS+ or to NTFS (EX-ART-08, EX-ART-69).
fn is_git(component: &str) -> bool {
    // HFS+ leaves these out when it compares names; NTFS ends the name at a colon, and drops dots and spaces at its end.
    let is_left_out = |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let left: String = component.chars().filter(|c| !is_left_out(*c)).collect();
    let left = left.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    let folded = fold(left);
    folded == ".git" || folded == "git~1"
}
