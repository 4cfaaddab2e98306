//! What may happen to a seat, as data, so that a sequence can be printed, cut and run again.

use gallivant_core::random::Random;
use gallivant_core::testing::SeededRandom;

/// How a writer is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    /// Whether it is given the sequence of the claim.
    pub(crate) adopts: bool,
    pub(crate) has_pty_session: bool,
    pub(crate) evidence: &'static str,
    pub(crate) extension: bool,
}

/// The six fields that are said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) state: &'static str,
    pub(crate) blocked_on: &'static str,
    pub(crate) input_buffer: &'static str,
    pub(crate) ask: &'static str,
    pub(crate) reason: Option<&'static str>,
    pub(crate) exit: Option<&'static str>,
}

/// An event of Claude Code, as far as its meaning depends on nothing but what stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Start,
    Prompt,
    Stop,
    IdleReminder,
    PermissionReminder,
    PermissionAsked,
    QuestionAsked,
    End,
    ChildStarts(&'static str),
    ChildWorks(&'static str),
    ChildStops(&'static str),
}

/// An event that never needs the lock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Silent {
    Display,
    UnknownNotification,
    UnknownEvent,
}

/// What somebody outside the rules puts in the record's place.
#[derive(Clone, Debug)]
pub(crate) enum Planted {
    Nothing,
    Bytes(&'static str),
    /// An object with the numbers and without the rest.
    Numbers {
        seq: u64,
        transitions: u64,
        stamp_ahead_ms: i64,
    },
    /// What stands, under another schema: accepted by readers, or not.
    OtherSchema {
        accepted: bool,
    },
    /// What stood this many landed writes ago: a backup is restored.
    Old(usize),
    /// A record of a program that does not know the extension.
    Foreign(Foreign),
}

#[derive(Clone, Debug)]
pub(crate) struct Foreign {
    /// The token of a writer by its number, or one of nobody here.
    pub(crate) token: Result<usize, &'static str>,
    /// The distance from the highest sequence that is visible.
    pub(crate) seq_above: i64,
    pub(crate) state: &'static str,
    pub(crate) blocked_on: &'static str,
    pub(crate) reason: Option<&'static str>,
    pub(crate) exit: Option<&'static str>,
    pub(crate) stamp_ahead_ms: i64,
    pub(crate) has_unknown_member: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum PlantedFloor {
    Nothing,
    Text(&'static str),
    /// The distance from the highest sequence that is visible.
    Above(i64),
}

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Advance(u64),
    Sleep(u64),
    StepWall(i64),
    Reboot,
    /// The directory is looked at from another machine, or from the first one again.
    OtherHost,
    OtherPidNamespace,
    ProcessEnds(u32),
    Claim {
        wrapperless_token: bool,
        opened: Opened,
    },
    ClaimWrapperless {
        good_token: bool,
        opened: Opened,
    },
    StartSession {
        opened: Opened,
    },
    Attach(u32),
    /// Another writer of the session of an older one.
    Sibling {
        of: usize,
        opened: Opened,
    },
    Observe {
        who: usize,
        said: Said,
        unless_ended: bool,
    },
    Ended {
        who: usize,
        exit: Option<&'static str>,
    },
    Heartbeat(usize),
    Interrupt(usize),
    Child {
        who: usize,
        id: &'static str,
        starts: bool,
    },
    Owns(usize),
    Hook {
        who: usize,
        event: Event,
    },
    SilentHook {
        who: usize,
        event: Silent,
    },
    /// A hook that starts, and before it has the lock time passes and something else happens.
    OvertakenHook {
        who: usize,
        event: Event,
        by_ms: u64,
        meanwhile: Box<Operation>,
    },
    PlantRecord(Planted),
    PlantFloor(PlantedFloor),
}

/// Draws sequences of operations.
pub(crate) struct Dice(SeededRandom);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(SeededRandom::new(seed ^ 0x0d1c_e5ee))
    }

    pub(crate) fn sequence(&self, length: usize) -> Vec<Operation> {
        let mut operations = Vec::with_capacity(length);
        while operations.len() < length {
            match self.below(45) {
                0 => operations.extend(self.life()),
                1 | 2 => operations.extend(self.again()),
                3 => operations.extend(self.virgin()),
                4 => operations.extend(self.of_another_program()),
                5 => operations.extend(self.remembered()),
                _ => operations.push(self.operation()),
            }
        }
        operations.truncate(length);
        operations
    }

    /// A session from its start to what comes after its end, which single operations seldom add up to.
    fn life(&self) -> Vec<Operation> {
        let hook = |event| Operation::Hook { who: 0, event };
        vec![
            Operation::StartSession { opened: self.opened() },
            Operation::Attach(4711),
            hook(self.event()),
            Operation::Advance(self.time()),
            hook(Event::End),
            self.operation(),
            hook(self.event()),
        ]
    }

    /// The same thing is said twice, at a distance where one of the limits lies.
    fn again(&self) -> Vec<Operation> {
        let said = Said { state: self.of(&["idle", "active"]), ..Said::of("idle") };
        let says = || Operation::Observe { who: 0, said: said.clone(), unless_ended: false };
        let later = self.of(&[0, 20, 21, 299_999, 300_000, 300_001, 899_999, 900_000]);
        vec![says(), says(), Operation::Advance(later), says()]
    }

    /// Another program of the same session has written, in its own words.
    fn of_another_program(&self) -> Vec<Operation> {
        let foreign = Foreign {
            token: Ok(0),
            seq_above: 0,
            state: self.of(&["idle", "child", "paused"]),
            blocked_on: self.of(&["none", "robot"]),
            reason: None,
            exit: None,
            stamp_ahead_ms: self.of(&[-400_000, -1, 30_000]),
            has_unknown_member: self.one_in(2),
        };
        vec![
            Operation::Claim { wrapperless_token: false, opened: self.opened() },
            Operation::PlantRecord(Planted::Foreign(foreign)),
            Operation::Heartbeat(0),
            self.deed(),
        ]
    }

    /// What a writer has judged stands for a while, and then something about it changes or does not, in a record of the
    /// same size too.
    fn remembered(&self) -> Vec<Operation> {
        let opened = Opened { adopts: true, has_pty_session: true, ..self.opened() };
        let says = |who, exit| {
            let said = Said { exit: Some(exit), ..Said::of("active") };
            Operation::Observe { who, said, unless_ended: self.one_in(2) }
        };
        let (meanwhile, who) = match self.below(9) {
            0 => (Operation::Claim { wrapperless_token: false, opened }, 2),
            1 => (Operation::PlantFloor(PlantedFloor::Above(1)), 1),
            2 => (Operation::PlantFloor(PlantedFloor::Nothing), 1),
            3 => (Operation::PlantRecord(Planted::Old(1)), 1),
            4 => (Operation::PlantRecord(Planted::OtherSchema { accepted: false }), 1),
            5 => (Operation::Interrupt(1), 1),
            6 => (Operation::StepWall(self.of(&[-61_000, -59_000, 299_000, 301_000])), 1),
            _ => (says(0, "exit 1"), 1),
        };
        vec![
            Operation::Claim { wrapperless_token: false, opened },
            Operation::Sibling { of: 0, opened },
            says(1, "exit 0"),
            Operation::Advance(1_000),
            says(1, "exit 0"),
            meanwhile,
            says(who, "exit 0"),
        ]
    }

    /// A writer with nothing but a token comes to a seat without a record.
    fn virgin(&self) -> Vec<Operation> {
        let floor = self.of(&[PlantedFloor::Nothing, PlantedFloor::Text("0"), PlantedFloor::Text("1")]);
        let opened = Opened { adopts: false, has_pty_session: true, ..self.opened() };
        vec![
            Operation::PlantRecord(Planted::Nothing),
            Operation::PlantFloor(floor),
            Operation::Sibling { of: self.who(), opened },
            Operation::Observe { who: 0, said: Said::of("active"), unless_ended: self.one_in(2) },
        ]
    }

    pub(crate) fn below(&self, sides: u64) -> u64 {
        self.0.next_u64() % sides
    }

    fn of<T: Copy>(&self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).expect("small")]
    }

    fn one_in(&self, sides: u64) -> bool {
        self.below(sides) == 0
    }

    fn who(&self) -> usize {
        // Newer writers speak more often: most of the others are superseded.
        usize::try_from(self.below(8).min(self.below(8))).expect("small")
    }

    fn between(&self, least: i64, most: i64) -> i64 {
        let span = u64::try_from(most - least).expect("in order") + 1;
        least + i64::try_from(self.below(span)).expect("small")
    }

    fn operation(&self) -> Operation {
        match self.below(100) {
            0..=13 => Operation::Advance(self.time()),
            14..=16 => Operation::Sleep(self.of(&[1_000, 600_000, 900_000, 28_800_000])),
            17..=19 => Operation::StepWall(self.of(&[-7_200_000, -61_000, -1_000, 1_000, 61_000, 7_200_000])),
            20 => Operation::Reboot,
            21 => Operation::OtherHost,
            22 => Operation::OtherPidNamespace,
            23 => Operation::ProcessEnds(self.of(&[4711, 4712])),
            24..=27 => Operation::Claim { wrapperless_token: self.one_in(2), opened: self.opened() },
            28..=30 => Operation::ClaimWrapperless { good_token: !self.one_in(6), opened: self.opened() },
            31 => Operation::StartSession { opened: self.opened() },
            32 | 33 => Operation::Attach(self.of(&[4711, 4712])),
            34 | 35 => Operation::Sibling { of: self.who(), opened: self.opened() },
            36..=40 => Operation::PlantRecord(self.planted()),
            41..=43 => Operation::PlantFloor(self.planted_floor()),
            44..=49 => {
                let meanwhile = Box::new(self.deed());
                Operation::OvertakenHook {
                    who: self.who(),
                    event: self.event(),
                    by_ms: self.time(),
                    meanwhile,
                }
            }
            _ => self.deed(),
        }
    }

    /// What writers do.
    fn deed(&self) -> Operation {
        let who = self.who();
        match self.below(20) {
            0..=6 => Operation::Observe { who, said: self.said(), unless_ended: self.one_in(3) },
            7 => Operation::Ended { who, exit: self.of(&[None, Some("exit 0"), Some("signal 9")]) },
            8..=10 => Operation::Heartbeat(who),
            11 => Operation::Interrupt(who),
            12 | 13 => Operation::Child { who, id: self.child(), starts: self.one_in(2) },
            14 => Operation::Owns(who),
            15 => {
                let events = [Silent::Display, Silent::UnknownNotification, Silent::UnknownEvent];
                Operation::SilentHook { who, event: self.of(&events) }
            }
            _ => Operation::Hook { who, event: self.event() },
        }
    }

    /// Lengths around the limits: nothing, the skew, the refresh, the grace, the staleness.
    fn time(&self) -> u64 {
        let length =
            self.of(&[0, 1, 19, 21, 1_000, 59_999, 60_001, 299_999, 300_000, 600_000, 899_999, 900_000]);
        if self.one_in(3) { self.below(400_000) } else { length }
    }

    fn opened(&self) -> Opened {
        Opened {
            adopts: !self.one_in(3),
            has_pty_session: !self.one_in(6),
            evidence: self.of(&["wrapper", "wrapper", "channel", "screen"]),
            extension: !self.one_in(4),
        }
    }

    fn said(&self) -> Said {
        let (blocked_on, ask) = match self.below(12) {
            0 => ("human", "permission"),
            1 => ("human", "question"),
            2 => ("human", "none"),
            3 => ("unknown", "none"),
            4 => ("none", "review"),
            5 => ("human", "unknown"),
            _ => ("none", "none"),
        };
        Said {
            state: self.of(&["ready", "idle", "idle", "active", "active", "active", "ended", "unknown"]),
            blocked_on,
            input_buffer: self.of(&["unknown", "unknown", "empty", "nonempty"]),
            ask,
            reason: self.of(&[None, None, None, Some(""), Some("r"), Some("superseded")]),
            exit: self.of(&[None, None, None, None, Some("exit 0"), Some("exit 1")]),
        }
    }

    fn child(&self) -> &'static str {
        self.of(&["c-1", "c-2", "c-3"])
    }

    fn event(&self) -> Event {
        match self.below(14) {
            0 => Event::Start,
            1 => Event::IdleReminder,
            2 => Event::PermissionReminder,
            3 => Event::PermissionAsked,
            4 => Event::QuestionAsked,
            5 => Event::End,
            6 => Event::ChildStarts(self.child()),
            7 => Event::ChildWorks(self.child()),
            8 => Event::ChildStops(self.child()),
            9..=11 => Event::Prompt,
            _ => Event::Stop,
        }
    }

    fn planted(&self) -> Planted {
        match self.below(9) {
            0 => Planted::Nothing,
            1 | 2 => Planted::Bytes(self.of(&["", "{", "\0\0\0\0", "[]", "\u{feff}{}", "null\n"])),
            3 => Planted::Numbers {
                seq: self.below(9),
                transitions: self.of(&[0, 7, u64::MAX]),
                stamp_ahead_ms: self.between(-100_000, 100_000),
            },
            4 => Planted::OtherSchema { accepted: self.one_in(2) },
            5 | 6 => Planted::Old(usize::try_from(1 + self.below(6)).expect("small")),
            _ => Planted::Foreign(Foreign {
                token: if self.one_in(2) {
                    Ok(self.who())
                } else {
                    Err(self.of(&["", "stranger", "claude-session-stranger"]))
                },
                seq_above: self.between(-2, 1),
                state: self.of(&["idle", "active", "child", "paused", "ended", "ended"]),
                blocked_on: self.of(&["none", "none", "human", "robot"]),
                reason: self.of(&[None, None, Some("superseded")]),
                exit: self.of(&[None, Some("exit 0")]),
                stamp_ahead_ms: self
                    .of(&[-1_000_000, -900_000, -400_000, -1, 0, 30_000, 60_000, 60_001, 200_000]),
                has_unknown_member: self.one_in(2),
            }),
        }
    }

    fn planted_floor(&self) -> PlantedFloor {
        match self.below(5) {
            0 => PlantedFloor::Nothing,
            1 => PlantedFloor::Text(self.of(&["", "x", "-1", "18446744073709551616", "1 2", "+", "0x3"])),
            2 => PlantedFloor::Text(self.of(&["+004\n", " 2 ", "0\n", "\u{2003}3\u{a0}", "5"])),
            _ => PlantedFloor::Above(self.between(-2, 1)),
        }
    }
}
