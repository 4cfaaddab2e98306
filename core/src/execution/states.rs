//! The states that a provider's work is in, and those in which it ends (EX-BND-02).
//!
//! They say what is known of a run at its provider. None of them says that its work is ready for anything (EX-BND-03).

/// What is known of a run at its provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProviderState {
    /// Accepted, and not begun.
    Queued,
    /// What it runs in is being made.
    Provisioning,
    /// It works.
    Running,
    /// It waits for an answer.
    WaitingForInput,
    /// It has ended at the provider, and its result is still to be collected.
    RetrievingResults,
    /// It has ended, and its root turn has succeeded.
    Succeeded,
    /// It has ended, and its root turn has failed.
    Failed,
    /// A stop was asked for and is not confirmed.
    CancellationRequested,
    /// It was stopped, which is confirmed.
    Cancelled,
    /// Nothing is known.
    StatusUnknown,
}

/// Every state, in the order of EX-BND-02.
pub const PROVIDER_STATES: &[ProviderState] = &[
    ProviderState::Queued,
    ProviderState::Provisioning,
    ProviderState::Running,
    ProviderState::WaitingForInput,
    ProviderState::RetrievingResults,
    ProviderState::Succeeded,
    ProviderState::Failed,
    ProviderState::CancellationRequested,
    ProviderState::Cancelled,
    ProviderState::StatusUnknown,
];

impl ProviderState {
    /// The word that files and replies have.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            ProviderState::Queued => "queued",
            ProviderState::Provisioning => "provisioning",
            ProviderState::Running => "running",
            ProviderState::WaitingForInput => "waiting-for-input",
            ProviderState::RetrievingResults => "retrieving-results",
            ProviderState::Succeeded => "succeeded",
            ProviderState::Failed => "failed",
            ProviderState::CancellationRequested => "cancellation-requested",
            ProviderState::Cancelled => "cancelled",
            ProviderState::StatusUnknown => "status-unknown",
        }
    }

    /// The state with this word, in exactly this spelling.
    #[must_use]
    pub fn from_word(word: &str) -> Option<ProviderState> {
        PROVIDER_STATES.iter().copied().find(|state| state.word() == word)
    }

    /// Whether the root turn has ended.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        self.terminal().is_some()
    }

    /// The outcome that this state is, where it is one.
    #[must_use]
    pub const fn terminal(self) -> Option<TerminalState> {
        match self {
            ProviderState::Succeeded => Some(TerminalState::Succeeded),
            ProviderState::Failed => Some(TerminalState::Failed),
            ProviderState::Cancelled => Some(TerminalState::Cancelled),
            ProviderState::Queued
            | ProviderState::Provisioning
            | ProviderState::Running
            | ProviderState::WaitingForInput
            | ProviderState::RetrievingResults
            | ProviderState::CancellationRequested
            | ProviderState::StatusUnknown => None,
        }
    }
}

/// The outcome of a root turn. Once recorded it never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TerminalState {
    /// It did what it was to do.
    Succeeded,
    /// It did not.
    Failed,
    /// It was stopped.
    Cancelled,
}

impl TerminalState {
    /// Every outcome.
    pub const ALL: &'static [TerminalState] =
        &[TerminalState::Succeeded, TerminalState::Failed, TerminalState::Cancelled];

    /// The word that files and replies have, which is that of its state.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.state().word()
    }

    /// The outcome with this word, in exactly this spelling.
    #[must_use]
    pub fn from_word(word: &str) -> Option<TerminalState> {
        ProviderState::from_word(word).and_then(ProviderState::terminal)
    }

    /// The state that shows it.
    #[must_use]
    pub const fn state(self) -> ProviderState {
        match self {
            TerminalState::Succeeded => ProviderState::Succeeded,
            TerminalState::Failed => ProviderState::Failed,
            TerminalState::Cancelled => ProviderState::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_back_to_their_states() {
        for state in PROVIDER_STATES {
            assert_eq!(ProviderState::from_word(state.word()), Some(*state));
            assert_eq!(TerminalState::from_word(state.word()), state.terminal());
        }
        for word in ["", "Queued", "queued ", "done", "waiting_for_input"] {
            assert_eq!(ProviderState::from_word(word), None, "{word}");
        }
        let terminal: Vec<_> = PROVIDER_STATES.iter().filter_map(|state| state.terminal()).collect();
        assert_eq!(terminal, TerminalState::ALL);
        assert!(TerminalState::ALL.iter().all(|outcome| outcome.state().is_terminal()));
    }
}
