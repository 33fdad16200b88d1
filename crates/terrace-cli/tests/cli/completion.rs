//! The completion of the command by shells.

use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::support::{directory, ended, terrace, words};

/// Writes the script for a shell into a directory.
fn script(shell: &str) -> TempDir {
    let script = ended(&mut terrace(&["completion", shell])).expect(0);
    assert!(script.stderr.is_empty(), "{script:?}");
    directory(&[("script", &script.stdout)])
}

/// Returns the words that bash offers for the last of these words.
fn offered_in_bash(folder: &TempDir, words: &[&str]) -> Option<Vec<String>> {
    let call = r#"
        source ./script || exit 1
        complete -p terrace | grep -q -- "-F _terrace_words_or_files .*terrace" || exit 2
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
        _terrace_words_or_files terrace "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        [[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-c", call, "bash"]);
    bash.args(words).current_dir(folder.path());
    let Ok(output) = bash.stdin(Stdio::null()).output() else {
        eprintln!("skipped: bash is not on this machine");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let offered = String::from_utf8(output.stdout).unwrap();
    Some(offered.lines().map(str::to_owned).collect())
}

#[test]
fn bash_completes_commands_flags_values_and_files() {
    let folder = script("bash");
    for (line, expected) in [
        ("terrace pub", "publish"),
        ("terrace publish m", "module modules"),
        ("terrace --quiet mirror s", "sync"),
        ("terrace completion ", "bash elvish fish powershell zsh"),
        ("terrace admin gc --ye", "--yes"),
        // Without an offer, bash completes the names of files.
        ("terrace admin import ", ""),
        ("terrace admin audit --copy scr", "script"),
    ] {
        let Some(offered) = offered_in_bash(&folder, &words(line)) else {
            return;
        };
        assert_eq!(offered.join(" "), expected, "{line}");
    }
}
