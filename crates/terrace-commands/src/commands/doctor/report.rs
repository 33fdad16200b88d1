//! The result of all checks: for people, and for programs.

use std::time::Duration;

use serde_json::{Value, json};

use super::Made;
use super::finding::Status;
use super::table::GROUPS;
use crate::error::Exit;
use crate::output::{Mark, Screen, plural};

/// Returns the command that explains a check.
fn link(id: &str) -> String {
    format!("terrace doctor --explain {id}")
}

/// Returns the checks of each group that has some, with its letter and heading.
fn groups(made: &[Made]) -> Vec<(&'static str, &'static str, Vec<&Made>)> {
    let checks = |letter: &str| -> Vec<&Made> {
        let of_group = made.iter().filter(|it| it.check.group() == letter);
        of_group.collect()
    };
    let groups = GROUPS
        .iter()
        .map(|(letter, title)| (*letter, *title, checks(letter)));
    groups.filter(|(.., checks)| !checks.is_empty()).collect()
}

fn count(made: &[Made], status: Status) -> usize {
    made.iter().filter(|it| it.finding.status == status).count()
}

/// Returns the result for people: a line for each check, and what to do about each problem.
pub(super) fn screen(subject: &str, made: &[Made], took: Duration) -> Screen {
    let mut screen = Screen::new();
    screen.text(subject);
    let titles = made.iter().map(|made| made.check.title.chars().count());
    let columns = titles.max().unwrap_or_default();
    for (_, title, checks) in groups(made) {
        screen.title(title);
        for Made { check, finding, .. } in checks {
            let is_problem = finding.is_problem();
            let note = if is_problem { "" } else { &finding.observed };
            let mark = mark(finding.status);
            screen.check(mark, check.id, (check.title, columns), note);
            if is_problem {
                screen.details(&[
                    ("found", &finding.observed),
                    ("cause", &finding.cause),
                    ("fix", &finding.fix),
                    ("more", &link(check.id)),
                ]);
            }
        }
    }
    let worst = made.iter().map(|made| made.finding.status);
    let worst = worst.filter(|status| *status != Status::Skip).max();
    let summary = format!("{} in {:.1} s", counted(made), took.as_secs_f64());
    screen.summary(mark(worst.unwrap_or(Status::Skip)), &summary);
    screen
}

fn counted(made: &[Made]) -> String {
    let [failed, warned, skipped] =
        [Status::Fail, Status::Warn, Status::Skip].map(|status| count(made, status));
    let parts = [
        (failed > 0).then(|| format!("{failed} failed")),
        (warned > 0).then(|| plural(warned, "warning")),
        Some(format!("{} passed", count(made, Status::Pass))),
        (skipped > 0).then(|| format!("{skipped} skipped")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn mark(status: Status) -> Mark {
    match status {
        Status::Pass => Mark::Passed,
        Status::Skip => Mark::Skipped,
        Status::Warn => Mark::Warning,
        Status::Fail => Mark::Failed,
    }
}

/// Returns the result for programs: the shape of `linkerd check`, with more members.
pub(super) fn document(url: Option<&str>, made: &[Made], exit: Exit) -> Value {
    let categories = groups(made).into_iter().map(|(letter, title, checks)| {
        let checks: Vec<Value> = checks.into_iter().map(check).collect();
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
        "passed": count(made, Status::Pass),
        "warned": count(made, Status::Warn),
        "failed": count(made, Status::Fail),
        "skipped": count(made, Status::Skip),
        "categories": categories.collect::<Vec<_>>(),
    })
}

fn check(made: &Made) -> Value {
    let Made {
        check,
        finding,
        took,
    } = made;
    let (result, status) = match finding.status {
        Status::Pass => ("success", "pass"),
        Status::Skip => ("skipped", "skip"),
        Status::Warn => ("warning", "warn"),
        Status::Fail => ("error", "fail"),
    };
    let mut document = json!({
        "id": check.id,
        "description": check.title,
        "result": result,
        "status": status,
        "observed": finding.observed,
        "ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    });
    if let (true, Value::Object(members)) = (finding.is_problem(), &mut document) {
        members.insert("hint".to_owned(), json!(link(check.id)));
        members.insert("error".to_owned(), json!(finding.cause));
        members.insert("fix".to_owned(), json!(finding.fix));
    }
    document
}
