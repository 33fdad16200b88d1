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

/// Returns the reasons as text: their names and values.
fn told(reasons: &[InstallError]) -> String {
    let reasons: Vec<String> = reasons.iter().map(|it| format!("{it:?}")).collect();
    reasons.join("; ")
}

fn provider(more: impl IntoIterator<Item = Entry>) -> String {
    let entries: Vec<Entry> = [file("terraform-provider-x")]
        .into_iter()
        .chain(more)
        .collect();
    told(&check_provider_package(&entries, "x"))
}

fn module(more: impl IntoIterator<Item = Entry>) -> String {
    let entries: Vec<Entry> = [file("main.tf")].into_iter().chain(more).collect();
    told(&check_module_archive(&entries, None))
}

#[test]
fn the_names_that_clients_start_are_accepted() {
    for name in [
        "terraform-provider-x",
        "terraform-provider-x_v1.0.0_x5",
        "terraform-provider-x.exe",
        "terraform-provider-x_",
    ] {
        let entries = [name, "LICENSE", "docs/README.md", "docs/a/b.md"].map(file);
        assert_eq!(check_provider_package(&entries, "x"), [], "{name}");
    }
    // Of the others, the likeliest one is reported.
    for (name, is_told) in [
        ("terraform-provider-xy", true),
        ("terraform-provider-X", true),
        ("terraform-provider-x-1.0", true),
        ("bin/terraform-provider-x", true),
        ("x", false),
    ] {
        let instead = is_told.then_some(name);
        let expected = format!("NoExecutable {{ provider_type: \"x\", instead: {instead:?} }}");
        assert_eq!(
            told(&check_provider_package(&[file(name)], "x")),
            expected,
            "{name}"
        );
    }
    for kind in [EntryKind::Directory, EntryKind::Symlink] {
        let reasons = check_provider_package(&[of_kind("terraform-provider-x", kind)], "x");
        assert!(told(&reasons).starts_with("NoExecutable"), "{kind:?}");
    }
}

#[test]
fn directory_entries_of_a_provider_are_refused_and_counted() {
    let directories = ["docs/", "docs/a/"].map(|name| of_kind(name, EntryKind::Directory));
    let expected = r#"DirectoryEntries { first: "docs/", count: 2 }"#;
    assert_eq!(provider(directories), expected);
}

