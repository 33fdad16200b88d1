use super::*;

fn file(name: &str) -> Entry {
    Entry::file(name, 10)
}

fn of_kind(name: &str, kind: EntryKind) -> Entry {
    Entry {
        kind,
        unix_mode: Some(0o755),
        ..Entry::file(name, 0)
    }
}

fn of_mode(name: &str, kind: EntryKind, mode: u32) -> Entry {
    Entry {
        unix_mode: Some(mode),
        ..of_kind(name, kind)
    }
}

fn link(name: &str, kind: EntryKind, target: &str) -> Entry {
    Entry {
        link_target: Some(target.into()),
        ..of_kind(name, kind)
    }
}

fn provider(more: impl IntoIterator<Item = Entry>) -> Vec<InstallError> {
    let entries: Vec<Entry> = [file("terraform-provider-x")]
        .into_iter()
        .chain(more)
        .collect();
    check_provider_package(&entries, "x")
}

fn module(more: impl IntoIterator<Item = Entry>) -> Vec<InstallError> {
    let entries: Vec<Entry> = [file("main.tf")].into_iter().chain(more).collect();
    check_module_archive(&entries, None)
}

#[test]
fn a_usual_provider_has_no_reasons() {
    assert_eq!(
        provider([file("LICENSE"), file("docs/README.md"), file("docs/a/b.md")]),
        []
    );
}

#[test]
fn the_names_that_clients_start_are_accepted() {
    for name in [
        "terraform-provider-x",
        "terraform-provider-x_v1.0.0_x5",
        "terraform-provider-x.exe",
        "terraform-provider-x_",
    ] {
        assert_eq!(check_provider_package(&[file(name)], "x"), [], "{name}");
    }
}

#[test]
fn another_name_is_refused_and_the_likeliest_file_is_reported() {
    for (name, told) in [
        ("terraform-provider-xy", true),
        ("terraform-provider-X", true),
        ("terraform-provider-x-1.0", true),
        ("bin/terraform-provider-x", true),
        ("x", false),
    ] {
        assert_eq!(
            check_provider_package(&[file(name)], "x"),
            [InstallError::NoExecutable {
                provider_type: "x".into(),
                instead: told.then(|| name.into())
            }],
            "{name}"
        );
    }
}

#[test]
fn a_directory_or_link_is_not_an_executable() {
    for kind in [EntryKind::Directory, EntryKind::Symlink] {
        let reasons = check_provider_package(&[of_kind("terraform-provider-x", kind)], "x");
        assert!(
            matches!(reasons.first(), Some(InstallError::NoExecutable { .. })),
            "{kind:?}"
        );
    }
}

#[test]
fn directory_entries_of_a_provider_are_refused_and_counted() {
    let reasons = provider([
        of_kind("docs/", EntryKind::Directory),
        of_kind("docs/a/", EntryKind::Directory),
    ]);
    assert_eq!(
        reasons,
        [InstallError::DirectoryEntries {
            first: "docs/".into(),
            count: 2
        }]
    );
    assert!(reasons[0].to_string().contains("lock file"));
}

#[test]
fn a_provider_entry_whose_name_changes_when_unpacked_is_refused() {
    for name in ["./LICENSE", "docs//README.md", "docs/./a"] {
        assert_eq!(provider([file(name)]), [InstallError::Unclean(name.into())]);
    }
}

#[test]
fn a_link_in_a_provider_is_refused() {
    assert_eq!(
        provider([of_kind("link", EntryKind::Symlink)]),
        [InstallError::Symlink("link".into())]
    );
}

#[test]
fn a_file_that_its_owner_cannot_read_is_refused_in_both_formats_2_3_9_4_9() {
    for mode in [0o100_000, 0, 0o100_222, 0o100_044, 0o333] {
        let reason = [InstallError::Unreadable {
            name: "README.md".into(),
            mode: mode & 0o777,
        }];
        let unreadable = of_mode("README.md", EntryKind::File, mode);
        assert_eq!(provider([unreadable.clone()]), reason, "{mode:o}");
        assert_eq!(module([unreadable]), reason, "{mode:o}");
    }
    for mode in [0o100_400, 0o600, 0o444] {
        let readable = of_mode("README.md", EntryKind::File, mode);
        assert_eq!(provider([readable.clone()]), [], "{mode:o}");
        assert_eq!(module([readable]), [], "{mode:o}");
    }
    let without_modes = Entry {
        unix_mode: None,
        ..file("README.md")
    };
    assert_eq!(module([without_modes]), []);
}

