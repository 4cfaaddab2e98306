//! The tests that go across the packages: what they share.
