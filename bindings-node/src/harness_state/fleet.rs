//! A fleet for JavaScript: every record below a directory in one crossing.

use std::sync::Arc;

use gallivant_core::Result;
use gallivant_core::harness_state::{Fleet, FleetOptions, FleetProbe};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use super::sheet::{LeftOutParts, Sheet, SheetParts};
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
    /// When the first of these answers changes by time alone.
    pub valid_until_ms: Option<BigInt>,
    /// What was not looked at.
    pub left_out: LeftOutParts,
}

/// A fleet. One call at a time reads it; another waits meanwhile.
#[napi]
#[derive(Debug)]
pub struct NativeFleet {
    fleet: Arc<Fleet>,
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
            Ok(NativeFleet { fleet: Arc::new(fleet) })
        })
    }

    /// Every record, and what may be concluded from each now.
    #[napi(catch_unwind)]
    pub fn read_async(&self, lease: bool, wait: &NativeWait) -> Promised<FleetParts> {
        let fleet = Arc::clone(&self.fleet);
        promise(wait, Patience::Unlimited, move || read(&fleet, lease))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn read_sync(&self, lease: bool) -> Answer<FleetParts> {
        Answer::of(|| read(&self.fleet, lease))
    }

    /// Forgets what was found.
    #[napi(catch_unwind)]
    pub fn forget(&self) -> Answer<bool> {
        Answer::of(|| {
            self.fleet.forget();
            Ok(true)
        })
    }
}

fn read(fleet: &Fleet, lease: bool) -> Result<FleetParts> {
    let mut sheet = Sheet::default();
    let summary = fleet.for_each(fleet_probe(lease), |entry| sheet.push(entry.path, Some(entry.derived)));
    Ok(FleetParts {
        entries: sheet.into(),
        valid_until_ms: summary.valid_until_ms.map(BigInt::from),
        left_out: summary.left_out.into(),
    })
}

pub(super) fn fleet_probe(lease: bool) -> FleetProbe {
    if lease { FleetProbe::Lease } else { FleetProbe::None }
}