#[test]
fn a_directory_that_its_owner_cannot_list_or_search_is_refused_4_9() {
    for name in ["./", "examples/"] {
        for mode in [0, 0o100, 0o400, 0o300, 0o077] {
            assert_eq!(
                module([of_mode(name, EntryKind::Directory, mode)]),
                [InstallError::Unreadable {
                    name: name.into(),
                    mode,
                }],
                "{name} {mode:o}"
            );
        }
        assert_eq!(module([of_mode(name, EntryKind::Directory, 0o500)]), []);
    }
}

#[test]
fn a_link_that_unpacks_as_an_unreadable_file_is_refused() {
    let link = Entry {
        unix_mode: Some(0),
        ..link("link", EntryKind::Symlink, "main.tf")
    };
    assert_eq!(
        module([link]),
        [InstallError::Unreadable {
            name: "link".into(),
            mode: 0
        }]
    );
}

#[test]
fn an_unreadable_entry_is_reported_with_its_mode_and_the_fix() {
    let reason = module([of_mode("a.tf", EntryKind::File, 0o100_040)]).remove(0);
    let text = reason.to_string();
    for part in ["\"a.tf\"", "0040", "chmod -R u+rX"] {
        assert!(text.contains(part), "{text}");
    }
}

fn of_mode_755(name: &str) -> Entry {
    of_mode(name, EntryKind::File, 0o100_755)
}

/// Returns the warnings about a package for a platform, of files with these first bytes.
fn warnings(entries: &[(Entry, &[u8])], platform: &str) -> Vec<ArchiveWarning> {
    let heads = entries.iter().filter(|(_, head)| !head.is_empty());
    let heads = heads.map(|(entry, head)| (entry.name.clone(), head.to_vec()));
    let heads = heads.collect();
    let entries: Vec<Entry> = entries.iter().map(|(entry, _)| entry.clone()).collect();
    provider_package_warnings(&entries, "x", platform.split_once('_').unwrap(), &heads)
}

/// The first bytes of an executable for linux_amd64.
const ELF: &[u8] = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0";

#[test]
fn an_executable_without_its_mode_bit_gives_a_warning_where_modes_matter() {
    let told = [ArchiveWarning::NotExecutable("terraform-provider-x".into())];
    let dos = Entry {
        unix_mode: None,
        ..file("terraform-provider-x")
    };
    for entry in [file("terraform-provider-x"), dos] {
        assert_eq!(warnings(&[(entry, b"")], "darwin_arm64"), told);
    }
    assert_eq!(
        warnings(&[(of_mode_755("terraform-provider-x"), b"")], "linux_amd64"),
        []
    );
}

#[test]
fn windows_needs_the_extension_and_no_mode() {
    for name in [
        "terraform-provider-x_v1.0.0.exe",
        "terraform-provider-x.EXE",
    ] {
        assert_eq!(warnings(&[(file(name), b"")], "windows_amd64"), []);
    }
    let name = "terraform-provider-x_v1.0.0";
    assert_eq!(
        warnings(&[(of_mode_755(name), b"")], "windows_amd64"),
        [ArchiveWarning::NotExe(name.into())]
    );
}

#[test]
fn a_file_that_clients_start_in_place_of_the_executable_is_reported_with_it() {
    let executable = || of_mode_755("terraform-provider-x_v1.0.0");
    let other = |name: &str| ArchiveWarning::OtherStarted {
        started: name.into(),
        executable: executable().name,
    };
    let sbom = "terraform-provider-x.sbom.json";
    // By its mode, or by its first bytes.
    assert_eq!(
        warnings(&[(executable(), b""), (file(sbom), b"")], "linux_amd64"),
        [other(sbom)]
    );
    let started = [(executable(), ELF), (of_mode_755(sbom), b"{}")];
    assert_eq!(warnings(&started, "linux_amd64"), [other(sbom)]);
    let exe = of_mode_755("terraform-provider-x_v1.0.0.exe");
    let started = [(exe, b"MZ".as_slice()), (file(sbom), b"{}")];
    assert!(matches!(
        warnings(&started, "windows_amd64")[..],
        [ArchiveWarning::OtherStarted { .. }]
    ));
    for harmless in [
        (file("terraform-provider-x_v1.0.0.md"), &b"# x"[..]),
        (of_mode_755("docs/terraform-provider-x"), b""),
        (of_mode_755("terraform-provider-xy"), b""),
        // A script that starts the other file.
        (of_mode_755("terraform-provider-x"), b"#!/bin/sh\n"),
    ] {
        assert_eq!(
            warnings(&[(executable(), ELF), harmless], "linux_amd64"),
            []
        );
    }
}

