//! What Git sees in the sandbox: a directory with exactly the objects of one commit and a rebuilt index, and nothing else
//! (EX-VER-33 to EX-VER-36).
//!
//! The objects are the commit, its trees and its blobs. They are listed, counted and weighed before one is copied, and travel
//! as one stream from `git pack-objects` into a file: a copy of the bytes that the repository has, which `git index-pack` checks
//! against their names. There is no configuration, hook, remote, reference, reflog or alternate, and no ancestor: the file
//! `shallow` tells Git that history begins here. The real Git directory is not needed for it afterwards.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::profile::create;
use super::running::{CommandHost, End, Invocation, Stop};
use crate::artifacts::git::{SETTINGS, VARIABLES};
use crate::error::{Code, Error};
use crate::host::Host;

/// The longest entry of a listing: a path and what stands before it.
const MAX_ENTRY_BYTES: usize = 65_536;
/// What is asked of each object before it is copied.
const WEIGH: &str = "--batch-check=%(objecttype) %(objectsize)";

/// How large a view may become (EX-VER-36).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewLimits {
    /// Objects: the commit, trees and blobs.
    pub objects: usize,
    /// Bytes of all objects together, unpacked.
    pub bytes: u64,
    /// Milliseconds for the whole of it.
    pub ms: u64,
}

impl Default for ViewLimits {
    fn default() -> Self {
        ViewLimits { objects: 200_000, bytes: 536_870_912, ms: 60_000 }
    }
}

/// Why there is no view.
#[derive(Debug)]
pub enum NoView {
    /// A bound, or a repository of a form that a view cannot have. It stays so.
    Refused(String),
    /// The data could not be read now. It is retryable (EX-ART-47).
    Failed(Error),
    /// The caller's stop fired.
    Stopped,
}

/// A view that was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// How many objects it has.
    pub objects: usize,
    /// How many bytes they have, unpacked.
    pub bytes: u64,
}

/// Builds the view of a commit at a path where nothing stands, from the repository of a checkout. What a failure leaves there is
/// removed with the profile that holds it.
///
/// # Errors
/// See [`NoView`].
pub fn build(
    at: &Path,
    checkout: &Path,
    commit: &str,
    limits: &ViewLimits,
    commands: &dyn CommandHost,
    host: &Host,
    stop: Stop<'_>,
) -> std::result::Result<View, NoView> {
    let is_name = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_name {
        return Err(NoView::Refused("the revision is no name of a SHA-1 commit".to_owned()));
    }
    let until = host.clock.awake() + Duration::from_millis(limits.ms);
    let builder = Builder { at, checkout, commit, limits, commands, host, stop, until };
    builder.skeleton().map_err(|error| failed("view").with_source(error)).map_err(NoView::Failed)?;
    let objects = builder.list()?;
    let list = builder.write_list(&objects)?;
    let bytes = builder.weigh(&list, objects.len())?;
    builder.copy(&list)?;
    builder.query(Side::View, &["read-tree", commit], None, &mut |_| true)?;
    Ok(View { objects: objects.len(), bytes })
}

/// Which repository a command is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Checkout,
    View,
}

struct Builder<'a> {
    at: &'a Path,
    checkout: &'a Path,
    commit: &'a str,
    limits: &'a ViewLimits,
    commands: &'a dyn CommandHost,
    host: &'a Host,
    stop: Stop<'a>,
    until: Duration,
}

