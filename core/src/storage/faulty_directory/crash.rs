//! What a power loss may leave on the disk.
//!
//! Everything that was synced is there. Of the rest, in the order in which it happened, there is every beginning,
//! everything but any single effect, and a number of seeded selections. In each of these, content that was not
//! synced may be missing, cut off or zeros although its length or its name is there, which is what a rename without
//! a sync leaves on real file systems. Images that look alike come once.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use super::disk::Entry;
use super::file_system::FaultyFileSystem;
use super::image::{Body, Effect, Image, NodeId, ROOT, index};
use super::machine::{Settings, Shared};

/// How many seeded selections there are unless a test asks for another number.
const SELECTIONS: u64 = 16;
/// Unsynced content up to this length is cut at every byte.
const CUT_EVERYWHERE: u64 = 8;
/// Content reaches a disk in pages of this size, each for itself.
const PAGE: u64 = 4096;

/// One state in which the disk may be found after a crash of the machine.
#[derive(Clone, Debug)]
pub struct CrashImage {
    /// What of the unsynced operations is there, for the message of a failed test.
    pub description: String,
    /// The disk as the machine finds it when it boots again: nothing open, nothing locked, everything durable,
    /// no faults. It has the same clock until it is given another ([`FaultyFileSystem::set_clock`]).
    pub files: FaultyFileSystem,
}

/// The states in which the disk may be found after a crash of the machine, from nothing of what was not synced to
/// all of it, then single losses, then seeded selections. The disk itself is not changed by looking at them.
#[derive(Clone, Debug)]
pub struct CrashImages {
    shared: Arc<Shared>,
    settings: Settings,
    base: Image,
    log: Vec<Entry>,
    /// Where in the log the effects are that may be lost.
    pending: Vec<usize>,
    seed: u64,
    selections: u64,
    next_choice: u64,
    ready: VecDeque<(String, Image)>,
    seen: HashSet<[u64; 2]>,
}

impl CrashImages {
    pub(super) fn of(shared: Arc<Shared>) -> Self {
        let (settings, base, log) = {
            let machine = shared.lock();
            (machine.settings, machine.disk.base().clone(), machine.disk.log().to_vec())
        };
        let pending = (0..log.len()).filter(|at| !log[*at].durable).collect();
        CrashImages {
            shared,
            settings,
            base,
            log,
            pending,
            seed: 0,
            selections: SELECTIONS,
            next_choice: 0,
            ready: VecDeque::new(),
            seen: HashSet::new(),
        }
    }

    /// With this many seeded selections from this seed, in place of 16 from the seed 0. The seed also decides where
    /// long content is cut.
    #[must_use]
    pub fn seeded(mut self, seed: u64, selections: u64) -> Self {
        self.seed = seed;
        self.selections = selections;
        self
    }

    /// Which of the pending effects are there, and in words.
    fn choose(&self, choice: u64) -> Option<(Vec<bool>, String, bool)> {
        let count = self.pending.len() as u64;
        let total = self.pending.len();
        if choice <= count {
            let kept = (0..count).map(|at| at < choice).collect();
            return Some((kept, format!("the first {choice} of {total} unsynced effects"), false));
        }
        if choice <= 2 * count {
            let lost = choice - count - 1;
            let kept = (0..count).map(|at| at != lost).collect();
            let operation = &self.log[self.pending[index(lost)]].operation;
            return Some((kept, format!("without effect {} of {total} (of {operation})", lost + 1), false));
        }
        let selection = choice - 2 * count - 1;
        if selection >= self.selections || count < 2 {
            return None;
        }
        let mut state = self.seed ^ selection.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // One, two and three quarters in turn, so that few and many losses both come up.
        let quarters = selection % 3 + 1;
        let kept: Vec<bool> = (0..count).map(|_| split_mix(&mut state) % 4 < quarters).collect();
        let numbers: Vec<String> = (1..=total).filter(|at| kept[at - 1]).map(|at| at.to_string()).collect();
        Some((kept, format!("only effects [{}] of {total}", numbers.join(" ")), true))
    }

    fn expand(&mut self, kept: &[bool], words: &str, selected: bool) {
        let (image, exposed) = self.build(kept);
        let mut state = self.seed ^ self.next_choice;
        let torn: Vec<(NodeId, String, Vec<Tear>)> = image
            .reachable()
            .into_iter()
            .filter_map(|(path, node)| {
                let tears = exposed.get(&node)?.tears(image.content(node).len() as u64, &mut state);
                (!tears.is_empty()).then_some((node, path, tears))
            })
            .collect();
        self.offer(words.to_owned(), image.clone());
        for (node, path, tears) in &torn {
            for tear in tears {
                let mut image = image.clone();
                exposed[node].apply(*tear, *node, &mut image);
                self.offer(format!("{words}, {path} {}", tear.words()), image);
            }
        }
        if torn.len() < 2 {
            return;
        }
        let mut together = vec![[0, 0], [0, 1]];
        if selected {
            together.push([split_mix(&mut state), split_mix(&mut state)]);
        }
        for [step, start] in together {
            let mut image = image.clone();
            let mut words = words.to_owned();
            for (number, (node, path, tears)) in (0_u64..).zip(&torn) {
                let tear = tears[index(start.wrapping_add(step.wrapping_mul(number)) % tears.len() as u64)];
                exposed[node].apply(tear, *node, &mut image);
                words = format!("{words}, {path} {}", tear.words());
            }
            self.offer(words, image);
        }
    }

