//! The execution layer's fault points by a script: which hit of which point does what (EX-SEA-04, EX-SEA-05).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::error::{Code, Error, Result};
use crate::execution::{FaultAnswer, Faults};
use crate::json::Value;

/// What a script wants at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAction {
    /// The process ends here, at once and without any clean-up.
    Crash,
    /// The write reports an I/O error.
    Fail,
    /// The call waits here until it is told to go on.
    Pause,
}

/// Fault points that do what a script says. Whoever runs the library crashes and pauses; this counts, and fails.
pub struct FaultPoints {
    rules: Vec<Rule>,
    hits: Mutex<HashMap<String, u64>>,
    act: Act,
}

type Act = Box<dyn Fn(&str, FaultAction) + Send + Sync>;

#[derive(Debug)]
struct Rule {
    point: String,
    nth: u64,
    action: FaultAction,
}

impl FaultPoints {
    /// Reads a script: a JSON array of `{point, nth, action}`. `nth` counts the hits of the point from 1, which it is where it
    /// is left out; `action` is `crash`, `fail` or `pause`.
    ///
    /// `act` is called at a crash, which must not come back, and at a pause, which comes back when the call is to go on. It is
    /// called on the thread that runs the boundary's call.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` where the text is no such list.
    pub fn parse(json: &str, act: impl Fn(&str, FaultAction) + Send + Sync + 'static) -> Result<Self> {
        let wrong = || Error::new(Code::Input, "the fault points are no list of points, numbers and actions");
        let list = Value::parse(json).map_err(|_| wrong())?;
        let rules = list.as_array().ok_or_else(wrong)?.iter().map(rule).collect::<Option<_>>();
        Ok(FaultPoints { rules: rules.ok_or_else(wrong)?, hits: Mutex::default(), act: Box::new(act) })
    }
}

fn rule(fault: &Value) -> Option<Rule> {
    let action = match fault.get("action")?.as_str()? {
        "crash" => FaultAction::Crash,
        "fail" => FaultAction::Fail,
        "pause" => FaultAction::Pause,
        _ => return None,
    };
    let nth = fault.get("nth").map_or(Some(1), |nth| nth.as_number()?.as_u64())?;
    Some(Rule { point: fault.get("point")?.as_str()?.to_owned(), nth, action })
}

impl Faults for FaultPoints {
    fn at(&self, point: &str) -> FaultAnswer {
        let hit = {
            let mut hits = self.hits.lock().unwrap_or_else(PoisonError::into_inner);
            let hit = hits.entry(point.to_owned()).or_default();
            *hit += 1;
            *hit
        };
        let rule = self.rules.iter().find(|rule| rule.point == point && rule.nth == hit);
        match rule.map(|rule| rule.action) {
            Some(FaultAction::Fail) => return FaultAnswer::Fail,
            Some(action) => (self.act)(point, action),
            None => {}
        }
        FaultAnswer::Go
    }
}

impl fmt::Debug for FaultPoints {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("FaultPoints").field("rules", &self.rules).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn each_rule_acts_at_its_hit_and_at_no_other() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script = r#"[{"point":"a","nth":2,"action":"fail"},{"point":"b","action":"pause"},
                         {"point":"b","nth":3,"action":"crash"}]"#;
        let told = Arc::clone(&seen);
        let act = move |point: &str, action| told.lock().expect("whole").push((point.to_owned(), action));
        let points = FaultPoints::parse(script, act).expect("a script");
        let answers: Vec<_> = ["a", "a", "a", "b", "b", "b", "c"].map(|point| points.at(point)).into();
        assert_eq!(answers.iter().filter(|answer| **answer == FaultAnswer::Fail).count(), 1);
        assert_eq!(answers[1], FaultAnswer::Fail);
        let wanted = [("b".to_owned(), FaultAction::Pause), ("b".to_owned(), FaultAction::Crash)];
        assert_eq!(*seen.lock().expect("whole"), wanted);
    }

    #[test]
    fn what_is_no_script_is_refused() {
        for script in [
            "",
            "{}",
            "[1]",
            r#"[{"point":"a"}]"#,
            r#"[{"point":"a","action":"stop"}]"#,
            r#"[{"action":"fail"}]"#,
        ] {
            let error = FaultPoints::parse(script, |_, _| {}).expect_err(script);
            assert_eq!(error.code(), Code::Input, "{script}");
        }
    }
}
