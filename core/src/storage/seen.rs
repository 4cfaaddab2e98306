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
