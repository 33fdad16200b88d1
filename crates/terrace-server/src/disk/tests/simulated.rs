//! A disk that can lose power, with operations that can fail.
//!
//! The model is harsher than any real file system: after a cut, each entry of a directory that was changed since its last sync
//! is as before or as after the change, one independently of the other, and so is each write to a file that was not synced.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::volume::{DirectoryEntry, Stat, Volume, VolumeFile};

/// What happens at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It fails, and has no effect.
    Before,
    /// It fails, although it has taken effect.
    After,
    /// It has no effect, and every later operation fails: the process was killed.
    KilledBefore,
    /// It has taken effect, and every later operation fails.
    KilledAfter,
}

impl Fault {
    pub(super) const ALL: [Self; 4] = [
        Self::Before,
        Self::After,
        Self::KilledBefore,
        Self::KilledAfter,
    ];
}

/// A simulated disk. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Simulated(Arc<Mutex<State>>);

#[derive(Debug, Clone)]
struct State {
    nodes: Vec<Node>,
    /// The number of changes so far.
    steps: u64,
    fault: Option<(u64, Fault)>,
    is_off: bool,
    /// Counts up when the power returns: files that were open before are invalid.
    boots: usize,
    /// Whether names that differ only in case are the same.
    folds_case: bool,
}

#[derive(Debug, Clone)]
enum Node {
    File(Contents),
    Directory {
        entries: BTreeMap<String, usize>,
        durable: BTreeMap<String, usize>,
    },
}

#[derive(Debug, Clone, Default)]
struct Contents {
    bytes: Vec<u8>,
    modified: u64,
    durable: (Vec<u8>, u64),
    unsynced: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
    Modified(u64),
}

/// An open file.
#[derive(Debug)]
struct Open {
    disk: Simulated,
    node: usize,
    boot: usize,
}

impl Default for State {
    fn default() -> Self {
        Self {
            nodes: vec![Node::directory()],
            steps: 0,
            fault: None,
            is_off: false,
            boots: 0,
            folds_case: false,
        }
    }
}

impl Node {
    fn directory() -> Self {
        Self::Directory {
            entries: BTreeMap::new(),
            durable: BTreeMap::new(),
        }
    }
}

impl Contents {
    fn apply(bytes: &mut Vec<u8>, modified: &mut u64, change: &Change) {
        match change {
            Change::Write(offset, written) => {
                let end = offset + written.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*offset..end].copy_from_slice(written);
            }
            Change::Length(length) => bytes.resize(*length, 0),
            Change::Modified(time) => *modified = *time,
        }
    }

    fn change(&mut self, change: Change) {
        Self::apply(&mut self.bytes, &mut self.modified, &change);
        self.unsynced.push(change);
    }

    fn sync(&mut self) {
        self.durable = (self.bytes.clone(), self.modified);
        self.unsynced.clear();
    }
}

/// A generator of numbers (xorshift64).
struct Chance(u64);

impl Chance {
    fn is_lucky(&mut self) -> bool {
        self.next() & 1 == 1
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 3
    }
}

impl Simulated {
    /// Returns a disk on which names that differ only in case are the same.
    pub(super) fn folding_case() -> Self {
        let disk = Self::default();
        disk.state().folds_case = true;
        disk
    }

