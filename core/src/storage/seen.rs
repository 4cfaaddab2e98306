//! Small files that are replaced whole, read once and looked at afterwards.

use std::collections::BTreeMap;
use std::io;

use super::directory::Directory;
use super::look::Look;
use crate::clock::Clock;

/// So many files are kept in mind. Whoever looks at more of them in turn reads them again.
const KEPT: usize = 16;

/// What files have said when they were last read, by their paths below some directory. One that stands unchanged by
/// [`Look::still_holds`] is not read again.
#[derive(Debug)]
pub(crate) struct Seen<T>(BTreeMap<String, (Look, T)>);

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Seen(BTreeMap::new())
    }
}

impl<T: Clone> Seen<T> {
    /// What the file `name` of this directory says, none where there is none. `path` is the name by which it is kept in mind, and
    /// `judge` is asked where it has to be read. Of a longer file than `limit` the judge sees nothing, as of an empty one.
    ///
    /// # Errors
    /// Those of the judge, and what `failed` makes of the system's. Then nothing is kept.
    pub(crate) fn read<E>(
        &mut self,
        (directory, name): (&dyn Directory, &str),
        path: &str,
        limit: u64,
        clock: &dyn Clock,
        failed: impl FnOnce(io::Error) -> E,
        judge: impl FnOnce(&[u8]) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        if let Some((look, known)) = self.0.get(path)
            && directory.metadata(name).is_ok_and(|now| look.still_holds(&now))
        {
            return Ok(Some(known.clone()));
        }
        self.0.remove(path);
        let at_ms = clock.wall_ms();
        let mut bytes = Vec::new();
        let file = match directory.read_and_close(name, limit, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(failed)?,
        };
        let said = judge(&bytes)?;
        if self.0.len() >= KEPT {
            self.0.clear();
        }
        self.0.insert(path.to_owned(), (Look::new(file.metadata, at_ms), said.clone()));
        Ok(Some(said))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::storage::FileSystem;
    use crate::storage::faulty_directory::FaultyFileSystem;
    use crate::testing::SimulatedClock;

    const FILE: &str = "/place/record";

    struct Ground {
        clock: Arc<SimulatedClock>,
        files: FaultyFileSystem,
        directory: Arc<dyn Directory>,
        seen: Seen<String>,
        judged: usize,
    }

    impl Ground {
        fn new() -> Self {
            // A whole second would be taken for a file system that keeps no finer times.
            let clock = Arc::new(SimulatedClock::new(1_000_001));
            let files = FaultyFileSystem::new(clock.clone());
            files.plant_directory("/place").expect("planted");
            let directory = files.open("/place".as_ref()).expect("it is there");
            Ground { clock, files, directory, seen: Seen::default(), judged: 0 }
        }

        fn plant(&self, text: &str) {
            self.files.plant_file(FILE, text).expect("planted");
        }

        fn wait(&self, ms: u64) {
            self.clock.advance(Duration::from_millis(ms));
        }

        fn read(&mut self) -> Result<Option<String>, String> {
            let judged = &mut self.judged;
            let judge = |bytes: &[u8]| {
                *judged += 1;
                let text = String::from_utf8_lossy(bytes).into_owned();
                if text == "none" { Err("it is none".to_owned()) } else { Ok(text) }
            };
            let file = (&*self.directory, "record");
            self.seen.read(file, FILE, 100, &*self.clock, |error| error.to_string(), judge)
        }

        fn says(&mut self, text: &str) {
            assert_eq!(self.read(), Ok(Some(text.to_owned())));
        }
    }

    #[test]
    fn a_file_that_stands_is_read_once_and_one_that_was_replaced_again() {
        let mut ground = Ground::new();
        assert_eq!(ground.read(), Ok(None));
        ground.plant("one");
        ground.wait(21);
        (0..3).for_each(|_| ground.says("one"));
        assert_eq!(ground.judged, 1);
        ground.plant("two");
        ground.says("two");
        ground.files.unplant(FILE).expect("there");
        assert_eq!(ground.read(), Ok(None));
        ground.plant("one");
        ground.says("one");
    }

    /// As long as it may have changed again within the tick of its last change, its bytes are asked.
    #[test]
    fn a_file_that_has_just_changed_is_read_until_it_has_settled() {
        let mut ground = Ground::new();
        ground.plant("one");
        ground.says("one");
        ground.files.overwrite(FILE, b"two").expect("there");
        ground.says("two");
        ground.wait(20);
        (0..2).for_each(|_| ground.says("two"));
        assert_eq!(ground.judged, 4);
        ground.wait(1);
        (0..3).for_each(|_| ground.says("two"));
        assert_eq!(ground.judged, 5);
    }

    #[test]
    fn what_cannot_be_judged_is_not_kept_nor_is_what_stood_before() {
        let mut ground = Ground::new();
        ground.plant("one");
        ground.wait(21);
        ground.says("one");
        ground.plant("none");
        ground.wait(21);
        (0..2).for_each(|_| assert_eq!(ground.read(), Err("it is none".to_owned())));
        assert_eq!(ground.judged, 3);
    }

    #[test]
    fn no_more_than_a_handful_is_kept() {
        let mut ground = Ground::new();
        ground.plant("one");
        ground.wait(21);
        for n in 0..100 {
            let judge = |bytes: &[u8]| Ok::<_, io::Error>(String::from_utf8_lossy(bytes).into_owned());
            let file = (&*ground.directory, "record");
            let read = ground.seen.read(file, &n.to_string(), 100, &*ground.clock, |error| error, judge);
            assert_eq!(read.expect("read").as_deref(), Some("one"));
            assert!(ground.seen.0.len() <= KEPT);
        }
    }
}
