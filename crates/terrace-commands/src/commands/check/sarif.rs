//! SARIF 2.1.0 (OASIS), as code scanning reads it.

use serde_json::{Value, json};
use terrace_core::api::check::UseState;

use super::{Judged, message, wanted};

/// The states that are results, with their levels.
const RULES: [(UseState, &str); 6] = [
    (UseState::Blocked, "error"),
    (UseState::Revoked, "error"),
    (UseState::Withdrawn, "warning"),
    (UseState::Deprecated, "warning"),
    (UseState::Missing, "note"),
    (UseState::Unknown, "note"),
];

/// Returns the report about packages.
pub(super) fn of(packages: &[Judged]) -> String {
    let rules = RULES.map(|(state, level)| {
        json!({
            "id": state,
            "shortDescription": { "text": format!("A version in use is {state}") },
            "defaultConfiguration": { "level": level },
        })
    });
    let results: Vec<Value> = packages.iter().flat_map(results).collect();
    let report = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "terrace",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "results": results,
        }],
    });
    format!("{report:#}")
}

/// Returns a result for each place that uses a package.
fn results(Judged { checked, places }: &Judged) -> Vec<Value> {
    let rule = RULES.iter().find(|(state, _)| *state == checked.state);
    let Some((state, level)) = rule else {
        return Vec::new();
    };
    let address = &checked.used.address;
    let version = wanted(&checked.used);
    let text = format!("{address} {version} is {state}: {}", message(checked));
    let result = |place: &super::Place| {
        let file = json!({ "uri": place.file });
        let location = match place.line {
            Some(line) => json!({ "artifactLocation": file, "region": { "startLine": line } }),
            None => json!({ "artifactLocation": file }),
        };
        json!({
            "ruleId": state,
            "level": level,
            "message": { "text": text },
            "locations": [{ "physicalLocation": location }],
        })
    };
    places.iter().map(result).collect()
}
