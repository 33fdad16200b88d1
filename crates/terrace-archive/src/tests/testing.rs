//! Archives written by hand, so that tests can create archives that no real writer creates.

use std::io::Write as _;

pub(super) const UNIX: u16 = 3 << 8 | 20;
pub(super) const DOS: u16 = 20;

/// A zip under construction. Each field of its records can be set to an invalid value.
#[derive(Default, Clone)]
pub(super) struct TestZip {
    pub(super) prefix: Vec<u8>,
    pub(super) entries: Vec<TestEntry>,
    pub(super) zip64: bool,
    pub(super) comment: Vec<u8>,
    pub(super) disk: u16,
    pub(super) declared_entries: Option<u16>,
    pub(super) declared_size: Option<u32>,
    pub(super) declared_offset: Option<u32>,
    pub(super) locator_offset: Option<u64>,
    pub(super) gap: Vec<u8>,
    pub(super) trailer: Vec<u8>,
}

/// An entry of a [`TestZip`].
#[derive(Default, Clone)]
pub(super) struct TestEntry {
    pub(super) name: Vec<u8>,
    pub(super) content: Vec<u8>,
    pub(super) made_by: u16,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) compressed: u32,
    pub(super) uncompressed: u32,
    pub(super) attributes: u32,
    pub(super) extra: Vec<u8>,
    pub(super) comment: Vec<u8>,
    pub(super) disk: u16,
    pub(super) offset: Option<u32>,
}

pub(super) fn entry(name: &str, content: &str) -> TestEntry {
    TestEntry {
        name: name.into(),
        content: content.into(),
        made_by: UNIX,
        crc: crc(content.as_bytes()),
        compressed: content.len() as u32,
        uncompressed: content.len() as u32,
        attributes: 0o100_755 << 16,
        ..TestEntry::default()
    }
}

pub(super) fn crc(content: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(content);
    crc.sum()
}

pub(super) fn zip(entries: impl IntoIterator<Item = TestEntry>) -> TestZip {
    TestZip {
        entries: entries.into_iter().collect(),
        ..TestZip::default()
    }
}

impl TestZip {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = self.prefix.clone();
        let mut directory = Vec::new();
        for entry in &self.entries {
            let offset = entry.offset.unwrap_or(out.len() as u32);
            out.extend(b"PK\x03\x04");
            entry.shared(&mut out);
            out.extend(&entry.name);
            out.extend(&entry.content);
            directory.extend(b"PK\x01\x02");
            directory.extend(entry.made_by.to_le_bytes());
            entry.shared(&mut directory);
            let extra_length = directory.len() - 2;
            directory[extra_length..].copy_from_slice(&(entry.extra.len() as u16).to_le_bytes());
            directory.extend((entry.comment.len() as u16).to_le_bytes());
            directory.extend(entry.disk.to_le_bytes());
            directory.extend([0; 2]);
            directory.extend(entry.attributes.to_le_bytes());
            directory.extend(offset.to_le_bytes());
            directory.extend(&entry.name);
            directory.extend(&entry.extra);
            directory.extend(&entry.comment);
        }
        let offset = out.len();
        out.extend(&directory);
        out.extend(&self.gap);
        self.end(&mut out, offset, directory.len());
        out
    }

    fn end(&self, out: &mut Vec<u8>, offset: usize, size: usize) {
        let entries = self.entries.len();
        if self.zip64 {
            let at = out.len() as u64;
            out.extend(b"PK\x06\x06");
            out.extend(44u64.to_le_bytes());
            out.extend([45, 0, 45, 0]);
            out.extend([0; 8]);
            for number in [entries, entries, size, offset] {
                out.extend((number as u64).to_le_bytes());
            }
            out.extend(b"PK\x06\x07");
            out.extend([0; 4]);
            out.extend(self.locator_offset.unwrap_or(at).to_le_bytes());
            out.extend(1u32.to_le_bytes());
        }
        let short = |value: usize| if self.zip64 { u16::MAX } else { value as u16 };
        let long = |value: usize| if self.zip64 { u32::MAX } else { value as u32 };
        out.extend(b"PK\x05\x06");
        out.extend(self.disk.to_le_bytes());
        out.extend(self.disk.to_le_bytes());
        let declared_entries = self.declared_entries.unwrap_or(short(entries));
        out.extend(declared_entries.to_le_bytes());
        out.extend(declared_entries.to_le_bytes());
        out.extend(self.declared_size.unwrap_or(long(size)).to_le_bytes());
        out.extend(self.declared_offset.unwrap_or(long(offset)).to_le_bytes());
        out.extend((self.comment.len() as u16).to_le_bytes());
        out.extend(&self.comment);
        out.extend(&self.trailer);
    }
}

