//! The system and the machine that a program was built for, by its first bytes.

/// The bytes at the start of a file that decide. The header of a PE file stands below 1 KiB with every linker.
pub const HEAD_BYTES: u64 = 1024;

/// A program in a known format. Names are Go's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    format: &'static str,
    systems: &'static [&'static str],
    /// The machines; none if they are unknown.
    machines: Vec<&'static str>,
}

const ELF: [&str; 8] = [
    "android",
    "dragonfly",
    "freebsd",
    "illumos",
    "linux",
    "netbsd",
    "openbsd",
    "solaris",
];

impl Program {
    /// Returns the program that a file starts with; `None` if the format is unknown, such as that of a script.
    pub fn read(head: &[u8]) -> Option<Self> {
        let (format, systems, machines) = match head {
            [0x7f, b'E', b'L', b'F', ..] => ("ELF", elf_systems(head), elf_machine(head)),
            [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] => (
                "Mach-O (macOS)",
                &["darwin", "ios"][..],
                mach_machine(number(head, 4, 4)?),
            ),
            [0xca, 0xfe, 0xba, 0xbe, ..] => return Self::universal(head),
            [b'M', b'Z', ..] => ("PE (Windows)", &["windows"][..], pe_machine(head)),
            _ => return None,
        };
        Some(Self {
            format,
            systems,
            machines: machines.into_iter().collect(),
        })
    }

    /// Reads a Mach-O file for several machines. A class of Java starts like one, with a version above 40 as their number.
    fn universal(head: &[u8]) -> Option<Self> {
        let count = usize::try_from(big(head, 4, 4)?)
            .ok()
            .filter(|count| *count < 40)?;
        let machines = (0..count).map(|index| mach_machine(big(head, 8 + 20 * index, 4)?));
        let machines: Option<Vec<_>> = machines.collect();
        Some(Self {
            format: "Mach-O (macOS)",
            systems: &["darwin", "ios"],
            machines: machines.unwrap_or_default(),
        })
    }

    /// Returns whether the program may run on a platform by its own format and machine: not by an emulation.
    pub fn is_for(&self, os: &str, arch: &str) -> bool {
        let is_machine = self.machines.is_empty() || self.machines.contains(&arch);
        self.systems.contains(&os) && is_machine
    }
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.format)?;
        if self.format == "ELF" && self.systems != ELF {
            write!(f, " of {}", self.systems.join("/"))?;
        }
        match self.machines.as_slice() {
            [] => Ok(()),
            machines => write!(f, " for {}", machines.join("/")),
        }
    }
}

fn number(head: &[u8], at: usize, length: usize) -> Option<u32> {
    let bytes = head.get(at..)?.get(..length)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u32::from(*byte)),
    )
}

fn big(head: &[u8], at: usize, length: usize) -> Option<u32> {
    let bytes = head.get(at..)?.get(..length)?;
    Some(
        bytes
            .iter()
            .fold(0, |number, byte| number << 8 | u32::from(*byte)),
    )
}

/// The systems of an ELF file: where the field for it says nothing, any that uses the format.
fn elf_systems(head: &[u8]) -> &'static [&'static str] {
    match head.get(7) {
        Some(2) => &["netbsd"],
        Some(3) => &["android", "linux"],
        Some(6) => &["illumos", "solaris"],
        Some(9) => &["freebsd"],
        Some(12) => &["openbsd"],
        _ => &ELF,
    }
}

/// <https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html>, as Go's `debug/elf` numbers the machines.
fn elf_machine(head: &[u8]) -> Option<&'static str> {
    let (is_64, is_little) = (head.get(4)? == &2, head.get(5)? == &1);
    let machine = match is_little {
        true => number(head, 18, 2)?,
        false => big(head, 18, 2)?,
    };
    Some(match (machine, is_64, is_little) {
        (3, ..) => "386",
        (8, false, true) => "mipsle",
        (8, false, false) => "mips",
        (8, true, true) => "mips64le",
        (8, true, false) => "mips64",
        (21, _, true) => "ppc64le",
        (21, _, false) => "ppc64",
        (22, true, _) => "s390x",
        (40, ..) => "arm",
        (62, ..) => "amd64",
        (183, ..) => "arm64",
        (243, true, _) => "riscv64",
        (258, true, _) => "loong64",
        _ => return None,
    })
}

/// `mach/machine.h`
fn mach_machine(cpu: u32) -> Option<&'static str> {
    Some(match cpu {
        7 => "386",
        12 => "arm",
        0x0100_0007 => "amd64",
        0x0100_000c => "arm64",
        _ => return None,
    })
}

