//! Recognised credentials (EX-RED-14): what each looks like, and the anchor with which it begins.
//!
//! An anchor is a fixed text that the automaton finds together with the secrets. From there one of the small `machines`
//! decides within a fixed number of bytes whether it is a credential; once it is, everything to its end is covered,
//! however long.
//!
//! | credential | anchor | decided | covered |
//! | --- | --- | --- | --- |
//! | key | `sk-`, not within a word | 20 of `A-Za-z0-9_-` | with the anchor, all of these |
//! | token of GitHub | `ghp_` `gho_` `ghu_` `ghs_` `ghr_` `github_pat_` | 10 of `A-Za-z0-9_` | likewise |
//! | token of Slack | `xoxa-` to `xoxz-` | 8 of `A-Za-z0-9-` | likewise |
//! | key id of AWS | `AKIA` `ASIA` | 16 of `A-Z0-9` | likewise |
//! | key of Google | `AIza` | 20 of `A-Za-z0-9_-` | likewise |
//! | token of GitLab | `glpat-` | 10 of `A-Za-z0-9_-` | likewise |
//! | JSON Web Token | `eyJ` | 8 to 2,047 of `A-Za-z0-9_-`, a dot, 4 of these or dots; 2,048 without a dot are one too | with the anchor, all of these and dots |
//! | `Bearer` | `Bearer` `bearer` `BEARER`, then 1 to 16 of space, tab, quote, `\`, `:`, `=` | one byte of a value | `A-Za-z0-9._~+/=-`, `%`, `:`, `\|` |
//! | `Authorization` | in the same three cases; then likewise, `>` too, one of them `:` or `=` | one byte of a value | to the end of the line, or to a quote or `\`; with parameters (`Digest`, `OAuth`, `Hawk`, `Signature`) to the end of the line |
//! | user-info of a URL | `://`, also as `:\/\/` | `@` | before the last `@` that comes within 2,048 bytes and before white space, a quote, or one of `/ ? # [ ] < > \ ^ { \| }`; 2,048 without are it too |
//! | PEM private key | `-----BEGIN `, label, `PRIVATE KEY-----` or `PRIVATE KEY BLOCK-----` | within 512 bytes: its END line, or 40 of `A-Za-z0-9+/=`, or the end of the text | to its END line, at most 65,536 bytes after the last BEGIN line |
//!
//! The lengths are ours: short enough for every real credential, long enough for prose and code. A mark ends whatever
//! runs into it. Where two machines of one kind could overlap, the earlier one covers the later one, but for `Bearer` and
//! `Authorization`, of which two may be at work.

/// Whether recognised credentials are covered besides the secrets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Patterns {
    /// They are (EX-RED-02).
    #[default]
    Recognised,
    /// Only the secrets are.
    Off,
}

/// What begins where an anchor was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Run(Run),
    Token,
    Bearer,
    Authorization,
    Authority,
    Begin,
    End,
    KeyLine,
}

impl Anchor {
    /// Whether it counts only where no word goes on.
    pub(super) fn needs_border(self) -> bool {
        self == Anchor::Run(Run::Sk)
    }
}

/// A prefix and what may follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    Sk,
    GitHub,
    Slack,
    Aws,
    Google,
    GitLab,
}

impl Run {
    pub(super) fn takes(self, byte: u8) -> bool {
        match self {
            Run::Sk | Run::Google | Run::GitLab => is_base64_url(byte),
            Run::GitHub => byte.is_ascii_alphanumeric() || byte == b'_',
            Run::Slack => byte.is_ascii_alphanumeric() || byte == b'-',
            Run::Aws => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }

    pub(super) fn fewest(self) -> u32 {
        match self {
            Run::Sk | Run::Google => 20,
            Run::Aws => 16,
            Run::GitHub | Run::GitLab => 10,
            Run::Slack => 8,
        }
    }
}

macro_rules! anchors {
    ($($anchor:expr => $($text:literal)+;)+) => {
        /// Every anchor. None is a part of a mark, so none begins in one.
        pub(super) const ANCHORS: &[(&str, Anchor)] = &[$($(($text, $anchor),)+)+];
    };
}

anchors! {
    Anchor::Run(Run::Sk) => "sk-";
    Anchor::Run(Run::GitHub) => "ghp_" "gho_" "ghu_" "ghs_" "ghr_" "github_pat_";
    Anchor::Run(Run::Slack) => "xoxa-" "xoxb-" "xoxc-" "xoxd-" "xoxe-" "xoxf-" "xoxg-" "xoxh-" "xoxi-" "xoxj-" "xoxk-"
        "xoxl-" "xoxm-" "xoxn-" "xoxo-" "xoxp-" "xoxq-" "xoxr-" "xoxs-" "xoxt-" "xoxu-" "xoxv-" "xoxw-" "xoxx-" "xoxy-"
        "xoxz-";
    Anchor::Run(Run::Aws) => "AKIA" "ASIA";
    Anchor::Run(Run::Google) => "AIza";
    Anchor::Run(Run::GitLab) => "glpat-";
    Anchor::Token => "eyJ";
    Anchor::Bearer => "Bearer" "bearer" "BEARER";
    Anchor::Authorization => "Authorization" "authorization" "AUTHORIZATION";
    Anchor::Authority => "://" r":\/\/";
    Anchor::Begin => "-----BEGIN ";
    Anchor::End => "-----END ";
    Anchor::KeyLine => "PRIVATE KEY-----" "PRIVATE KEY BLOCK-----";
}

pub(super) fn is_base64_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
