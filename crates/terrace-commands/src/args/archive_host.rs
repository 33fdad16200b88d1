//! The option for the private hosts of another registry's archives.

use clap::Args;

use crate::http::BaseUrl;

#[derive(Debug, Args)]
pub(crate) struct ArchiveHostArguments {
    /// Allow requests to this host in a private network, such as the other registry's storage. It gets no token. May be
    /// given several times
    #[arg(long = "archive-host", value_name = "HOST[:PORT]", value_parser = https_host)]
    pub(crate) hosts: Vec<BaseUrl>,
}

fn https_host(text: &str) -> Result<BaseUrl, String> {
    let url = BaseUrl::parse(&format!("https://{text}"));
    url.map_err(|error| format!("{error}: write it as HOST or HOST:PORT"))
}