#[test]
fn an_executable_for_another_platform_is_reported_and_a_script_is_not() {
    let package = [(of_mode_755("terraform-provider-x"), ELF)];
    for (platform, is_told) in [
        ("linux_amd64", false),
        ("linux_arm64", true),
        ("darwin_amd64", true),
    ] {
        let told = warnings(&package, platform);
        assert_eq!(!told.is_empty(), is_told, "{platform}: {told:?}");
    }
    let text = warnings(&package, "darwin_arm64")[0].to_string();
    for part in ["ELF for amd64", "darwin_arm64"] {
        assert!(text.contains(part), "{text}");
    }
    let script = [(
        of_mode_755("terraform-provider-x"),
        b"#!/bin/sh\n".as_slice(),
    )];
    assert_eq!(warnings(&script, "linux_amd64"), []);
}

#[test]
fn a_usual_module_has_no_reasons() {
    for name in [
        "main.tf",
        "./main.tf",
        "main.tofu",
        "main.tf.json",
        "main.tofu.json",
        "modules/a/main.tf",
    ] {
        let entries = [
            of_kind("./", EntryKind::Directory),
            of_kind("modules/", EntryKind::Directory),
            file(name),
        ];
        assert_eq!(check_module_archive(&entries, None), [], "{name}");
    }
}

#[test]
fn a_module_needs_configuration_that_clients_read() {
    for name in [
        "README.md",
        "main.tf.bak",
        "main.tf~",
        ".hidden.tf",
        ".terraform/modules/a/main.tf",
        "tf",
        "__MACOSX/._main.tf",
    ] {
        assert_eq!(
            check_module_archive(&[file(name)], None),
            [InstallError::NoConfiguration {
                subdir: None,
                instead: None
            }],
            "{name}"
        );
    }
    let directory = of_kind("main.tf", EntryKind::Directory);
    assert!(!check_module_archive(&[directory], None).is_empty());
}

#[test]
fn the_configuration_must_be_below_the_subdirectory() {
    let entries = [file("./modules/vpc/main.tf")];
    for subdir in ["modules", "modules/vpc", "./modules/vpc/", "."] {
        assert_eq!(check_module_archive(&entries, Some(subdir)), [], "{subdir}");
    }
    for subdir in ["module", "modules/vp", "vpc"] {
        assert_eq!(
            check_module_archive(&entries, Some(subdir)),
            [InstallError::NoConfiguration {
                subdir: Some(subdir.into()),
                instead: Some("./modules/vpc/main.tf".into())
            }],
            "{subdir}"
        );
    }
}

#[test]
fn a_subdirectory_outside_the_archive_is_refused() {
    assert_eq!(
        check_module_archive(&[file("main.tf")], Some("../x")),
        [InstallError::Subdir {
            subdir: "../x".into(),
            fault: PathError::Parent
        }]
    );
}

#[test]
fn paths_that_lead_out_of_the_archive_are_refused_for_providers_and_modules() {
    for (name, fault) in [
        ("../evil", PathError::Parent),
        ("a/../../evil", PathError::Parent),
        ("/etc/cron.d/evil", PathError::Absolute),
        ("C:/evil", PathError::Drive),
        ("a\\..\\evil", PathError::Backslash),
        ("a\0b", PathError::Control),
        ("", PathError::Empty),
        ("./", PathError::Empty),
    ] {
        let reason = || {
            vec![InstallError::Path {
                name: name.into(),
                fault,
            }]
        };
        assert_eq!(module([file(name)]), reason(), "{name:?}");
        assert!(provider([file(name)]).contains(&reason()[0]), "{name:?}");
    }
}

#[test]
fn duplicate_files_are_refused_but_duplicate_directories_are_accepted() {
    assert_eq!(
        module([file("a"), file("./a")]),
        [InstallError::Duplicate("./a".into())]
    );
    assert_eq!(
        module([
            of_kind("a/", EntryKind::Directory),
            of_kind("a", EntryKind::Directory)
        ]),
        []
    );
    assert_eq!(
        module([of_kind("a/", EntryKind::Directory), file("a")]),
        [InstallError::Duplicate("a".into())]
    );
}

#[test]
fn an_entry_below_a_file_or_link_is_refused() {
    let below = || {
        vec![InstallError::BelowFile {
            file: "a".into(),
            below: "a/b".into(),
        }]
    };
    assert_eq!(module([file("a/b"), file("a-b"), file("a")]), below());
    assert_eq!(
        module([link("a", EntryKind::Symlink, "c"), file("a/b")]),
        below()
    );
    assert_eq!(
        module([of_kind("a/", EntryKind::Directory), file("a/b")]),
        []
    );
}

#[test]
fn a_module_link_that_may_lead_outside_is_refused() {
    assert_eq!(
        module([link("a/link", EntryKind::Symlink, "../main.tf")]),
        []
    );
    assert_eq!(
        module([link("a/link", EntryKind::Symlink, "../../main.tf")]),
        [InstallError::LinkEscapes {
            name: "a/link".into(),
            target: "../../main.tf".into()
        }]
    );
    assert_eq!(
        module([of_kind("link", EntryKind::Symlink)]),
        [InstallError::Symlink("link".into())]
    );
}