/// <https://learn.microsoft.com/windows/win32/debug/pe-format>
fn pe_machine(head: &[u8]) -> Option<&'static str> {
    let at = usize::try_from(number(head, 0x3c, 4)?).ok()?;
    if head.get(at..)?.get(..4)? != b"PE\0\0" {
        return None;
    }
    Some(match number(head, at + 4, 2)? {
        0x014c => "386",
        0x01c0 | 0x01c4 => "arm",
        0x8664 => "amd64",
        0xaa64 => "arm64",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(class: u8, data: u8, abi: u8, machine: [u8; 2]) -> Vec<u8> {
        let mut head = vec![0; 64];
        head[..8].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, data, 1, abi]);
        head[18..20].copy_from_slice(&machine);
        head
    }

    fn pe(machine: u16) -> Vec<u8> {
        let mut head = vec![0; 256];
        head[..2].copy_from_slice(b"MZ");
        head[0x3c] = 0x80;
        head[0x80..0x84].copy_from_slice(b"PE\0\0");
        head[0x84..0x86].copy_from_slice(&machine.to_le_bytes());
        head
    }

    fn fat(machines: &[u32]) -> Vec<u8> {
        let count = u32::try_from(machines.len()).unwrap();
        let mut head = [0xcafe_babe, count].map(u32::to_be_bytes).concat();
        for machine in machines {
            head.extend([*machine, 0, 0, 0, 0].map(u32::to_be_bytes).concat());
        }
        head
    }

    #[test]
    fn the_platform_follows_from_the_first_bytes() {
        let mach = |cpu: u32| [0xfeed_facf, cpu].map(u32::to_le_bytes).concat();
        for (head, platform) in [
            (elf(2, 1, 0, [62, 0]), "linux_amd64"),
            (elf(2, 1, 0, [183, 0]), "android_arm64"),
            (elf(1, 1, 0, [40, 0]), "linux_arm"),
            (elf(2, 1, 9, [62, 0]), "freebsd_amd64"),
            (elf(2, 2, 0, [0, 22]), "linux_s390x"),
            (elf(1, 2, 0, [0, 8]), "linux_mips"),
            (elf(2, 1, 0, [0, 1]), "linux_any"),
            (mach(0x0100_000c), "darwin_arm64"),
            (fat(&[0x0100_0007, 0x0100_000c]), "darwin_amd64"),
            (fat(&[0x0100_0007, 0x0100_000c]), "darwin_arm64"),
            (pe(0x8664), "windows_amd64"),
            (pe(0x014c), "windows_386"),
            (b"MZ".to_vec(), "windows_arm64"),
        ] {
            let program = Program::read(&head).unwrap();
            let (os, arch) = platform.split_once('_').unwrap();
            assert!(program.is_for(os, arch), "{platform}: {program}");
        }
    }

    #[test]
    fn a_program_for_another_system_or_machine_is_recognised() {
        let mach = [0xfeed_facf, 0x0100_0007].map(u32::to_le_bytes).concat();
        for (head, platform, text) in [
            (elf(2, 1, 0, [62, 0]), "darwin_amd64", "ELF for amd64"),
            (elf(2, 1, 0, [183, 0]), "linux_amd64", "ELF for arm64"),
            (
                elf(2, 1, 9, [62, 0]),
                "linux_amd64",
                "ELF of freebsd for amd64",
            ),
            (elf(2, 1, 0, [62, 0]), "windows_amd64", "ELF for amd64"),
            (mach.clone(), "linux_amd64", "Mach-O (macOS) for amd64"),
            (mach, "darwin_arm64", "Mach-O (macOS) for amd64"),
            (
                fat(&[0x0100_0007]),
                "darwin_arm64",
                "Mach-O (macOS) for amd64",
            ),
            (pe(0x8664), "linux_amd64", "PE (Windows) for amd64"),
            (pe(0x8664), "windows_arm64", "PE (Windows) for amd64"),
        ] {
            let program = Program::read(&head).unwrap();
            let (os, arch) = platform.split_once('_').unwrap();
            assert!(!program.is_for(os, arch), "{platform}");
            assert_eq!(program.to_string(), text);
        }
    }

    #[test]
    fn scripts_classes_and_cut_files_are_no_programs_of_a_known_platform() {
        let class = [0xcafe_babe, 52].map(u32::to_be_bytes).concat();
        for head in [
            &b""[..],
            b"#!/bin/sh\n",
            b"\x7fEL",
            b"{}",
            b"\xcf\xfa\xed\xfe",
            &class,
        ] {
            assert_eq!(Program::read(head), None, "{head:?}");
        }
        assert!(Program::read(b"\x7fELF").unwrap().is_for("linux", "amd64"));
        assert!(Program::read(&fat(&[5])).unwrap().is_for("darwin", "arm64"));
    }
}