    fn build(&self, kept: &[bool]) -> (Image, BTreeMap<NodeId, Exposure>) {
        let mut image = self.base.clone();
        let mut exposed = BTreeMap::new();
        let mut kept = kept.iter();
        for entry in &self.log {
            // The choice has one mark for each effect that is not durable, in the log's order.
            if entry.durable || kept.next().is_some_and(|kept| *kept) {
                expose(&mut exposed, &image, entry);
                image.apply(&entry.effect, entry.at_ns);
            }
        }
        let reachable: HashSet<NodeId> = image.reachable().into_values().collect();
        image.retain(|id| id == ROOT || reachable.contains(&id));
        (image, exposed)
    }

    fn offer(&mut self, words: String, image: Image) {
        if self.seen.insert(appearance(&image)) {
            self.ready.push_back((words, image));
        }
    }
}

impl Iterator for CrashImages {
    type Item = CrashImage;

    fn next(&mut self) -> Option<CrashImage> {
        loop {
            if let Some((description, image)) = self.ready.pop_front() {
                let files = FaultyFileSystem::boot(image, self.settings, self.shared.clock());
                return Some(CrashImage { description, files });
            }
            let (kept, words, selected) = self.choose(self.next_choice)?;
            self.expand(&kept, &words, selected);
            self.next_choice += 1;
        }
    }
}

/// What of a file's content a crash may still take although the effects that wrote it are there.
#[derive(Clone, Debug)]
struct Exposure {
    /// The content up to here keeps its length.
    floor: u64,
    /// Bytes that were written and not synced.
    unsynced: Vec<Range<u64>>,
}

#[derive(Clone, Copy, Debug)]
enum Tear {
    /// The file ends here.
    Cut(u64),
    /// Unsynced bytes in this range are zeros.
    Zeros(u64, u64),
}

fn expose(exposed: &mut BTreeMap<NodeId, Exposure>, image: &Image, entry: &Entry) {
    let (Effect::Write { node, .. } | Effect::Truncate { node, .. }) = &entry.effect else { return };
    let floor = image.content(*node).len() as u64;
    let exposure = exposed.entry(*node).or_insert(Exposure { floor, unsynced: Vec::new() });
    let (offset, bytes) = match &entry.effect {
        Effect::Write { offset, bytes, .. } => (offset, bytes),
        Effect::Truncate { length, .. } => {
            exposure.floor = exposure.floor.min(*length);
            exposure.unsynced.iter_mut().for_each(|range| range.end = range.end.min(*length));
            exposure.unsynced.retain(|range| !range.is_empty());
            return;
        }
        _ => return,
    };
    let end = offset + bytes.len() as u64;
    exposure.unsynced = exposure
        .unsynced
        .iter()
        .flat_map(|range| [range.start..range.end.min(*offset), range.start.max(end)..range.end])
        .filter(|range| !range.is_empty())
        .collect();
    if entry.durable {
        exposure.floor = exposure.floor.max(end);
    } else {
        exposure.unsynced.push(*offset..end);
    }
}

impl Exposure {
    /// The first is the loss of all that is not synced, the second its becoming zeros.
    fn tears(&self, length: u64, state: &mut u64) -> Vec<Tear> {
        let Some(start) = self.unsynced.iter().map(|range| range.start).min() else { return Vec::new() };
        let mut tears = Vec::new();
        let exposed = length.saturating_sub(self.floor);
        if exposed > 0 {
            tears.push(Tear::Cut(self.floor));
        }
        tears.push(Tear::Zeros(start, length));
        if exposed == 0 {
            return tears;
        }
        let somewhere = self.floor + split_mix(state) % exposed;
        if exposed <= CUT_EVERYWHERE {
            tears.extend((self.floor + 1..length).map(Tear::Cut));
        } else {
            tears.extend([self.floor + 1, somewhere, length - 1].map(Tear::Cut));
        }
        tears.push(Tear::Zeros(somewhere, length));
        if exposed > PAGE {
            let page = somewhere - somewhere % PAGE;
            tears.push(Tear::Zeros(page, page + PAGE));
        }
        tears
    }

    fn apply(&self, tear: Tear, node: NodeId, image: &mut Image) {
        let Some(at_ns) = image.get(node).map(|node| node.modified_ns) else { return };
        image.change_content(node, at_ns, |content| match tear {
            Tear::Cut(end) => content.truncate(index(end)),
            Tear::Zeros(from, to) => {
                for range in &self.unsynced {
                    let end = index(range.end.min(to)).min(content.len());
                    let start = index(range.start.max(from)).min(end);
                    content[start..end].fill(0);
                }
            }
        });
    }
}

impl Tear {
    fn words(self) -> String {
        match self {
            Tear::Cut(end) => format!("cut at byte {end}"),
            Tear::Zeros(from, to) => format!("zeros for what was not synced of bytes {from} to {to}"),
        }
    }
}

/// A digest of everything that code under test can see, but for times and inode numbers.
fn appearance(image: &Image) -> [u64; 2] {
    let mut digests = [0; 2];
    for (salt, digest) in digests.iter_mut().enumerate() {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        for (path, id) in image.reachable() {
            path.hash(&mut hasher);
            let Some(node) = image.get(id) else { continue };
            node.mode.hash(&mut hasher);
            match &node.body {
                Body::File(content) => (0, content).hash(&mut hasher),
                Body::Directory(_) => 1.hash(&mut hasher),
                Body::Link(target) => (2, target).hash(&mut hasher),
                Body::Other => 3.hash(&mut hasher),
            }
        }
        *digest = hasher.finish();
    }
    digests
}

/// The next number of the SplitMix64 sequence whose state this is.
pub(crate) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
