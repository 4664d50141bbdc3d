//! The members of a tar archive, one after the other, with everything their headers say. Headers are
//! read into memory, so their size is limited; data is not.

use std::io::{self, Read};

use tar::{EntryType, GnuExtSparseHeader, Header};

use super::{
    pax::Extensions,
    sparse::{self, Segment},
};

/// The most that is read of long names and extended headers of one member.
const MAX_HEADER: u64 = 1 << 20;
const BLOCK: usize = 512;

/// One file, folder or other thing in an archive.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) path: Vec<u8>,
    pub(super) link: Vec<u8>,
    pub(super) kind: EntryType,
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// Seconds and nanoseconds.
    pub(super) modified: (i64, u32),
    pub(super) attributes: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) device: (u32, u32),
    /// Of the file, holes included.
    pub(super) size: u64,
    /// Which parts of the file the data is, if not the whole of it.
    pub(super) segments: Option<Vec<Segment>>,
}

/// Reads an archive; what is read through it is the data of the last member.
pub(super) struct Members<R> {
    archive: R,
    /// Data of the last member that was not read yet.
    data: u64,
    padding: u64,
    /// What holds for every member that does not say otherwise.
    global: Extensions,
}

impl<R: Read> Members<R> {
    pub(super) fn new(archive: R) -> Self {
        Self {
            archive,
            data: 0,
            padding: 0,
            global: Extensions::default(),
        }
    }

    pub(super) fn into_inner(self) -> R {
        self.archive
    }

    /// The next member, or nothing at the end of the archive.
    pub(super) fn next(&mut self) -> io::Result<Option<Member>> {
        let mut extensions = self.global.clone();
        let (mut long_path, mut long_link) = (None, None);
        let mut budget = MAX_HEADER;
        loop {
            let Some(header) = self.header()? else {
                return Ok(None);
            };
            let size = header.entry_size()?;
            self.expect(size)?;
            match header.entry_type() {
                EntryType::GNULongName => long_path = Some(self.long_name(&mut budget)?),
                EntryType::GNULongLink => long_link = Some(self.long_name(&mut budget)?),
                EntryType::XHeader => extensions.add(&self.document(&mut budget)?)?,
                EntryType::XGlobalHeader => {
                    let document = self.document(&mut budget)?;
                    self.global.add(&document)?;
                    extensions.add(&document)?;
                }
                _ => return self.member(&header, &extensions, long_path, long_link).map(Some),
            }
        }
    }