impl Builder<'_> {
    /// The directory as Git wants to find one.
    fn skeleton(&self) -> io::Result<()> {
        for directory in ["", "objects", "objects/pack", "refs"] {
            DirBuilder::new().mode(0o700).create(self.at.join(directory))?;
        }
        create(&self.at.join("HEAD"), format!("{}\n", self.commit).as_bytes())?;
        create(&self.at.join("shallow"), format!("{}\n", self.commit).as_bytes())?;
        Ok(())
    }

    /// The names of the commit, its trees and its blobs, each once.
    fn list(&self) -> std::result::Result<HashSet<[u8; 40]>, NoView> {
        let mut objects = HashSet::new();
        let mut refusal = None;
        let root = format!("{}^{{tree}}", self.commit);
        let mut names = Vec::new();
        self.query(
            Side::Checkout,
            &["rev-parse", "--verify", "--end-of-options", &root],
            None,
            &mut |piece| {
                names.extend_from_slice(piece);
                names.len() <= MAX_ENTRY_BYTES
            },
        )?;
        for name in [self.commit.as_bytes(), names.trim_ascii_end()] {
            objects.insert(object_name(name).ok_or_else(|| NoView::Failed(failed("rev-parse")))?);
        }
        let mut rest = Vec::new();
        let mut take = |entry: &[u8]| {
            // `<mode> <type> <name>`, a tab, and the path.
            let mut words = entry.split(|byte| matches!(byte, b' ' | b'\t'));
            let (_, kind, name) = (words.next(), words.next(), words.next());
            if kind == Some(b"commit") {
                return true;
            }
            match name.and_then(object_name) {
                Some(name) => objects.insert(name),
                None => return refuse(&mut refusal, NoView::Failed(failed("ls-tree"))),
            };
            objects.len() <= self.limits.objects || {
                let message = format!("the commit has too many objects, limit=`{}`", self.limits.objects);
                refuse(&mut refusal, NoView::Refused(message))
            }
        };
        let args = ["ls-tree", "-r", "-t", "-z", "--full-tree", self.commit];
        let listed = self.query(Side::Checkout, &args, None, &mut |piece| {
            let mut piece = piece;
            while let Some(end) = memchr::memchr(0, piece) {
                rest.extend_from_slice(&piece[..end]);
                piece = &piece[end + 1..];
                let goes_on = take(&rest);
                rest.clear();
                if !goes_on {
                    return false;
                }
            }
            rest.extend_from_slice(piece);
            rest.len() <= MAX_ENTRY_BYTES
        });
        match refusal {
            Some(refusal) => Err(refusal),
            None => listed.map(|()| objects),
        }
    }

    fn write_list(&self, objects: &HashSet<[u8; 40]>) -> std::result::Result<PathBuf, NoView> {
        let mut text = Vec::with_capacity(41 * objects.len());
        for name in objects {
            text.extend_from_slice(name);
            text.push(b'\n');
        }
        // Beside the view and not in it.
        let path = self.at.with_extension("objects");
        create(&path, &text).map_err(|error| NoView::Failed(failed("list").with_source(error))).map(|_| path)
    }

    /// The bytes of all objects together. Each one has to be there.
    fn weigh(&self, list: &Path, count: usize) -> std::result::Result<u64, NoView> {
        let (mut rest, mut bytes, mut seen) = (Vec::new(), 0_u64, 0);
        let mut refusal = None;
        let weighed =
            self.query(Side::Checkout, &["cat-file", WEIGH, "--buffer"], Some(list), &mut |piece| {
                rest.extend_from_slice(piece);
                let Some(end) = memchr::memrchr(b'\n', &rest) else { return rest.len() <= MAX_ENTRY_BYTES };
                for line in rest[..end].split(|byte| *byte == b'\n') {
                    let size = std::str::from_utf8(line).ok().and_then(|line| line.split_once(' '));
                    let size = size.filter(|(kind, _)| ["commit", "tree", "blob"].contains(kind));
                    let Some(size) = size.and_then(|(_, size)| size.parse::<u64>().ok()) else {
                        return refuse(&mut refusal, NoView::Failed(failed("cat-file")));
                    };
                    seen += 1;
                    bytes = bytes.saturating_add(size);
                }
                rest.drain(..=end);
                bytes <= self.limits.bytes || {
                    let message = format!("the commit has too many bytes, limit=`{}`", self.limits.bytes);
                    refuse(&mut refusal, NoView::Refused(message))
                }
            });
        match refusal {
            Some(refusal) => return Err(refusal),
            None => weighed?,
        }
        if seen == count { Ok(bytes) } else { Err(NoView::Failed(failed("cat-file"))) }
    }

    /// Copies the objects as one pack. Nothing is compared with each other for it; what is packed already is copied as it is.
    fn copy(&self, list: &Path) -> std::result::Result<(), NoView> {
        let path = self.at.join("objects/pack/pack-view.pack");
        let fail = |error: io::Error| NoView::Failed(failed("pack-objects").with_source(error));
        let mut file = create(&path, b"").map_err(fail)?;
        let (mut failure, mut written) = (None, 0_u64);
        // A pack of objects that cannot be compressed is somewhat longer than they are.
        let most = self.limits.bytes + self.limits.bytes / 64 + 1_048_576;
        let args = ["pack-objects", "--stdout", "-q", "--window=0", "--threads=1"];
        let packed = self.query(Side::Checkout, &args, Some(list), &mut |piece| {
            written += piece.len() as u64;
            if let Err(error) = file.write_all(piece) {
                failure = Some(error);
            }
            failure.is_none() && written <= most
        });
        if let Some(error) = failure {
            return Err(fail(error));
        }
        packed?;
        drop(file);
        let text = path.to_str().ok_or_else(|| fail(io::ErrorKind::InvalidInput.into()))?;
        self.query(Side::View, &["index-pack", text], None, &mut |_| true)
    }

    /// Runs one query; its output goes to `take`, whose `false` ends it.
    fn query(
        &self,
        side: Side,
        args: &[&str],
        input: Option<&Path>,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> std::result::Result<(), NoView> {
        let left = self.until.saturating_sub(self.host.clock.awake());
        let invocation = Invocation {
            program: "git".into(),
            arguments: SETTINGS
                .iter()
                .chain(&["pack.compression=1"])
                .flat_map(|setting| ["-c", setting])
                .chain(args.iter().copied())
                .map(OsString::from)
                .collect(),
            environment: self.environment(side),
            directory: "/".into(),
            input: input.map(Path::to_owned),
            limit_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            report_option: None,
            merges_errors: false,
        };
        let query = args[0];
        match self.commands.run(&invocation, take, self.stop) {
            Ok(End::Exited(0)) => Ok(()),
            Ok(End::Stopped) if (self.stop)() || self.host.clock.is_cancelled() => Err(NoView::Stopped),
            Ok(End::TimedOut) => {
                let message = format!("the commit cannot be read in time, ms=`{}`", self.limits.ms);
                Err(NoView::Refused(message))
            }
            Ok(_) => Err(NoView::Failed(failed(query))),
            Err(error) => Err(NoView::Failed(failed(query).with_source(error))),
        }
    }

    fn environment(&self, side: Side) -> Vec<(OsString, OsString)> {
        let mut out: Vec<(OsString, OsString)> =
            VARIABLES.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        match side {
            Side::Checkout => {
                out.push(("GIT_DIR".into(), self.checkout.join(".git").into()));
                out.push(("GIT_WORK_TREE".into(), self.checkout.into()));
            }
            Side::View => {
                out.push(("GIT_DIR".into(), self.at.into()));
                out.push(("GIT_WORK_TREE".into(), self.checkout.into()));
                out.push(("GIT_INDEX_FILE".into(), self.at.join("index").into()));
            }
        }
        out
    }
}

fn object_name(text: &[u8]) -> Option<[u8; 40]> {
    let is_hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    <[u8; 40]>::try_from(text).ok().filter(|name| name.iter().all(is_hex))
}

fn refuse(place: &mut Option<NoView>, refusal: NoView) -> bool {
    *place = Some(refusal);
    false
}

fn failed(query: &str) -> Error {
    Error::new(Code::ExecutionIo, format!("the data of the commit cannot be read, query=`{query}`"))
        .with_reason("tree")
}
