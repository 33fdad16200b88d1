//! The checks that a command line selects.

use super::check::Check;
use super::outcome::Group;
use super::table::CHECKS;
use crate::args::DoctorArguments;
use crate::error::Failure;

/// Returns the selected checks in the order of the table.
///
/// # Errors
/// A name that is neither the ID of a check nor the letter of a group, or a selection without checks.
pub(super) fn selected(arguments: &DoctorArguments) -> Result<Vec<&'static Check>, Failure> {
    let only = names("--only", &arguments.only)?;
    let skip = names("--skip", &arguments.skip)?;
    let is_selected = |check: &&Check| {
        (only.is_empty() || only.iter().any(|it| it.names(check)))
            && !skip.iter().any(|it| it.names(check))
    };
    let selected: Vec<&'static Check> = CHECKS.iter().filter(is_selected).collect();
    match selected.is_empty() {
        true => Err(Failure::Usage(
            "--only and --skip leave no check: name other checks".to_owned(),
        )),
        false => Ok(selected),
    }
}

/// The name of a check or of a group.
enum Name {
    Check(&'static str),
    Group(Group),
}

impl Name {
    fn names(&self, check: &Check) -> bool {
        match self {
            Self::Check(id) => check.id == *id,
            Self::Group(group) => check.group == *group,
        }
    }
}

fn names(option: &str, texts: &[String]) -> Result<Vec<Name>, Failure> {
    let texts = texts.iter().map(|text| text.trim());
    texts.map(|text| name(option, text)).collect()
}

fn name(option: &str, text: &str) -> Result<Name, Failure> {
    let mut groups = Group::ALL.iter();
    if let Some(group) = groups.find(|group| group.letter().eq_ignore_ascii_case(text)) {
        return Ok(Name::Group(*group));
    }
    if let Some(check) = CHECKS.iter().find(|it| it.id.eq_ignore_ascii_case(text)) {
        return Ok(Name::Check(check.id));
    }
    let first = text.get(..1).unwrap_or_default();
    let group = CHECKS
        .iter()
        .filter(|check| check.group.letter().eq_ignore_ascii_case(first) && !first.is_empty());
    let known: Vec<&str> = match group.map(|check| check.id).collect::<Vec<_>>() {
        ids if ids.is_empty() => Group::ALL.iter().map(|group| group.letter()).collect(),
        ids => ids,
    };
    let text: String = text.chars().take(20).collect();
    Err(Failure::Usage(format!(
        "{option}: {text:?} is not a check: write some of {}",
        known.join(", ")
    )))
}