#[test]
fn links_of_a_module_give_a_warning() {
    let entries = [
        link("a", EntryKind::Symlink, "c"),
        file("c"),
        link("b", EntryKind::Symlink, "c"),
    ];
    assert_eq!(
        module_archive_warnings(&entries),
        [ArchiveWarning::Symlinks {
            first: "a".into(),
            count: 2
        }]
    );
    assert_eq!(module_archive_warnings(&[file("c")]), []);
}

#[test]
fn files_that_may_hold_secrets_give_a_warning() {
    for name in [
        ".env",
        "a/terraform.tfvars",
        "x.auto.tfvars.json",
        "Terraform.TFState",
        "terraform.tfstate.backup",
        ".git/config",
        "deep/.aws/credentials",
        "id_rsa",
        "tls.key",
        "plan.tfplan",
    ] {
        let warnings = module_archive_warnings(&[file("main.tf"), file(name)]);
        assert_eq!(
            warnings,
            [ArchiveWarning::Secrets {
                first: name.into(),
                count: 1
            }]
        );
    }
    let harmless = [
        "main.tf",
        "environment.tf",
        "keys.tf",
        "docs/.envrc.md",
        ".gitignore",
    ];
    assert_eq!(module_archive_warnings(&harmless.map(file)), []);
}

#[test]
fn names_that_differ_only_in_case_give_a_warning() {
    assert_eq!(
        module_archive_warnings(&[file("main.tf"), file("a"), file("MAIN.tf")]),
        [ArchiveWarning::SameButForCase {
            one: "main.tf".into(),
            other: "MAIN.tf".into()
        }]
    );
}

#[test]
fn hard_links_and_special_files_are_refused() {
    assert_eq!(
        module([link("hard", EntryKind::HardLink, "main.tf")]),
        [InstallError::HardLink {
            name: "hard".into(),
            target: "main.tf".into()
        }]
    );
    assert_eq!(
        module([of_kind("tty", EntryKind::Other)]),
        [InstallError::Special("tty".into())]
    );
}

#[test]
fn entries_that_clients_cannot_unpack_are_refused() {
    let encrypted = Entry {
        encrypted: true,
        ..file("a")
    };
    assert_eq!(module([encrypted]), [InstallError::Encrypted("a".into())]);
    let zstd = Entry {
        method: Method::Unsupported(93),
        ..file("a")
    };
    assert_eq!(
        module([zstd]),
        [InstallError::Method {
            name: "a".into(),
            method: 93
        }]
    );
}

#[test]
fn contradictory_sizes_are_refused() {
    let sized = |kind, method, compressed, uncompressed| {
        let entry = Entry {
            method,
            compressed,
            uncompressed,
            ..of_kind("a", kind)
        };
        module([entry])
            == [InstallError::Sizes {
                name: "a".into(),
                compressed,
                uncompressed,
            }]
    };
    assert!(sized(EntryKind::File, Method::Stored, 10, 11));
    assert!(sized(EntryKind::File, Method::Deflate, 1_000, 1_100_001));
    assert!(sized(EntryKind::File, Method::Deflate, 0, 1));
    assert!(!sized(EntryKind::File, Method::Deflate, 1_000, 1_032_000));
    assert!(!sized(EntryKind::File, Method::Deflate, 2, 0));
    assert!(sized(EntryKind::Directory, Method::Deflate, 2, 1));
    assert!(!sized(EntryKind::Directory, Method::Deflate, 2, 0));
}

#[test]
fn all_reasons_are_reported_at_once_up_to_the_limit() {
    let reasons = provider((0..1_000).map(|number| file(&format!("../{number}"))));
    assert_eq!(reasons.len(), limits::REASONS + 1);
    assert_eq!(
        reasons.last(),
        Some(&InstallError::More(1_000 - limits::REASONS))
    );
}

#[test]
fn every_reason_shows_the_entry_escaped_and_shortened() {
    let name = format!("../\u{1b}[31m{}", "n".repeat(4_000));
    let text = provider([file(&name)])[0].to_string();
    assert!(
        text.contains("\\u{1b}") && text.contains("contains a control character: rename"),
        "{text}"
    );
    assert!(text.len() < 300, "{}", text.len());
}

#[test]
fn a_large_hostile_list_is_checked_quickly() {
    let deep = "a/".repeat(limits::DEPTH - 1);
    let entries: Vec<Entry> = (0..limits::ENTRIES)
        .map(|number| file(&format!("{deep}{number}")))
        .collect();
    assert_eq!(check_module_archive(&entries, None).len(), 1);
}
