//! The result of all checks: for people, and for programs.

use serde_json::{Value, json};

use super::Made;
use super::table::GROUPS;
use crate::error::Exit;
use crate::output::{Mark, Screen, plural};

/// Returns the command that explains a check.
fn link(id: &str) -> String {
    format!("terrace doctor --explain {id}")
}

/// Returns the checks of each group that has some, with its letter and heading.
fn groups(made: &[Made]) -> impl Iterator<Item = (&'static str, &'static str, &[Made])> {
    let groups = made.chunk_by(|one, next| one.check.group() == next.check.group());
    groups.filter_map(|checks| {
        let of_group = checks.first()?.check.group();
        let (letter, title) = GROUPS.iter().find(|(letter, _)| *letter == of_group)?;
        Some((*letter, *title, checks))
    })
}

fn count(made: &[Made], mark: Mark) -> usize {
    made.iter().filter(|it| it.finding.mark == mark).count()
}

/// Returns the result for people: a line for each check, and what to do about each problem.
pub(super) fn screen(subject: &str, made: &[Made]) -> Screen {
    let mut screen = Screen::new();
    screen.text(subject);
    let titles = made.iter().map(|made| made.check.title.chars().count());
    let columns = titles.max().unwrap_or_default();
    for (_, title, checks) in groups(made) {
        screen.title(title);
        for Made { check, finding } in checks {
            let is_problem = finding.is_problem();
            let note = if is_problem { "" } else { &finding.observed };
            screen.check(finding.mark, check.id, (check.title, columns), note);
            if is_problem {
                let [cause, fix] = finding.cause_and_fix(check.id);
                screen.details(&[
                    ("found", &finding.observed),
                    ("cause", cause),
                    ("fix", fix),
                    ("more", &link(check.id)),
                ]);
            }
        }
    }
    let problems = made.iter().map(|it| &it.finding);
    let problems = problems.filter(|it| it.is_problem()).map(|it| it.mark);
    screen.summary(problems.max().unwrap_or(Mark::Passed), &counted(made));
    screen
}

fn counted(made: &[Made]) -> String {
    let [failed, warned, skipped] =
        [Mark::Failed, Mark::Warning, Mark::Skipped].map(|mark| count(made, mark));
    let parts = [
        (failed > 0).then(|| format!("{failed} failed")),
        (warned > 0).then(|| plural(warned, "warning")),
        Some(format!("{} passed", count(made, Mark::Passed))),
        (skipped > 0).then(|| format!("{skipped} skipped")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the result for programs: the shape of `linkerd check`, with more members.
pub(super) fn document(url: Option<&str>, made: &[Made], exit: Exit) -> Value {
    let categories = groups(made).map(|(letter, title, checks)| {
        let checks: Vec<Value> = checks.iter().map(check).collect();
        json!({ "categoryName": title, "group": letter, "checks": checks })
    });
    let status = match exit {
        Exit::Success => "ok",
        Exit::Unavailable => "unavailable",
        Exit::Rejected => "refused",
        _ => "warnings",
    };
    json!({
        "success": !matches!(exit, Exit::Rejected | Exit::Unavailable),
        "status": status,
        "exit_code": exit.code(),
        "url": url,
        "passed": count(made, Mark::Passed),
        "warned": count(made, Mark::Warning),
        "failed": count(made, Mark::Failed),
        "skipped": count(made, Mark::Skipped),
        "categories": categories.collect::<Vec<_>>(),
    })
}

fn check(Made { check, finding }: &Made) -> Value {
    let (result, status) = match finding.mark {
        Mark::Passed => ("success", "pass"),
        Mark::Skipped => ("skipped", "skip"),
        Mark::Warning => ("warning", "warn"),
        Mark::Failed => ("error", "fail"),
    };
    let mut document = json!({
        "id": check.id,
        "description": check.title,
        "result": result,
        "status": status,
        "observed": finding.observed,
    });
    if let (true, Some(members)) = (finding.is_problem(), document.as_object_mut()) {
        let [cause, fix] = finding.cause_and_fix(check.id);
        members.insert("hint".to_owned(), json!(link(check.id)));
        members.insert("error".to_owned(), json!(cause));
        members.insert("fix".to_owned(), json!(fix));
    }
    document
}