impl TestEntry {
    /// Writes the fields that the local header and the directory share, from "version needed" on.
    fn shared(&self, out: &mut Vec<u8>) {
        for field in [20, self.flags, self.method, 0, 0] {
            out.extend(field.to_le_bytes());
        }
        for field in [self.crc, self.compressed, self.uncompressed] {
            out.extend(field.to_le_bytes());
        }
        out.extend((self.name.len() as u16).to_le_bytes());
        out.extend([0; 2]);
    }
}

/// A tar under construction.
#[derive(Default, Clone)]
pub(super) struct TestTar(pub(super) Vec<u8>);

impl TestTar {
    /// Adds a ustar header, modified by `change` before its checksum is computed, and its content.
    pub(super) fn add_changed(
        mut self,
        name: &str,
        type_flag: u8,
        content: &[u8],
        change: impl FnOnce(&mut [u8; 512]),
    ) -> Self {
        let mut block = [0u8; 512];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[100..108].copy_from_slice(b"0000644\0");
        block[108..116].copy_from_slice(b"0000000\0");
        block[116..124].copy_from_slice(b"0000000\0");
        block[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
        block[136..148].copy_from_slice(b"00000000000\0");
        block[156] = type_flag;
        block[257..265].copy_from_slice(b"ustar\x0000");
        change(&mut block);
        block[148..156].copy_from_slice(b"        ");
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.0.extend(block);
        self.0.extend(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub(super) fn add(self, name: &str, type_flag: u8, content: &[u8]) -> Self {
        self.add_changed(name, type_flag, content, |_| {})
    }

    pub(super) fn file(self, name: &str, content: &str) -> Self {
        self.add(name, b'0', content.as_bytes())
    }

    pub(super) fn link(self, name: &str, type_flag: u8, target: &str) -> Self {
        self.add_changed(name, type_flag, b"", |block| {
            block[157..157 + target.len()].copy_from_slice(target.as_bytes());
        })
    }

    /// Returns the tar with its end marker.
    pub(super) fn ended(mut self) -> Vec<u8> {
        self.0.extend([0; 1024]);
        self.0
    }

    /// Returns the tar with its end marker, compressed with gzip.
    pub(super) fn gz(self) -> Vec<u8> {
        gzip(&self.ended())
    }
}

/// Returns a pax record, with its own length in front.
pub(super) fn pax(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let mut length = rest.len();
    while format!("{length}").len() + rest.len() != length {
        length += 1;
    }
    format!("{length}{rest}").into_bytes()
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Deflate data in one block with fixed Huffman codes (RFC 1951, section 3.2.6), including data that no
/// compressor creates.
#[derive(Default)]
pub(super) struct Fixed {
    bytes: Vec<u8>,
    /// The bits of an incomplete byte, the first one lowest.
    bits: u32,
    count: u32,
}

impl Fixed {
    pub(super) fn new() -> Self {
        // The header of the last block, with fixed codes.
        Self::default().field(0b011, 3)
    }

    pub(super) fn literals(self, bytes: &[u8]) -> Self {
        bytes.iter().fold(self, |data, byte| match byte {
            0..144 => data.code(0b0011_0000 + u32::from(*byte), 8),
            144.. => data.code(0b1_1001_0000 + u32::from(*byte) - 144, 9),
        })
    }

    /// Copies `length` bytes (3 to 10, or 258) from `distance` bytes back.
    pub(super) fn copy(self, length: usize, distance: usize) -> Self {
        let data = match length {
            3..=10 => self.code(length as u32 - 2, 7),
            258 => self.code(0b1100_0101, 8),
            _ => panic!("{length} would need extra bits"),
        };
        let distance = distance as u32 - 1;
        if distance < 4 {
            return data.code(distance, 5);
        }
        // There are two codes for each number of extra bits.
        let extra = distance.ilog2() - 1;
        let code = 2 * (extra + 1) + (distance >> extra & 1);
        data.code(code, 5)
            .field(distance & ((1 << extra) - 1), extra)
    }

    pub(super) fn ended(self) -> Vec<u8> {
        let ended = self.code(0, 7);
        let padding = (8 - ended.count) % 8;
        ended.field(0, padding).bytes
    }

    /// Huffman codes start with their highest bit.
    fn code(self, code: u32, length: u32) -> Self {
        self.field(code.reverse_bits() >> (32 - length), length)
    }

    /// All other fields start with their lowest bit.
    fn field(mut self, value: u32, length: u32) -> Self {
        self.bits |= value << self.count;
        self.count += length;
        while self.count >= 8 {
            self.bytes.push(self.bits as u8);
            self.bits >>= 8;
            self.count -= 8;
        }
        self
    }
}