#[test]
fn entries_that_clients_unpack_otherwise_are_refused() {
    let encrypted = Entry {
        encrypted: true,
        ..file("a")
    };
    let zstd = Entry {
        method: Method::Unsupported(93),
        ..file("a")
    };
    let directory = |name| of_kind(name, EntryKind::Directory);
    let symlink = |name, target| link(name, EntryKind::Symlink, target);
    let below = r#"BelowFile { file: "a", below: "a/b" }"#;
    for (entries, reason) in [
        (vec![encrypted], r#"Encrypted("a")"#),
        (vec![zstd], r#"Method { name: "a", method: 93 }"#),
        (
            vec![link("a", EntryKind::HardLink, "main.tf")],
            r#"HardLink { name: "a", target: "main.tf" }"#,
        ),
        (vec![of_kind("a", EntryKind::Other)], r#"Special("a")"#),
        (vec![file("a"), file("./a")], r#"Duplicate("./a")"#),
        (vec![directory("a/"), file("a")], r#"Duplicate("a")"#),
        (vec![directory("a/"), directory("a")], ""),
        (vec![file("a/b"), file("a-b"), file("a")], below),
        (vec![symlink("a", "c"), file("a/b")], below),
        (vec![directory("a/"), file("a/b")], ""),
        (vec![symlink("a/link", "../main.tf")], ""),
        (
            vec![symlink("a/link", "../../main.tf")],
            r#"LinkEscapes { name: "a/link", target: "../../main.tf" }"#,
        ),
        (vec![of_kind("a", EntryKind::Symlink)], r#"Symlink("a")"#),
    ] {
        assert_eq!(module(entries.clone()), reason, "{entries:?}");
    }
    let symlink = of_kind("link", EntryKind::Symlink);
    assert_eq!(provider([symlink]), r#"Symlink("link")"#);
    for name in ["./LICENSE", "docs//README.md", "docs/./a"] {
        assert_eq!(provider([file(name)]), format!("Unclean({name:?})"));
    }
}

#[test]
fn a_file_that_its_owner_cannot_read_is_refused_in_both_formats_2_3_9_4_9() {
    for mode in [0o100_000, 0, 0o100_222, 0o100_044, 0o333] {
        let (told, kind) = (mode & 0o777, EntryKind::File);
        let reason = format!("Unreadable {{ name: \"README.md\", mode: {told} }}");
        let unreadable = of_mode("README.md", kind, mode);
        assert_eq!(provider([unreadable.clone()]), reason, "{mode:o}");
        assert_eq!(module([unreadable]), reason, "{mode:o}");
    }
    for mode in [Some(0o100_400), Some(0o600), Some(0o444), None] {
        let readable = Entry {
            unix_mode: mode,
            ..file("README.md")
        };
        assert_eq!(provider([readable.clone()]), "", "{mode:?}");
        assert_eq!(module([readable]), "", "{mode:?}");
    }
    // Clients unpack a link as a file.
    let unreadable = Entry {
        unix_mode: Some(0),
        ..link("link", EntryKind::Symlink, "main.tf")
    };
    let reason = r#"Unreadable { name: "link", mode: 0 }"#;
    assert_eq!(module([unreadable]), reason);
    let unreadable = of_mode("main.tf", EntryKind::File, 0o100_040);
    let text = check_module_archive(&[unreadable], None)[0].to_string();
    for part in ["mode 0040", "(chmod -R u+rX)"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_directory_that_its_owner_cannot_list_or_search_is_refused_4_9() {
    for name in ["./", "examples/"] {
        for mode in [0, 0o100, 0o400, 0o300, 0o077] {
            let reason = format!("Unreadable {{ name: {name:?}, mode: {mode} }}");
            let directory = of_mode(name, EntryKind::Directory, mode);
            assert_eq!(module([directory]), reason);
        }
        assert_eq!(module([of_mode(name, EntryKind::Directory, 0o500)]), "");
    }
}

fn of_mode_755(name: &str) -> Entry {
    of_mode(name, EntryKind::File, 0o100_755)
}

/// Returns the warnings about a package for a platform, of files with these first bytes.
fn warnings(entries: &[(Entry, &[u8])], platform: &str) -> Vec<String> {
    let heads = entries.iter().filter(|(_, head)| !head.is_empty());
    let heads = heads.map(|(entry, head)| (entry.name.clone(), head.to_vec()));
    let heads = heads.collect();
    let entries: Vec<Entry> = entries.iter().map(|(entry, _)| entry.clone()).collect();
    let (os, arch) = platform.split_once('_').unwrap();
    let mut warnings = provider_package_warnings(&entries, "x", os, &heads);
    warnings.extend(foreign_executable_warning(
        &entries,
        "x",
        (os, arch),
        &heads,
    ));
    warnings
}

/// The first bytes of an executable for linux_amd64.
const ELF: &[u8] = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0";

#[test]
fn a_provider_that_cannot_start_gives_a_warning() {
    let dos = Entry {
        unix_mode: None,
        ..file("terraform-provider-x")
    };
    let executable = || (of_mode_755("terraform-provider-x_v1.0.0"), ELF);
    let exe = |head: &'static [u8]| (of_mode_755("terraform-provider-x_v1.0.0.exe"), head);
    let sbom = || file("terraform-provider-x.sbom.json");
    let other = "clients start \"terraform-provider-x.sbom.json\", the first file at the root with the provider's name, \
                 and not \"terraform-provider-x_v1.0.0";
    let not_marked = "\"terraform-provider-x\" is not marked executable";
    let script = || (of_mode_755("terraform-provider-x"), &b"#!/bin/sh\n"[..]);
    for (files, platform, warning) in [
        (vec![(dos, &b""[..])], "darwin_arm64", not_marked),
        (
            vec![(file("terraform-provider-x"), b"")],
            "linux_amd64",
            not_marked,
        ),
        (vec![(executable().0, b"")], "linux_amd64", ""),
        (
            vec![(file("terraform-provider-x.EXE"), b"")],
            "windows_amd64",
            "",
        ),
        (
            vec![(executable().0, b"")],
            "windows_amd64",
            "\"terraform-provider-x_v1.0.0\" does not end in .exe",
        ),
        // The executable is known by its mode, or by its first bytes.
        (
            vec![(executable().0, b""), (sbom(), b"")],
            "linux_amd64",
            other,
        ),
        (
            vec![executable(), (of_mode_755(&sbom().name), b"{}")],
            "linux_amd64",
            other,
        ),
        (vec![exe(b"MZ"), (sbom(), b"{}")], "windows_amd64", other),
        // A file of another name or directory, and a script that starts the other one.
        (
            vec![executable(), (file("terraform-provider-x_v1.0.0.md"), b"")],
            "linux_amd64",
            "",
        ),
        (
            vec![
                executable(),
                (of_mode_755("docs/terraform-provider-x"), b""),
            ],
            "linux_amd64",
            "",
        ),
        (vec![executable(), script()], "linux_amd64", ""),
        (vec![script()], "linux_amd64", ""),
        (
            vec![executable()],
            "linux_arm64",
            "(ELF for amd64), so it cannot start on linux_arm64",
        ),
        (
            vec![executable()],
            "darwin_amd64",
            "(ELF for amd64), so it cannot start on darwin_amd64",
        ),
    ] {
        let told = warnings(&files, platform);
        assert_eq!(told.len(), usize::from(!warning.is_empty()), "{told:?}");
        assert!(told.concat().contains(warning), "{warning}: {told:?}");
    }
}

#[test]
fn a_module_needs_configuration_that_clients_read() {
    for (names, is_told) in [
        (
            "main.tf ./main.tf main.tofu main.tf.json main.tofu.json modules/a/main.tf",
            false,
        ),
        (
            "README.md main.tf.bak main.tf~ .hidden.tf .terraform/modules/a/main.tf tf __MACOSX/._main.tf",
            true,
        ),
    ] {
        for name in names.split(' ') {
            let directories = ["./", "modules/"].map(|name| of_kind(name, EntryKind::Directory));
            let entries = [&directories[..], &[file(name)]].concat();
            let reasons = check_module_archive(&entries, None);
            let expected = match is_told {
                true => "NoConfiguration { subdir: None, instead: None }",
                false => "",
            };
            assert_eq!(told(&reasons), expected, "{name}");
        }
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
    let nothing = |subdir| {
        format!(
            "NoConfiguration {{ subdir: Some({subdir:?}), instead: Some(\"./modules/vpc/main.tf\") }}"
        )
    };
    let outside = r#"Subdir { subdir: "../x", fault: Parent }"#.to_owned();
    for (subdir, reason) in [
        ("module", nothing("module")),
        ("modules/vp", nothing("modules/vp")),
        ("vpc", nothing("vpc")),
        ("../x", outside),
    ] {
        let reasons = check_module_archive(&entries, Some(subdir));
        assert_eq!(told(&reasons), reason);
    }
}

#[test]
fn paths_that_lead_out_of_the_archive_are_refused_for_providers_and_modules() {
    for (name, fault) in [
        ("../evil", "Parent"),
        ("a/../../evil", "Parent"),
        ("/etc/cron.d/evil", "Absolute"),
        ("C:/evil", "Drive"),
        ("a\\..\\evil", "Backslash"),
        ("a\0b", "Control"),
        ("", "Empty"),
        ("./", "Empty"),
    ] {
        let reason = format!("Path {{ name: {name:?}, fault: {fault} }}");
        assert_eq!(module([file(name)]), reason);
        assert!(provider([file(name)]).contains(&reason), "{name:?}");
    }
}

#[test]
fn links_secrets_and_names_that_differ_in_case_give_a_module_a_warning() {
    let symlink = |name| link(name, EntryKind::Symlink, "c");
    for (entries, warning) in [
        (
            vec![symlink("a"), file("c"), symlink("b")],
            "(2 in the archive, the first is \"a\")",
        ),
        (
            vec![file("a/terraform.tfvars"), file("b/tls.key"), file("c")],
            "(2, the first is \"a/terraform.tfvars\")",
        ),
        (vec![file("server.PEM")], "(1, the first is \"server.PEM\")"),
        (
            vec![file("main.tf"), file("a"), file("MAIN.tf")],
            "\"main.tf\" and \"MAIN.tf\" differ",
        ),
    ] {
        let told = module_archive_warnings(&entries);
        assert!(told.len() == 1 && told[0].contains(warning), "{told:?}");
    }
    let harmless = ["main.tf", "keys.tf", "docs/.envrc.md"].map(file);
    assert_eq!(module_archive_warnings(&harmless), [""; 0]);
}

#[test]
fn contradictory_sizes_are_refused() {
    for (kind, method, compressed, uncompressed, is_told) in [
        (EntryKind::File, Method::Stored, 10, 11, true),
        (EntryKind::File, Method::Deflate, 1_000, 1_100_001, true),
        (EntryKind::File, Method::Deflate, 0, 1, true),
        (EntryKind::File, Method::Deflate, 1_000, 1_032_000, false),
        (EntryKind::File, Method::Deflate, 2, 0, false),
        (EntryKind::Directory, Method::Deflate, 2, 1, true),
        (EntryKind::Directory, Method::Deflate, 2, 0, false),
    ] {
        let entry = Entry {
            method,
            compressed,
            uncompressed,
            ..of_kind("a", kind)
        };
        let reason = format!(
            "Sizes {{ name: \"a\", compressed: {compressed}, uncompressed: {uncompressed} }}"
        );
        let expected = if is_told { &*reason } else { "" };
        assert_eq!(module([entry]), expected, "{reason}");
    }
}

#[test]
fn all_reasons_are_reported_at_once_up_to_the_limit_and_their_names_are_escaped() {
    let name = format!("../\u{1b}[31m{}", "n".repeat(4_000));
    let mut entries = vec![file("terraform-provider-x"), file(&name)];
    entries.extend((1..1_000).map(|number| file(&format!("../{number}"))));
    let reasons = check_provider_package(&entries, "x");
    assert_eq!(reasons.len(), limits::REASONS + 1);
    let more = InstallError::More(1_000 - limits::REASONS);
    assert_eq!(reasons.last(), Some(&more));
    let text = reasons[0].to_string();
    assert!(text.contains("\\u{1b}") && text.len() < 300, "{text}");
}

#[test]
fn a_large_hostile_list_is_checked_quickly() {
    let deep = "a/".repeat(limits::DEPTH - 1);
    let entries: Vec<Entry> = (0..limits::ENTRIES)
        .map(|number| file(&format!("{deep}{number}")))
        .collect();
    assert_eq!(check_module_archive(&entries, None).len(), 1);
}