    /// Returns an independent disk with the same contents.
    pub(super) fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.state().clone())))
    }

    /// Breaks the change with this number, counted from now on.
    pub(super) fn break_at(&self, step: u64, fault: Fault) {
        let mut state = self.state();
        state.fault = Some((state.steps + step, fault));
    }

    /// Breaks nothing any more.
    pub(super) fn mend(&self) {
        self.state().fault = None;
    }

    /// Returns whether a broken change was reached.
    pub(super) fn is_reached(&self) -> bool {
        let state = self.state();
        state.fault.is_some_and(|(step, _)| state.steps > step)
    }

    /// Starts another process, which sees everything that was written, durable or not.
    pub(super) fn restart(&self) {
        let mut state = self.state();
        state.boots += 1;
        state.is_off = false;
        state.fault = None;
    }

    /// Cuts the power, and turns it on again.
    pub(super) fn cut(&self, seed: u64) {
        self.restart();
        let mut chance = Chance((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for node in &mut self.state().nodes {
            match node {
                Node::File(contents) => {
                    let (mut bytes, mut modified) = contents.durable.clone();
                    // All, none, or some: half of the seeds lose all.
                    let loses_all = chance.is_lucky();
                    for change in &contents.unsynced {
                        if !loses_all && chance.is_lucky() {
                            Contents::apply(&mut bytes, &mut modified, change);
                        }
                    }
                    (contents.bytes, contents.modified) = (bytes, modified);
                    contents.sync();
                }
                Node::Directory { entries, durable } => {
                    let mut names: Vec<String> = entries.keys().cloned().collect();
                    names.extend(durable.keys().cloned());
                    for name in names {
                        let (new, old) = (entries.get(&name), durable.get(&name));
                        let kept = if chance.is_lucky() { new } else { old }.copied();
                        match kept {
                            Some(node) => entries.insert(name.clone(), node),
                            None => entries.remove(&name),
                        };
                        match kept {
                            Some(node) => durable.insert(name, node),
                            None => durable.remove(&name),
                        };
                    }
                }
            }
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Performs an operation that changes nothing.
    fn look<T>(&self, look: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state();
        match state.is_off {
            true => Err(io::Error::other("the power is off")),
            false => look(&mut state),
        }
    }

    /// Performs a change, unless a fault prevents it.
    fn step<T>(&self, change: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        self.look(|state| {
            let step = state.steps;
            state.steps += 1;
            let fault = state.fault.filter(|(at, _)| *at == step);
            let Some((_, fault)) = fault else {
                return change(state);
            };
            state.is_off = matches!(fault, Fault::KilledBefore | Fault::KilledAfter);
            if matches!(fault, Fault::After | Fault::KilledAfter) {
                change(state)?;
            }
            Err(io::Error::other("injected"))
        })
    }

    fn handle(&self, node: usize) -> Box<dyn VolumeFile> {
        let boot = self.state().boots;
        Box::new(Open {
            disk: self.clone(),
            node,
            boot,
        })
    }
}

impl State {
    fn find(&self, path: &Path) -> io::Result<usize> {
        path.iter().skip(1).try_fold(0, |node, name| {
            let Node::Directory { entries, .. } = &self.nodes[node] else {
                return Err(io::ErrorKind::NotADirectory.into());
            };
            let name = self.spelled(entries, name.to_str().unwrap());
            let found = entries.get(&name);
            found.copied().ok_or(io::ErrorKind::NotFound.into())
        })
    }

    /// Returns the name of the entry that this name finds.
    fn spelled(&self, entries: &BTreeMap<String, usize>, name: &str) -> String {
        let mut folded = entries
            .keys()
            .filter(|key| self.folds_case && key.eq_ignore_ascii_case(name));
        folded.next().map_or_else(|| name.to_owned(), Clone::clone)
    }

    /// Returns the entries of the directory that contains a path, and the name in it.
    fn slot(&mut self, path: &Path) -> io::Result<(&mut BTreeMap<String, usize>, String)> {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let parent = self.find(path.parent().unwrap())?;
        let name = match &self.nodes[parent] {
            Node::Directory { entries, .. } => self.spelled(entries, &name),
            Node::File(_) => name,
        };
        match &mut self.nodes[parent] {
            Node::Directory { entries, .. } => Ok((entries, name)),
            Node::File(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn insert(&mut self, path: &Path, node: Node) -> io::Result<usize> {
        let number = self.nodes.len();
        let (entries, name) = self.slot(path)?;
        if entries.contains_key(&name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        entries.insert(name, number);
        self.nodes.push(node);
        Ok(number)
    }

    fn file(&mut self, node: usize) -> io::Result<&mut Contents> {
        match &mut self.nodes[node] {
            Node::File(contents) => Ok(contents),
            Node::Directory { .. } => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn stat(&mut self, node: usize) -> io::Result<Stat> {
        let contents = self.file(node)?;
        Ok(Stat {
            size: contents.bytes.len() as u64,
            modified: contents.modified,
        })
    }
}

impl Volume for Simulated {
    fn create(&self, path: &Path) -> io::Result<Box<dyn VolumeFile>> {
        let file = Node::File(Contents::default());
        let node = self.step(|state| state.insert(path, file))?;
        Ok(self.handle(node))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn VolumeFile>> {
        let node = self.look(|state| {
            let node = state.find(path)?;
            state.file(node).map(|_| node)
        })?;
        Ok(self.handle(node))
    }

    fn open_or_create(&self, path: &Path) -> io::Result<Box<dyn VolumeFile>> {
        match self.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.create(path),
            opened => opened,
        }
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.look(|state| {
            let node = state.find(path)?;
            state.stat(node)
        })
    }

    fn entries(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.look(|state| {
            let node = state.find(directory)?;
            let Node::Directory { entries, .. } = &state.nodes[node] else {
                return Err(io::ErrorKind::NotADirectory.into());
            };
            // In an order that is not that of the names.
            let entries = entries.iter().rev();
            let entries = entries.map(|(name, node)| DirectoryEntry {
                name: name.clone(),
                is_directory: matches!(state.nodes[*node], Node::Directory { .. }),
            });
            Ok(entries.collect())
        })
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.step(|state| state.insert(path, Node::directory()).map(drop))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(|state| {
            let node = state.find(from)?;
            let (entries, name) = state.slot(to)?;
            if entries.contains_key(&name) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            entries.insert(name, node);
            Ok(())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(|state| {
            let node = state.find(from)?;
            let (entries, name) = state.slot(to)?;
            entries.insert(name, node);
            let (entries, name) = state.slot(from)?;
            entries.remove(&name);
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(|state| {
            let node = state.find(path)?;
            state.file(node)?;
            let (entries, name) = state.slot(path)?;
            entries.remove(&name);
            Ok(())
        })
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.step(|state| {
            let node = state.find(path)?;
            match &state.nodes[node] {
                Node::Directory { entries, .. } if entries.is_empty() => {}
                _ => return Err(io::ErrorKind::DirectoryNotEmpty.into()),
            }
            let (entries, name) = state.slot(path)?;
            entries.remove(&name);
            Ok(())
        })
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.step(|state| {
            let node = state.find(path)?;
            let Node::Directory { entries, durable } = &mut state.nodes[node] else {
                return Err(io::ErrorKind::NotADirectory.into());
            };
            durable.clone_from(entries);
            Ok(())
        })
    }

    fn sync_everything(&self, _root: &Path) -> io::Result<()> {
        self.step(|state| {
            for node in &mut state.nodes {
                match node {
                    Node::File(contents) => contents.sync(),
                    Node::Directory { entries, durable } => durable.clone_from(entries),
                }
            }
            Ok(())
        })
    }
}

impl Open {
    fn look<T>(&self, look: impl FnOnce(&mut State, usize) -> io::Result<T>) -> io::Result<T> {
        self.disk.look(|state| {
            match state.boots == self.boot {
                true => look(state, self.node),
                // A file of a process that was killed.
                false => Err(io::Error::other("the file is not open")),
            }
        })
    }

    fn change(&self, change: impl FnOnce(&mut Contents)) -> io::Result<()> {
        self.look(|_, _| Ok(()))?;
        self.disk.step(|state| {
            change(state.file(self.node)?);
            Ok(())
        })
    }
}

impl VolumeFile for Open {
    fn stat(&self) -> io::Result<Stat> {
        self.look(|state, node| state.stat(node))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.look(|state, node| {
            let bytes = &state.file(node)?.bytes;
            let start = bytes.len().min(usize::try_from(offset).unwrap());
            // Fewer than wanted, as a real file system may return.
            let end = bytes.len().min(start + buffer.len().min(5_000));
            buffer[..end - start].copy_from_slice(&bytes[start..end]);
            Ok(end - start)
        })
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap();
        self.change(|file| file.change(Change::Write(offset, bytes.to_vec())))
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).unwrap();
        self.change(|file| file.change(Change::Length(length)))
    }

    fn set_modified(&self, nanoseconds: u64) -> io::Result<()> {
        self.change(|file| file.change(Change::Modified(nanoseconds)))
    }

    fn sync(&self) -> io::Result<()> {
        self.change(Contents::sync)
    }
}

/// The directory of the store on a simulated disk.
pub(super) fn root() -> PathBuf {
    PathBuf::from("/")
}
