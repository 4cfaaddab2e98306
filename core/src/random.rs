//! Chance: one trait, and the operating system's generator behind it.

use std::fmt;

/// Random bits. A simulation replays them from a seed.
pub trait Random: Send + Sync + fmt::Debug {
    /// 64 random bits.
    fn next_u64(&self) -> u64;
}

/// The operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn next_u64(&self) -> u64 {
        let mut bytes = [0_u8; 8];
        let mut filled = 0;
        while filled < bytes.len() {
            match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
                Ok(count) => filled += count,
                Err(rustix::io::Errno::INTR) => {}
                // The call exists since Linux 3.17 and cannot fail for 8 bytes once it exists; mixing in the
                // clock keeps names distinct where a sandbox forbids it.
                Err(_) => return fallback(),
            }
        }
        u64::from_ne_bytes(bytes)
    }
}

fn fallback() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    hasher.write_i64(now.tv_nsec);
    hasher.finish()
}
