//! `terrace release`: what is said of releases after their publish.

use std::fmt;
use std::str::FromStr;

use terrace_core::api::admin::StandingBody;
use terrace_core::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use terrace_core::model::package::Package;
use terrace_core::model::status::{Reason, Standings, Statement};
use terrace_core::model::version::Version;

use crate::args::RegistryArguments;
use crate::connection::connect;
use crate::error::Failure;
use crate::output::Output;

/// A package, perhaps with a version: `acme/widget@1.2.0` for a provider, `acme/vpc/aws` for a module,
/// `registry.example.com/acme/widget` for a mirrored provider.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    package: Package,
    version: Option<Version>,
}

/// Says something of a release or a package.
pub(crate) fn say(
    subject: &Subject,
    state: &str,
    reason: &Reason,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let body = StandingBody {
        state: state.to_owned(),
        reason: reason.to_string(),
    };
    let standings = connect(registry, output)?.say(&subject.path(), &body)?;
    let told = match state {
        "active" => format!("{subject} is what it was"),
        "revoked" => format!("{subject} is revoked, within five minutes everywhere: {reason}"),
        state => format!("{subject} is {state}, within a minute everywhere: {reason}"),
    };
    output.result(&[told], &report(subject, &standings));
    Ok(())
}

/// Shows what is said of a package.
pub(crate) fn show(
    subject: &Subject,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let whole = Subject {
        package: subject.package.clone(),
        version: None,
    };
    let standings = connect(registry, output)?.standings(&whole.path())?;
    let line = |what: String, said: &Statement| {
        let Statement {
            state, reason, by, ..
        } = said;
        format!("{what} is {state}: {reason} (said by {by})")
    };
    let of_package = standings
        .package
        .iter()
        .map(|said| line(whole.to_string(), said));
    let versions = standings.versions.iter();
    let versions = versions.map(|(version, said)| line(format!("{whole}@{version}"), said));
    let mut lines: Vec<String> = of_package.chain(versions).collect();
    if lines.is_empty() {
        lines.push(format!("nothing is said of {whole}"));
    }
    output.result(&lines, &report(subject, &standings));
    Ok(())
}

fn report(subject: &Subject, standings: &Standings) -> serde_json::Value {
    serde_json::json!({ "status": "ok", "address": subject.package.address(), "standings": standings })
}

impl Subject {
    /// Whether it is a version.
    pub(crate) fn is_version(&self) -> bool {
        self.version.is_some()
    }

    fn path(&self) -> String {
        let kind = match self.package {
            Package::Provider(_) => "providers",
            Package::Module(_) => "modules",
            Package::Mirrored(_) => "mirror",
        };
        let address = self.package.address();
        let version = self.version.iter().map(|version| format!("/{version}"));
        let version: String = version.collect();
        format!("/admin/v1/{kind}/{address}{version}/standing")
    }
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, version) = match text.split_once('@') {
            Some((address, version)) => (address, Some(version)),
            None => (text, None),
        };
        let parts: Vec<&str> = address.split('/').collect();
        let is_mirrored = parts.first().is_some_and(|host| host.contains('.'));
        let package = match parts.len() {
            2 => address
                .parse()
                .map(|it: ProviderAddress| Package::Provider(it)),
            3 if is_mirrored => address
                .parse()
                .map(|it: MirroredAddress| Package::Mirrored(it)),
            3 => address.parse().map(|it: ModuleAddress| Package::Module(it)),
            _ => {
                return Err(
                    "this is no <namespace>/<type>, <namespace>/<name>/<system> or \
                            <hostname>/<namespace>/<type>, with @<version> behind it"
                        .to_owned(),
                );
            }
        };
        let version = version.map(str::parse).transpose();
        Ok(Self {
            package: package.map_err(|error| error.to_string())?,
            version: version
                .map_err(|error: terrace_core::model::version::VersionError| error.to_string())?,
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.package.address())?;
        match &self.version {
            Some(version) => write!(f, "@{version}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_by_its_parts_what_it_is() {
        for (text, path) in [
            ("acme/widget", "providers/acme/widget"),
            ("acme/widget@1.0.0", "providers/acme/widget/1.0.0"),
            ("acme/vpc/aws", "modules/acme/vpc/aws"),
            (
                "a.example/acme/widget@1.0.0-b",
                "mirror/a.example/acme/widget/1.0.0-b",
            ),
        ] {
            let subject: Subject = text.parse().unwrap();
            assert_eq!(subject.path(), format!("/admin/v1/{path}/standing"));
            assert_eq!(subject.to_string(), text);
        }
        for text in [
            "",
            "acme",
            "a/b/c/d",
            "acme/widget@",
            "acme/widget@1",
            "acme//aws",
        ] {
            assert!(text.parse::<Subject>().is_err(), "{text}");
        }
    }
}
