//! The scripted points at which a test crashes, fails or pauses (EX-SEA-04, EX-SEA-05).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gallivant_core::execution::{FaultAnswer, Faults};
use gallivant_core::json::Value;

use crate::desk::Desk;

/// How the program ends at a crash (EX-SEA-13).
const CRASHED: i32 = 86;

#[derive(Debug)]
pub(crate) struct Script {
    rules: Vec<Rule>,
    hits: Mutex<HashMap<String, u64>>,
    desk: Arc<Desk>,
}

#[derive(Debug)]
struct Rule {
    point: String,
    nth: u64,
    action: Action,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Crash,
    Fail,
    Pause,
}

impl Script {
    /// The script of an `open`; none where it is no list of `{point, nth, action}`.
    pub(crate) fn read(faults: Option<&Value>, desk: &Arc<Desk>) -> Option<Script> {
        let rule = |fault: &Value| {
            let action = match fault.get("action")?.as_str()? {
                "crash" => Action::Crash,
                "fail" => Action::Fail,
                "pause" => Action::Pause,
                _ => return None,
            };
            let nth = fault.get("nth").map_or(Some(1), |nth| nth.as_number()?.as_u64())?;
            Some(Rule { point: fault.get("point")?.as_str()?.to_owned(), nth, action })
        };
        let list = match faults {
            None | Some(Value::Null) => &[],
            Some(list) => list.as_array()?,
        };
        let rules = list.iter().map(rule).collect::<Option<Vec<_>>>()?;
        Some(Script { rules, hits: Mutex::default(), desk: Arc::clone(desk) })
    }
}

impl Faults for Script {
    fn at(&self, point: &str) -> FaultAnswer {
        let hit = {
            let mut hits = self.hits.lock().unwrap_or_else(PoisonError::into_inner);
            let hit = hits.entry(point.to_owned()).or_default();
            *hit += 1;
            *hit
        };
        let rule = self.rules.iter().find(|rule| rule.point == point && rule.nth == hit);
        match rule.map(|rule| rule.action) {
            // SAFETY: it ends the process at once and runs nothing of it any more.
            Some(Action::Crash) => unsafe { libc::_exit(CRASHED) },
            Some(Action::Fail) => return FaultAnswer::Fail,
            Some(Action::Pause) => self.desk.pause(point),
            None => {}
        }
        FaultAnswer::Go
    }
}