    fn member(
        &mut self,
        header: &Header,
        extensions: &Extensions,
        long_path: Option<Vec<u8>>,
        long_link: Option<Vec<u8>>,
    ) -> io::Result<Member> {
        if let Some(size) = extensions.number("size")? {
            self.expect(size)?;
        }
        let named = |key: &str| extensions.get(key).map(<[u8]>::to_vec);
        let (size, segments) = self.sparse(header, extensions)?;
        let id = |extended: Option<u64>, plain: u64| {
            u32::try_from(extended.unwrap_or(plain)).map_err(|_| invalid("a user or group is out of range"))
        };
        let plain_time = i64::try_from(header.mtime().unwrap_or(0)).unwrap_or(0);
        let device = |number: io::Result<Option<u32>>| number.ok().flatten().unwrap_or(0);
        Ok(Member {
            path: named("GNU.sparse.name")
                .or_else(|| named("path"))
                .or(long_path)
                .unwrap_or_else(|| header.path_bytes().into_owned()),
            link: named("linkpath")
                .or(long_link)
                .or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned))
                .unwrap_or_default(),
            kind: header.entry_type(),
            mode: header.mode()? & 0o7777,
            uid: id(extensions.number("uid")?, header.uid()?)?,
            gid: id(extensions.number("gid")?, header.gid()?)?,
            modified: extensions.time("mtime").unwrap_or((plain_time, 0)),
            attributes: extensions
                .attributes()
                .map(|(name, value)| (name.to_vec(), value.to_vec()))
                .collect(),
            device: (device(header.device_major()), device(header.device_minor())),
            size,
            segments,
        })
    }

    /// The size of the file and the parts of it that are stored.
    fn sparse(
        &mut self,
        header: &Header,
        extensions: &Extensions,
    ) -> io::Result<(u64, Option<Vec<Segment>>)> {
        let (size, segments) = if header.entry_type() == EntryType::GNUSparse {
            self.old_sparse(header)?
        } else {
            let Some((segments, _)) = sparse::from_extensions(extensions, self)? else {
                return Ok((self.data, None));
            };
            let size = match extensions.number("GNU.sparse.realsize")? {
                Some(size) => Some(size),
                None => extensions.number("GNU.sparse.size")?,
            };
            (size.ok_or_else(sparse::malformed)?, segments)
        };
        sparse::check(&segments, size, self.data)?;
        Ok((size, Some(segments)))
    }

    /// GNU's own form: some segments in the header, the others in blocks between it and the data.
    fn old_sparse(&mut self, header: &Header) -> io::Result<(u64, Vec<Segment>)> {
        let gnu = header.as_gnu().ok_or_else(sparse::malformed)?;
        let mut segments = Vec::new();
        let mut add = |header: &tar::GnuSparseHeader| -> io::Result<()> {
            if !header.is_empty() {
                segments.push(Segment {
                    offset: header.offset()?,
                    length: header.length()?,
                });
            }
            Ok(())
        };
        gnu.sparse.iter().try_for_each(&mut add)?;
        let mut is_extended = gnu.is_extended();
        let mut budget = MAX_HEADER;
        while is_extended {
            let mut block = GnuExtSparseHeader::new();
            budget = budget.checked_sub(BLOCK as u64).ok_or_else(sparse::malformed)?;
            self.archive.read_exact(block.as_mut_bytes())?;
            block.sparse.iter().try_for_each(&mut add)?;
            is_extended = block.is_extended();
        }
        Ok((gnu.real_size()?, segments))
    }

    /// Skips what is left of the last member and reads a header; zeros are the end.
    fn header(&mut self) -> io::Result<Option<Header>> {
        let left = self.data + self.padding;
        let skipped = io::copy(&mut self.archive.by_ref().take(left), &mut io::sink())?;
        if skipped < left {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        (self.data, self.padding) = (0, 0);
        let mut header = Header::new_old();
        let mut filled = 0;
        while filled < BLOCK {
            match self.archive.read(&mut header.as_mut_bytes()[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => filled += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if header.as_bytes().iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        check_sum(&header)?;
        Ok(Some(header))
    }

    fn expect(&mut self, size: u64) -> io::Result<()> {
        // Far from where sums of sizes overflow.
        if size > i64::MAX as u64 / 2 {
            return Err(invalid("a size is out of range"));
        }
        self.data = size;
        self.padding = size.next_multiple_of(BLOCK as u64) - size;
        Ok(())
    }

    /// The data of the last member as a whole.
    fn document(&mut self, budget: &mut u64) -> io::Result<Vec<u8>> {
        *budget = budget
            .checked_sub(self.data)
            .ok_or_else(|| invalid("the headers of one member are too long"))?;
        let mut document = vec![0; usize::try_from(self.data).unwrap_or_default()];
        self.read_exact(&mut document)?;
        Ok(document)
    }

    fn long_name(&mut self, budget: &mut u64) -> io::Result<Vec<u8>> {
        let mut name = self.document(budget)?;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        name.truncate(end);
        Ok(name)
    }
}

/// The data of the last member.
impl<R: Read> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.archive.by_ref().take(self.data).read(buffer)?;
        if length == 0 && self.data > 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.data -= length as u64;
        Ok(length)
    }
}

/// The sum of a header's bytes, its own field counted as spaces.
fn check_sum(header: &Header) -> io::Result<()> {
    let bytes = header.as_bytes();
    let sum: u32 = bytes[..148]
        .iter()
        .chain(&bytes[156..])
        .map(|byte| u32::from(*byte))
        .sum();
    if header.cksum()? == sum + 8 * u32::from(b' ') {
        Ok(())
    } else {
        Err(invalid("a header's check sum is wrong"))
    }
}

fn invalid(message: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
