//! The test driver of the execution layer as a child process, spoken to line by line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use gallivant_core::json::Value;
use gallivant_core::testing::MEMORY_CAPABILITY;

use super::locks::BRIEF_WAIT_MS;
use super::memory_task::START;

pub(crate) struct Driver {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Driver {
    pub(crate) fn start(program: &str) -> Self {
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the driver starts");
        let (told, lines) = channel();
        let out = BufReader::new(child.stdout.take().expect("it is a pipe"));
        thread::spawn(move || out.lines().map_while(Result::ok).for_each(|line| drop(told.send(line))));
        Driver { input: child.stdin.take(), child, lines }
    }

    /// Opens a boundary of the provider in memory on a root, under the time [`START`]; the id is 1.
    pub(crate) fn open(&self, root: &Path, faults: &str) -> Value {
        self.say(&format!(
            r#"{{"cmd":"open","id":1,"root":"{}","now":{START},"jitter":1,"faults":{faults},"options":
                {{"taskId":"t-1","provider":"memory","account":"a-1","budgetUsd":8,"health":"external",
                  "limits":{{"lockWaitMs":{BRIEF_WAIT_MS}}},"capabilities":{MEMORY_CAPABILITY},"transport":{{"methods":
                  ["prepare","submit","inspect","continue","collect","cancel","lookup"]}}}}}}"#,
            root.display()
        ));
        self.hear()
    }

    /// Submits an operation, as `support::memory_task::work` has it.
    pub(crate) fn submit(&self, id: u64, operation: &str) {
        self.call(
            id,
            "submit",
            &format!(
                r#"{{"operationId":"{operation}","runId":"run-{operation}","prompt":"do it","reservationUsd":0.5}}"#
            ),
        );
    }

    pub(crate) fn call(&self, id: u64, method: &str, args: &str) {
        self.say(&format!(r#"{{"cmd":"call","id":{id},"method":"{method}","args":{args}}}"#));
    }

    pub(crate) fn answer(&self, question: u64, value: &str) {
        self.say(&format!(r#"{{"cmd":"answer","ask":{question},"value":{value}}}"#));
    }

    /// Says a message, whose white space between lines is left out.
    pub(crate) fn say(&self, message: &str) {
        let line: String = message.lines().map(str::trim_start).collect();
        let mut input = self.input.as_ref().expect("it is open");
        writeln!(input, "{line}").and_then(|()| input.flush()).expect("the driver reads");
    }

    pub(crate) fn hear(&self) -> Value {
        let line = self.lines.recv_timeout(Duration::from_secs(120)).expect("the driver answers");
        Value::parse(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// A line that is a question, and its number.
    pub(crate) fn asked(&self) -> (u64, Value) {
        let line = self.hear();
        let number = line.get("ask").and_then(|ask| ask.as_number()?.as_u64());
        (number.unwrap_or_else(|| panic!("no question: {}", line.to_json())), line)
    }

    pub(crate) fn hears_nothing(&self) -> bool {
        self.lines.recv_timeout(Duration::from_millis(100)).is_err()
    }

    /// Ends its input, and gives the exit status.
    pub(crate) fn status(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().expect("it can be waited for").code()
    }

    /// Waits for the end that it makes itself, and gives the exit status.
    pub(crate) fn ends(mut self) -> Option<i32> {
        let input = self.input.take();
        let status = self.child.wait().expect("it can be waited for").code();
        drop(input);
        status
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
