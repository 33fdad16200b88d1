//! What is said of releases after their publish, and what follows for what is handed out.

use terrace_core::api::admin::StandingBody;
use terrace_core::auth::access::Caller;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::limits;
use terrace_core::model::package::Package;
use terrace_core::model::status::{Reason, Standings, State, Statement};
use terrace_core::model::version::Version;
use terrace_core::storage::key::FactKey;

use super::tokens::{json, parse};
use super::{App, Failure};
use crate::store::{Clock as _, Facts as _, Platform};

/// What restores a version, a package or a key.
pub(super) const ACTIVE: &str = "active";

impl<P: Platform> App<'_, P> {
    pub(super) async fn describe_standings(
        &self,
        package: &Package,
    ) -> Result<Reply<P::Stream>, Failure> {
        json(200, &self.standings(package).await?)
    }

    /// Says something of a package, or of one of its versions. The fact comes first; what follows from it
    /// is made again by the same request.
    pub(super) async fn change_standing(
        &self,
        caller: &Caller,
        package: Package,
        version: Option<Version>,
        body: &[u8],
    ) -> Result<Reply<P::Stream>, Failure> {
        let StandingBody { state, reason } = parse(body)?;
        let invalid = |error: &dyn ToString| Problem::Invalid(vec![error.to_string()]);
        let reason: Reason = reason.parse().map_err(|error| invalid(&error))?;
        let state: Option<State> = match state.as_str() {
            ACTIVE => None,
            state => Some(state.parse().map_err(|error| invalid(&error))?),
        };
        if version.is_none() && state.is_some_and(|state| state != State::Deprecated) {
            let told = "a package can be deprecated; withdraw or revoke its versions";
            return Err(invalid(&told).into());
        }
        let release = match &version {
            None => {
                let page = self.platform.facts().releases(&package, None).await?;
                if page.releases.is_empty() {
                    let told = format!("there is no {}", package.address());
                    return Err(Problem::NotFound(told).into());
                }
                None
            }
            Some(version) => match self.release(&package, version).await? {
                Some(release) => Some(release),
                None => {
                    let told = format!("there is no version {version} of {}", package.address());
                    return Err(Problem::NotFound(told).into());
                }
            },
        };
        let statement = state.map(|state| Statement {
            state,
            reason,
            at: self.platform.clock().now().0,
            by: caller.name(),
        });
        let said = (version.as_ref(), statement);
        let standings = self.put_standing(caller, &package, said).await?;
        let change = FactKey::Change(package.clone());
        self.mark(&change).await?;
        if let Some(release) = &release {
            self.index_version(release).await?;
        }
        self.index_versions(&package).await?;
        if let (Package::Mirrored(address), Some(version)) = (&package, &version) {
            self.index_pushed_versions(address, version).await?;
        }
        json(200, &standings)
    }

    /// Reads, changes and writes until nobody else wrote in between.
    async fn put_standing(
        &self,
        caller: &Caller,
        package: &Package,
        (version, statement): (Option<&Version>, Option<Statement>),
    ) -> Result<Standings, Failure> {
        let key = FactKey::Standings(package.clone());
        loop {
            let (stored, unchanged) = self.seen_document::<Standings>(&key).await?;
            let stored = stored.unwrap_or_default();
            let mut standings = stored.clone();
            let before = say(&mut standings, version, statement.clone())?;
            let is_revoked = |it: &Statement| it.state == State::Revoked;
            let of_security = before.iter().any(is_revoked) || statement.iter().any(is_revoked);
            if of_security && !caller.is_admin() {
                let told = "revoking a version, and taking that back, takes the scope admin";
                return Err(Problem::Forbidden(told.to_owned()).into());
            }
            let said = |it: &Statement| (it.state, it.reason.clone());
            if before.as_ref().map(said) == statement.as_ref().map(said) {
                // Said before; what follows from it may be missing.
                return Ok(stored);
            }
            let text = serde_json::to_string(&standings).map_err(corrupt)?;
            let written = self.put_document(&key, &text, &[], unchanged).await?;
            if written.is_some() {
                return Ok(standings);
            }
        }
    }

    /// What is said of a package.
    pub(super) async fn standings(&self, package: &Package) -> Result<Standings, Failure> {
        let key = FactKey::Standings(package.clone());
        let standings = self.document(&key).await?;
        Ok(standings.unwrap_or_default())
    }
}

/// Puts a statement where it belongs, and gives back the one that was there.
fn say(
    standings: &mut Standings,
    version: Option<&Version>,
    statement: Option<Statement>,
) -> Result<Option<Statement>, Problem> {
    let Some(version) = version else {
        return Ok(std::mem::replace(&mut standings.package, statement));
    };
    let version = version.to_string();
    let revokes = statement
        .as_ref()
        .is_none_or(|it| it.state == State::Revoked);
    let before = match statement {
        Some(statement) => standings.versions.insert(version, statement),
        None => standings.versions.remove(&version),
    };
    // That something must not be installed can always be said.
    let is_revoked = |it: &Statement| it.state == State::Revoked;
    let said = standings.versions.values().filter(|it| !is_revoked(it));
    if !revokes && said.count() > limits::STANDINGS {
        let most = limits::STANDINGS;
        let told = format!("something is said of {most} versions already: deprecate the package");
        return Err(Problem::Invalid(vec![told]));
    }
    Ok(before)
}

fn corrupt(error: impl ToString) -> Failure {
    Failure::Corrupt(error.to_string())
}
