//! What is wrong with what the check of a transport has seen of a method. Every reply is judged by the code by which a pass judges
//! it; what is added here is what only the provider's end shows: jobs, requests, handles, and the effects of a stop.

use super::check_steps::{CheckSteps, MOST_LOOKS, Stage, Turn};
use super::check_subject::{Ending, Finding, Seen};
use crate::error::Error;
use crate::execution::contract::{Acknowledgement, ErrorKind, Method, Prepared, Reply, TransportError};
use crate::execution::cost;
use crate::execution::observation::{Observation, Recorded};
use crate::execution::result;
use crate::execution::states::{ProviderState, TerminalState};

impl CheckSteps<'_> {
    /// Judges what was seen of the method that was asked last.
    pub fn saw(&mut self, seen: &Seen) {
        let stage = self.stage;
        let Some(method) = stage.method() else { return };
        self.judge_counts(method, seen);
        let text = match &seen.ending {
            Ending::Reply(text) => Some(text.as_str()),
            Ending::Failed(error) => {
                self.judge_failure(method, error);
                None
            }
            Ending::Late => {
                self.found("EX-TRA-03", method, "it does not end in its time".to_owned());
                None
            }
        };
        match stage {
            Stage::Prepare => self.judge_prepared(text),
            Stage::Submit | Stage::SubmitEnding => self.judge_submitted(text, seen),
            Stage::Continue => self.judge_continued(text, seen),
            Stage::Inspect | Stage::InspectStopped | Stage::InspectEnding | Stage::InspectContinued => {
                self.judge_observed(Method::Inspect, text, seen.ended_at_ms);
            }
            Stage::Lookup => self.judge_observed(Method::Lookup, text, seen.ended_at_ms),
            Stage::LookupUnknown => self.judge_unknown(text),
            Stage::Collect | Stage::CollectEnded => self.judge_collected(text, seen.ended_at_ms),
            Stage::Cancel | Stage::CancelAgain | Stage::CancelContinued => self.judge_cancelled(text, seen),
            Stage::Over => {}
        }
        if stage == Stage::InspectStopped {
            self.judge_stops();
        }
        if !self.is_asked_again(text) {
            self.looks = 0;
            self.stage = stage.next();
        }
    }

    /// What is to be said of a stage in which nothing was asked.
    pub(super) fn skipped(&mut self) {
        match self.stage {
            Stage::Cancel if self.subject.cancel => {
                if let Some(end) = self.stopped.as_ref().and_then(Turn::end) {
                    self.ended_too_soon(end);
                }
            }
            Stage::InspectStopped => self.judge_stops(),
            Stage::Continue
                if self.subject.continuation
                    && self.previous().is_some_and(|turn| turn.session.is_none()) =>
            {
                let seen = "no reply has named a session, so that no turn can go on, member=`sessionId`";
                self.found("EX-LED-56", Method::Continue, seen.to_owned());
            }
            _ => {}
        }
    }

    /// A finding is told once, however often it is seen.
    fn found(&mut self, clause: &'static str, method: Method, seen: String) {
        let finding = Finding { clause, method, seen };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    fn refused(&mut self, clause: &'static str, method: Method, error: &Error) {
        let reason = error.reason().unwrap_or("shape");
        self.found(clause, method, format!("a pass would refuse it, reason=`{reason}`: {}", error.message()));
    }

    /// Whether the turn that ends by itself has not got so far yet.
    fn is_asked_again(&mut self, text: Option<&str>) -> bool {
        let is_open = match self.stage {
            Stage::InspectEnding => self.ended.as_ref().is_some_and(|turn| turn.end().is_none()),
            Stage::CollectEnded => text == Some("null"),
            _ => return false,
        };
        if !is_open || text.is_none() {
            return false;
        }
        self.looks += 1;
        if self.looks < MOST_LOOKS {
            return true;
        }
        if self.stage == Stage::InspectEnding {
            let seen = "the job of endingPrompt has not ended in ten seconds: its result was not asked for";
            self.found("EX-OBS-02", Method::Inspect, seen.to_owned());
        } else {
            let seen = "there is no result ten seconds after the turn has ended";
            self.found("EX-TRA-18", Method::Collect, seen.to_owned());
        }
        false
    }

    fn judge_counts(&mut self, method: Method, seen: &Seen) {
        let further = seen.quiet.requests.saturating_sub(seen.after.requests);
        if further > 0 {
            self.found("EX-TRA-07", method, format!("it goes on asking by itself, requests=`{further}`"));
        }
        let left = seen.quiet.open_handles.saturating_sub(seen.before.open_handles);
        if left > 0 {
            self.found("EX-TRA-07", method, format!("it leaves handles open, handles=`{left}`"));
        }
        let made = seen.quiet.jobs.saturating_sub(seen.before.jobs);
        let requests = seen.after.requests.saturating_sub(seen.before.requests);
        match method {
            Method::Prepare if made > 0 => {
                self.found("EX-TRA-13", method, format!("it makes a job, jobs=`{made}`"));
            }
            // One that failed may have made one or none.
            Method::Submit if made > 1 || (made == 0 && matches!(seen.ending, Ending::Reply(_))) => {
                self.found("EX-TRA-07", method, format!("one call makes not one job, jobs=`{made}`"));
            }
            // It makes a turn, which its provider may count as a job or not.
            Method::Continue if made > 1 => {
                self.found("EX-TRA-07", method, format!("one call makes more than one job, jobs=`{made}`"));
            }
            Method::Submit | Method::Continue | Method::Prepare => {}
            _ if made > 0 => self.found("EX-TRA-07", method, format!("it makes a job, jobs=`{made}`")),
            _ => {}
        }
        if method.is_dispatch() && requests > 1 {
            self.found(
                "EX-TRA-07",
                method,
                format!("one call is more than one request, requests=`{requests}`"),
            );
        }
        if method.is_dispatch() && !seen.is_sending && requests + made > 0 {
            let seen = "it sends without having said so before: sending() is not called";
            self.found("EX-TRA-29", method, seen.to_owned());
        }
    }

    fn judge_failure(&mut self, method: Method, error: &TransportError) {
        // Of a turn that has not ended nobody but this check asks for the result.
        let is_early = self.stage == Stage::Collect
            && self.stopped.as_ref().is_some_and(|turn| turn.end().is_none())
            && error.kind != ErrorKind::CollectionValidation;
        if is_early {
            return;
        }
        let told = self.redactor.as_ref().map(|redactor| error.told(redactor)).unwrap_or_default();
        let seen = format!("it fails, kind=`{}` {told}", error.kind.word());
        self.found("EX-TRA-26", method, seen.trim_end().to_owned());
    }

    fn judge_prepared(&mut self, text: Option<&str>) {
        let Some((text, declared)) = text.zip(self.subject.preparation.as_ref()) else { return };
        if let Err(error) = Prepared::judge(text, declared) {
            self.refused("EX-TRA-12", Method::Prepare, &error);
        }
    }

    fn judge_submitted(&mut self, text: Option<&str>, seen: &Seen) {
        let Some(text) = text else { return };
        match Acknowledgement::judge(text, None).and_then(|owned| self.assert_new(owned)) {
            Ok(owned) => *self.turn() = Some(Turn::new(self.stage, owned, None, seen.asked_at_ms)),
            Err(error) => self.refused("EX-TRA-14", Method::Submit, &error),
        }
    }

    fn judge_continued(&mut self, text: Option<&str>, seen: &Seen) {
        let session = self.previous().and_then(|turn| turn.session.clone());
        let Some(text) = text else { return };
        let judged = Acknowledgement::judge(text, session.as_deref());
        match judged.and_then(|owned| self.assert_new(owned)) {
            Ok(owned) => self.continued = Some(Turn::new(self.stage, owned, session, seen.asked_at_ms)),
            Err(error) => {
                let is_repeated =
                    error.reason() == Some("identity") && Acknowledgement::judge(text, None).is_ok();
                self.refused(if is_repeated { "EX-TRA-17" } else { "EX-TRA-16" }, Method::Continue, &error);
            }
        }
    }

    /// Job and root turn are no earlier operation's.
    fn assert_new(&self, owned: Acknowledgement) -> crate::error::Result<Acknowledgement> {
        let known = [&self.stopped, &self.ended];
        let known = known.into_iter().flatten().map(|turn| &turn.owned);
        owned.assert_new(known.map(|known| (known.provider_job_id.as_str(), known.turn_id.as_str())))?;
        Ok(owned)
    }

    fn judge_observed(&mut self, method: Method, text: Option<&str>, now: u64) {
        let limits = self.subject.limits;
        let Some((text, turn)) = text.zip(self.turn().as_mut()) else { return };
        let recorded = Recorded {
            provider_job_id: Some(&turn.owned.provider_job_id),
            turn_id: Some(&turn.owned.turn_id),
            session_id: turn.session.as_deref(),
            started_at: turn.started_at,
            observed_at: turn.observed_at,
        };
        let clause = if method == Method::Lookup { "EX-TRA-23" } else { "EX-TRA-15" };
        match Observation::receive(method, text, &recorded, &limits, now) {
            Ok(Some(observation)) => {
                let cost = observation.cost.clone();
                turn.take(observation, method);
                if !cost.is_null() && cost::known_cost(None, Some(&cost)).is_none() {
                    let seen = "a cost that is no amount counts as not known, member=`costUsd`";
                    self.found("EX-OBS-22", method, seen.to_owned());
                }
            }
            // It is not found, or not certainly, which a look-up may say and an inspection is refused for.
            Ok(None) => {}
            Err(error) => self.refused(clause, method, &error),
        }
    }

    fn judge_unknown(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        match Reply::receive(Method::Lookup, text, self.subject.limits.result_bytes) {
            Ok(None) => {}
            Ok(Some(_)) => {
                let seen = "it claims a job for a key that nobody has sent";
                self.found("EX-TRA-22", Method::Lookup, seen.to_owned());
            }
            Err(error) => self.refused("EX-TRA-23", Method::Lookup, &error),
        }
    }

    fn judge_collected(&mut self, text: Option<&str>, now: u64) {
        let (subject, is_ended) = (self.subject, self.stage == Stage::CollectEnded);
        let turn = if is_ended { &self.ended } else { &self.stopped };
        let Some((text, turn)) = text.zip(turn.as_ref()) else { return };
        let judged = Reply::receive(Method::Collect, text, subject.limits.result_bytes).and_then(|reply| {
            let Some(reply) = reply else { return Ok(()) };
            let ok = reply.get("outcome").and_then(|outcome| outcome.get("ok")?.as_bool());
            // Whether it is well nobody has observed yet: the result's own word for it stands then.
            let claimed = if ok == Some(false) { TerminalState::Failed } else { TerminalState::Succeeded };
            let owner = result::Owner {
                provider_job_id: Some(&turn.owned.provider_job_id),
                turn_id: Some(&turn.owned.turn_id),
                session_id: turn.session.as_deref(),
                input_head: subject.input_head.as_deref(),
                terminal_state: Some(turn.end().unwrap_or(claimed)),
                started_at: turn.started_at,
                terminal_observed_at: turn.terminal_observed_at,
                completed_at: turn.completed_at,
            };
            result::judge(&reply, &owner, now).map(drop)
        });
        if let Err(error) = judged {
            self.refused("EX-TRA-18", Method::Collect, &error);
        }
    }

    fn judge_cancelled(&mut self, text: Option<&str>, seen: &Seen) {
        if let Some(text) = text {
            match Reply::confirmed(text) {
                Ok(confirmed) => {
                    self.stops.is_confirmed |= confirmed && self.stage != Stage::CancelContinued;
                }
                Err(error) => self.refused("EX-TRA-20", Method::Cancel, &error),
            }
        }
        match self.stage {
            Stage::Cancel => self.stops.before = seen.before.cancellations,
            // One that failed may have had its effect or none.
            Stage::CancelAgain if text.is_some() => {
                self.stops.effects = Some(seen.quiet.cancellations.saturating_sub(self.stops.before));
            }
            _ => {}
        }
    }

    /// What came of the two stops, once the provider was asked for the turn again.
    fn judge_stops(&mut self) {
        let Some(effects) = self.stops.effects.take() else { return };
        let state = self.stopped.as_ref().and_then(|turn| turn.state);
        let end = state.and_then(ProviderState::terminal);
        if let Some(end @ (TerminalState::Succeeded | TerminalState::Failed)) = end
            && effects == 0
            && !self.stops.is_confirmed
        {
            return self.ended_too_soon(end);
        }
        if effects != 1 {
            let seen = format!("two calls with one key have not one effect, effects=`{effects}`");
            self.found("EX-TRA-21", Method::Cancel, seen);
        }
        // One whose last events are still to come is told as running.
        let has_more = self.stopped.as_ref().is_some_and(|turn| turn.has_events);
        if let Some(state) =
            state.filter(|_| self.stops.is_confirmed && end != Some(TerminalState::Cancelled) && !has_more)
        {
            let seen = format!("it is confirmed, and the turn is not cancelled, state=`{}`", state.word());
            self.found("EX-TRA-20", Method::Cancel, seen);
        }
    }

    fn ended_too_soon(&mut self, end: TerminalState) {
        let seen = format!(
            "the job ended by itself before its stop, which could not be judged: give the check a prompt whose job lives for some \
             seconds, state=`{}`",
            end.word()
        );
        self.found("EX-TRA-21", Method::Cancel, seen);
    }
}

impl Turn {
    /// What is recorded of a valid observation. The cursor of a look-up goes on from the beginning of the turn, and so does the next
    /// inspection.
    fn take(&mut self, observation: Observation, method: Method) {
        if self.session.is_none() {
            self.session = observation.session_id;
        }
        if observation.cursor.is_some() {
            self.cursor = observation.cursor;
        }
        self.observed_at = Some(observation.observed_at);
        if observation.state.is_terminal() && self.end().is_none() {
            self.terminal_observed_at = Some(observation.observed_at);
            self.completed_at = observation.completed_at;
        }
        // A recorded end never changes (EX-REC-19).
        if self.end().is_none() {
            self.state = Some(observation.state);
        }
        self.has_events = method == Method::Inspect && !observation.events.is_empty();
    }
}
