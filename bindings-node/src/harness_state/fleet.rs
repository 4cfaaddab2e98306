//! A fleet for JavaScript: every record below a directory in one crossing.

use std::sync::{Arc, Mutex, PoisonError};

use gallivant_core::harness_state::{
    EntryRef, Fleet, FleetOptions, FleetProbe, FleetSheet, FleetSummary, Options, gather_fleet,
};
use gallivant_core::{Host, Result};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use super::sheet::{LeftOutParts, Sheet, SheetParts, ToldTexts};
use crate::answer::Answer;
use crate::host::NativeHost;
use crate::job::{Promised, promise};
use crate::options::{OptionParts, options};
use crate::waiting::{NativeWait, Patience};

/// How far a fleet is looked for; what is left out has the core's default.
#[napi(object, object_to_js = false)]
#[derive(Clone, Copy, Debug, Default)]
pub struct BoundParts {
    /// See the core's `FleetOptions`.
    pub max_depth: Option<u32>,
    /// See the core's `FleetOptions`.
    pub max_records: Option<u32>,
    /// See the core's `FleetOptions`.
    pub max_directories: Option<u32>,
    /// See the core's `FleetOptions`.
    pub threads: Option<u32>,
}

impl From<BoundParts> for FleetOptions {
    fn from(parts: BoundParts) -> Self {
        let defaults = FleetOptions::default();
        let count = |given: Option<u32>| given.and_then(|given| usize::try_from(given).ok());
        FleetOptions {
            max_depth: parts.max_depth.unwrap_or(defaults.max_depth),
            max_records: count(parts.max_records).unwrap_or(defaults.max_records),
            max_directories: count(parts.max_directories).unwrap_or(defaults.max_directories),
            threads: count(parts.threads).unwrap_or(defaults.threads),
        }
    }
}

/// Every record of a fleet.
#[napi(object, object_from_js = false, use_nullable = true)]
pub struct FleetParts {
    /// The records.
    pub entries: SheetParts,
    /// Which texts these are, for the next read of the same fleet.
    pub texts_number: u32,
    /// When the first of these answers changes by time alone.
    pub valid_until_ms: Option<BigInt>,
    /// What was not looked at.
    pub left_out: LeftOutParts,
}

/// A fleet. One call at a time reads it; another waits meanwhile.
#[napi]
#[derive(Debug)]
pub struct NativeFleet {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    fleet: Fleet,
    told: Mutex<ToldTexts>,
}

#[napi]
impl NativeFleet {
    /// Opens a fleet. Touches no file.
    #[napi(catch_unwind)]
    pub fn open(
        host: &NativeHost,
        root: String,
        bounds: BoundParts,
        set: OptionParts,
    ) -> Answer<NativeFleet> {
        Answer::of(|| {
            let fleet = Fleet::open(root, &bounds.into(), &options(&set)?, &host.host)?;
            Ok(NativeFleet { shared: Arc::new(Shared { fleet, told: Mutex::default() }) })
        })
    }

    /// Every record, and what may be concluded from each now. `known` is the number of the texts that JavaScript has.
    #[napi(catch_unwind)]
    pub fn read_async(&self, lease: bool, known: u32, wait: &NativeWait) -> Promised<FleetParts> {
        let shared = Arc::clone(&self.shared);
        promise(wait, Patience::Unlimited, move || Ok(shared.read(lease, known)))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn read_sync(&self, lease: bool, known: u32) -> Answer<FleetParts> {
        Answer::of(|| Ok(self.shared.read(lease, known)))
    }

    /// Forgets what was found.
    #[napi(catch_unwind)]
    pub fn forget(&self) -> Answer<bool> {
        Answer::of(|| {
            self.shared.fleet.forget();
            Ok(true)
        })
    }
}

/// Every record below a directory, read once; nothing is kept.
#[napi(catch_unwind)]
pub fn read_fleet_async(
    host: &NativeHost,
    root: String,
    bounds: BoundParts,
    set: OptionParts,
    lease: bool,
    wait: &NativeWait,
) -> Promised<FleetParts> {
    let (host, options) = (host.host.clone(), options(&set));
    promise(wait, Patience::Unlimited, move || gather(&host, &root, &bounds.into(), &options?, lease))
}

/// The same on the calling thread.
#[napi(catch_unwind)]
pub fn read_fleet_sync(
    host: &NativeHost,
    root: String,
    bounds: BoundParts,
    set: OptionParts,
    lease: bool,
) -> Answer<FleetParts> {
    Answer::of(|| gather(&host.host, &root, &bounds.into(), &options(&set)?, lease))
}

impl Shared {
    fn read(&self, lease: bool, known: u32) -> FleetParts {
        let mut sheet = Sheet::default();
        let summary =
            self.fleet.for_each(fleet_probe(lease), |entry| sheet.push(entry.path, Some(entry.derived)));
        let mut parts = parts(sheet, summary);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        parts.texts_number = told.tell(&mut parts.entries, known);
        parts
    }
}

fn gather(
    host: &Host,
    root: &str,
    bounds: &FleetOptions,
    options: &Options,
    lease: bool,
) -> Result<FleetParts> {
    let mut sheet = Sheet::default();
    let add = |part: &mut FleetSheet, entry: EntryRef<'_>| part.push(&entry);
    let summary = gather_fleet(root, bounds, fleet_probe(lease), options, host, add, |part| {
        part.iter().for_each(|(path, derived)| sheet.push(path, Some(derived)));
    })?;
    Ok(parts(sheet, summary))
}

fn parts(sheet: Sheet, summary: FleetSummary) -> FleetParts {
    FleetParts {
        entries: sheet.into(),
        texts_number: 0,
        valid_until_ms: summary.valid_until_ms.map(BigInt::from),
        left_out: summary.left_out.into(),
    }
}

pub(super) fn fleet_probe(lease: bool) -> FleetProbe {
    if lease { FleetProbe::Lease } else { FleetProbe::None }
}
