//! The result of all checks: for people, and for programs.

use std::time::Duration;

use serde_json::{Value, json};

use super::check::Made;
use super::engine::Counts;
use super::outcome::{Group, Status};
use crate::error::Exit;
use crate::output::{Mark, Screen, plural};

/// The page that explains every check.
const PAGE: &str = "docs/doctor.md";

/// Returns the address of the section about a check.
fn link(id: &str) -> String {
    format!("{PAGE}#{}", id.to_ascii_lowercase())
}

/// Returns the result for people: a line for each check, and what to do about each problem.
pub(super) fn screen(subject: &str, made: &[Made], took: Duration) -> Screen {
    let mut screen = Screen::new();
    screen.text(subject);
    let titles = made.iter().map(|made| made.check.title.chars().count());
    let columns = titles.max().unwrap_or_default();
    for group in Group::ALL {
        let of_group: Vec<&Made> = made.iter().filter(|it| it.check.group == group).collect();
        if !of_group.is_empty() {
            screen.title(group.title());
        }
        for Made { check, outcome, .. } in of_group {
            let note = match outcome.is_problem() {
                true => "",
                false => &outcome.observed,
            };
            let text = (check.title, columns);
            screen.check(mark(outcome.status), check.id, text, note);
            if outcome.is_problem() {
                screen.details(&[
                    ("found", &outcome.observed),
                    ("cause", &outcome.cause),
                    ("fix", &outcome.fix),
                    ("more", &link(check.id)),
                ]);
            }
        }
    }
    let worst = made.iter().map(|made| made.outcome.status);
    let worst = worst.filter(|status| *status != Status::Skip).max();
    let seconds = took.as_secs_f64();
    let summary = format!("{} in {seconds:.1} s", counted(&Counts::of(made)));
    screen.summary(mark(worst.unwrap_or(Status::Skip)), &summary);
    screen
}

fn counted(counts: &Counts) -> String {
    let parts = [
        (counts.failed > 0).then(|| format!("{} failed", counts.failed)),
        (counts.warned > 0).then(|| plural(counts.warned, "warning")),
        Some(format!("{} passed", counts.passed)),
        (counts.skipped > 0).then(|| format!("{} skipped", counts.skipped)),
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
    let category = |group: Group| {
        let of_group = made.iter().filter(|made| made.check.group == group);
        let checks: Vec<Value> = of_group.map(check).collect();
        (!checks.is_empty()).then(
            || json!({ "categoryName": group.title(), "group": group.letter(), "checks": checks }),
        )
    };
    let categories: Vec<Value> = Group::ALL.into_iter().filter_map(category).collect();
    let counts = Counts::of(made);
    json!({
        "success": !matches!(exit, Exit::Rejected | Exit::Unavailable),
        "status": status(exit),
        "exit_code": exit.code(),
        "url": url,
        "passed": counts.passed,
        "warned": counts.warned,
        "failed": counts.failed,
        "skipped": counts.skipped,
        "categories": categories,
    })
}

/// Returns the `status` of the document, as other commands have it.
fn status(exit: Exit) -> &'static str {
    match exit {
        Exit::Success => "ok",
        Exit::Unavailable => "unavailable",
        Exit::Rejected => "refused",
        _ => "warnings",
    }
}

fn check(made: &Made) -> Value {
    let Made {
        check,
        outcome,
        took,
    } = made;
    let result = match outcome.status {
        Status::Pass => "success",
        Status::Skip => "skipped",
        Status::Warn => "warning",
        Status::Fail => "error",
    };
    let mut document = json!({
        "id": check.id,
        "description": check.title,
        "result": result,
        "status": outcome.status.word(),
        "observed": outcome.observed,
        "ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    });
    if let (true, Value::Object(members)) = (outcome.is_problem(), &mut document) {
        members.insert("hint".to_owned(), json!(link(check.id)));
        members.insert("error".to_owned(), json!(outcome.cause));
        members.insert("fix".to_owned(), json!(outcome.fix));
    }
    document
}
