//! The command line of `terrace publish modules`.

use clap::Args;
use terrace_core::model::source_url::SourceUrl;
use terrace_core::model::version::Version;

use crate::source::pattern::Pattern;

#[derive(Debug, Args)]
pub(crate) struct CollectionArguments {
    /// The repository, a directory that contains repositories, or a URL to clone (https, ssh or file)
    #[arg(value_name = "DIR|GIT-URL", default_value = ".")]
    pub(crate) place: String,

    /// The address of each module, such as 'acme/{name}/{system}' or 'acme/{name}/aws'. {name} and {system} come from
    /// --path; otherwise the system is that of the only provider that the newest version of the module requires
    #[arg(long, value_name = "PATTERN")]
    pub(crate) address: Pattern,

    /// The directories of the modules, such as 'modules/{name}' or '{system}/{name}'; '.' is the top. May be given several
    /// times. By default the first of modules/{name}, modules/{system}/{name}, {name} and {system}/{name} that has modules;
    /// for a directory with repositories terraform-{system}-{name}, or else {name}
    #[arg(long = "path", value_name = "PATTERN")]
    pub(crate) paths: Vec<Pattern>,

    /// The tags, such as '{name}/v{version}' or '{path}-{version}'; {version} also stands for one with a leading v. A tag
    /// without {name} and {path} names a version of every module. May be given several times. By default {path} or {name},
    /// then /, - or @, then {version}; or, if there are no such tags, {version}
    #[arg(long = "tag", value_name = "PATTERN", conflicts_with = "version")]
    pub(crate) tags: Vec<Pattern>,

    /// Publish the files of the working tree as this version, without git
    #[arg(long)]
    pub(crate) version: Option<Version>,

    /// Publish only modules whose name, directory or address is this text, in which * stands for any characters. May be
    /// given several times
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Vec<String>,

    /// Publish only the newest version of each module
    #[arg(long)]
    pub(crate) latest: bool,

    /// Publish only this version of each module and newer ones
    #[arg(long, value_name = "VERSION")]
    pub(crate) since: Option<Version>,

    /// The number of modules that are published at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) jobs: u8,

    /// Publish this file although it looks as if it holds secrets: its exact path in a package. May be given several
    /// times
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_secrets: Vec<String>,

    /// Publish this configuration file although it looks as if no client could parse it: its exact path in a package. May
    /// be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_unparsed: Vec<String>,

    /// The URL of the repository, where update tools look for release notes. By default that of the CI job or of the
    /// only git remote, unless they differ. The commits of the tags are published with it
    #[arg(long, value_name = "URL", conflicts_with = "no_source")]
    pub(crate) source: Option<SourceUrl>,

    /// Publish without the URL of the repository
    #[arg(long)]
    pub(crate) no_source: bool,

    /// Publish without documentation
    #[arg(long)]
    pub(crate) no_docs: bool,

    /// Fail for versions without documentation, or whose documentation cannot be stored
    #[arg(long, conflicts_with = "no_docs")]
    pub(crate) require_docs: bool,

    /// Check everything that can be checked locally, list the versions, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
