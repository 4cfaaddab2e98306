//! Chance: one trait, and the operating system's generator behind it.

use std::fmt;

/// Random bits. A simulation replays them from a seed.
pub trait Random: Send + Sync + fmt::Debug {
    /// 64 random bits.
    fn next_u64(&self) -> u64;

    /// 128 random bits.
    fn next_u128(&self) -> u128 {
        u128::from(self.next_u64()) | u128::from(self.next_u64()) << 64
    }
}

/// The operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn next_u64(&self) -> u64 {
        from_system().map_or_else(fallback, u64::from_ne_bytes)
    }

    fn next_u128(&self) -> u128 {
        let two = || u128::from(fallback()) | u128::from(fallback()) << 64;
        from_system().map_or_else(two, u128::from_ne_bytes)
    }
}

/// Bytes in one call. It exists since Linux 3.17 and cannot fail for so few once it exists; where a sandbox forbids it, a
/// mixture with the clock keeps names distinct.
#[cfg(target_os = "linux")]
fn from_system<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(bytes)
}

/// Bytes of the device that every other system has.
#[cfg(not(target_os = "linux"))]
fn from_system<const N: usize>() -> Option<[u8; N]> {
    use rustix::fs::{Mode, OFlags};
    use rustix::io::retry_on_intr;

    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let device = retry_on_intr(|| rustix::fs::open("/dev/urandom", flags, Mode::empty())).ok()?;
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        match retry_on_intr(|| rustix::io::read(&device, &mut bytes[filled..])) {
            Ok(0) | Err(_) => return None,
            Ok(count) => filled += count,
        }
    }
    Some(bytes)
}

fn fallback() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    hasher.write_i64(now.tv_nsec);
    hasher.finish()
}
