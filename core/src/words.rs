//! The form of an enumeration whose variants are words of the specification.

/// Declares an enumeration with `ALL`, `word` and `from_word`.
macro_rules! words {
    ($($(#[doc = $about:literal])+ $name:ident { $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+ })+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl $name {
            /// Every word, in the order of the specification.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The word as the specification spells it.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            /// What this word says, if it is one.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.word() == word)
            }
        }
    )+};
}

pub(crate) use words;
