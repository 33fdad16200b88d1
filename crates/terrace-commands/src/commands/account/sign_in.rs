//! The sign-in of `login.v1`: OAuth's authorization code with PKCE, and a redirect to this machine
//! (<https://developer.hashicorp.com/terraform/internals/login-protocol>).

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use terrace_core::http::reply::{CachePolicy, Reply};
use url::Url;
use url::form_urlencoded::{Serializer, parse};

use crate::commands::local_server::{Request, send};
use crate::credentials::{Token, TokenPlace};
use crate::error::Failure;
use crate::http::{BaseUrl, Http, Response};
use crate::output::Output;
use crate::{clock, random};

/// The time that a browser has to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of ports that are tried.
const PORTS: usize = 1000;

/// The ports of a service that names none, as for the clients.
const ANY_PORT: [u16; 2] = [1024, 65535];

/// The page that the browser ends at after a sign-in that was refused or has failed.
const NOT_DONE: &str = "<!doctype html><title>Not signed in</title><p>The sign-in was refused. The terminal got no token. Close this page, and \
     return to the terminal.";

/// The page that the browser ends at.
const DONE: &str = "<!doctype html><title>Signed in</title><p>Signed in. Close this page, and return to the terminal.";

#[derive(Deserialize)]
struct Discovery {
    #[serde(rename = "login.v1")]
    login: Option<Service>,
}

/// The service, as the discovery document describes it.
#[derive(Deserialize)]
struct Service {
    client: String,
    #[serde(default)]
    grant_types: Option<Vec<String>>,
    authz: String,
    token: String,
    #[serde(default)]
    ports: Option<[u16; 2]>,
}

#[derive(Deserialize)]
struct Answer {
    access_token: String,
}

/// Signs the user in, in a browser. Returns the token.
pub(super) fn sign_in(
    url: &BaseUrl,
    http: &Http<'_>,
    opens_browser: bool,
    timeout: Duration,
    output: &Output,
) -> Result<Token, Failure> {
    let service = discover(url, http)?;
    let (authorize, token) = (
        endpoint(url, &service.authz)?,
        endpoint(url, &service.token)?,
    );
    let listener = listen(service.ports.unwrap_or(ANY_PORT))?;
    let port = listener.local_addr().map_err(|error| local(&error))?.port();
    let redirect = format!("http://localhost:{port}/login");
    let (state, verifier) = (random::text()?, random::text()?);
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    let mut address = authorize;
    address
        .query_pairs_mut()
        .append_pair("client_id", &service.client)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256")
        .append_pair("redirect_uri", &redirect)
        .append_pair("response_type", "code")
        .append_pair("state", &state);
    let is_opened = opens_browser && open_browser(address.as_str());
    output.link(match is_opened {
        true => "sign in with the browser. If it shows no page, open this address:",
        false => "open this address in a browser on this machine:",
    });
    output.link(address.as_str());
    if std::env::var_os("SSH_CONNECTION").is_some() {
        output.link(&format!(
            "if the browser is on another machine, forward the port first: ssh -L {port}:localhost:{port} HOST"
        ));
    }
    let code = wait_for_code(&listener, &state, timeout)?;
    let form = Serializer::new(String::new())
        .append_pair("client_id", &service.client)
        .append_pair("code", &code)
        .append_pair("code_verifier", &verifier)
        .append_pair("grant_type", "authorization_code")
        .append_pair("redirect_uri", &redirect)
        .finish();
    // A code is valid once, so the request is not repeated.
    let request = ureq::http::Request::post(token.as_str())
        .header("accept", "application/json")
        .header("content-type", "application/x-www-form-urlencoded");
    let sent = request.body(form.as_str()).map_err(ureq::Error::from);
    let answer = sent.and_then(|request| Response::read(http.agent().run(request)?));
    let answer = answer.map_err(|error| {
        let reason = crate::http::describe(&error);
        Failure::Unavailable(format!("{url} cannot be reached: {reason}; sign in again"))
    })?;
    if answer.status != 200 {
        let reasons = answer.reasons(url.as_str()).join("; ");
        return Err(Failure::NotAllowed(format!(
            "{url} issued no token: {reasons}; sign in again"
        )));
    }
    let answer: Answer = serde_json::from_str(&answer.text)
        .map_err(|_| Failure::Unexpected(format!("{url} responded without a token")))?;
    Token::parse(
        answer.access_token.trim(),
        TokenPlace::Option("the sign-in"),
    )
}

fn discover(url: &BaseUrl, http: &Http<'_>) -> Result<Service, Failure> {
    let document = format!("{}/.well-known/terraform.json", url.origin());
    let answer = http.until_answered(url.as_str(), || {
        let request = ureq::http::Request::get(&document).header("accept", "application/json");
        Response::read(http.agent().run(request.body(())?)?)
    })?;
    let none = || {
        Failure::refused(format!(
            "{url} offers no sign-in (login.v1 in its discovery document): store a token that its operator gives you, with \
             terrace login --with-token"
        ))
    };
    if answer.status == 404 {
        return Err(none());
    }
    if !answer.is_success() {
        return Err(answer.into_failure(url.as_str()));
    }
    let discovery: Discovery = serde_json::from_str(&answer.text)
        .map_err(|error| Failure::refused(format!("the discovery document of {url}: {error}")))?;
    let service = discovery.login.ok_or_else(none)?;
    let has_code = |grants: &Vec<String>| grants.iter().any(|grant| grant == "authz_code");
    match &service.grant_types {
        Some(grants) if !has_code(grants) => Err(none()),
        _ => Ok(service),
    }
}

/// Returns an endpoint of the service: at the registry itself, or elsewhere by https.
fn endpoint(url: &BaseUrl, reference: &str) -> Result<Url, Failure> {
    let refused = || {
        Failure::refused(format!(
            "the discovery document of {url} names {reference:?} for the sign-in: it must be a path, or an https URL"
        ))
    };
    let document = url.url().join("/.well-known/terraform.json");
    let target = document.and_then(|it| it.join(reference));
    let target = target.map_err(|_| refused())?;
    let is_own = target.origin() == url.url().origin();
    match is_own || target.scheme() == "https" {
        true => Ok(target),
        false => Err(refused()),
    }
}

fn local(error: &std::io::Error) -> Failure {
    Failure::Local(format!("waiting for the browser: {error}"))
}

fn listen([first, last]: [u16; 2]) -> Result<TcpListener, Failure> {
    let mut ports = (first..=last).take(PORTS);
    let listener = ports.find_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok());
    listener.ok_or_else(|| {
        Failure::Local(format!(
            "none of the ports from {first} to {last} of this machine is free, to which the sign-in returns"
        ))
    })
}

/// Opens a browser. Returns whether a program for that exists.
fn open_browser(address: &str) -> bool {
    let mut command = if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else if cfg!(target_os = "macos") {
        Command::new("open")
    } else {
        Command::new("xdg-open")
    };
    command.arg(address).stdin(Stdio::null());
    let spawned = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    spawned.is_ok()
}

/// Waits until the browser returns with a code. Requests of other pages, which do not know the state, are refused.
fn wait_for_code(
    listener: &TcpListener,
    state: &str,
    timeout: Duration,
) -> Result<String, Failure> {
    listener
        .set_nonblocking(true)
        .map_err(|error| local(&error))?;
    let began = clock::now();
    while clock::now().since(began) < timeout.as_secs() {
        match listener.accept() {
            Ok((stream, _)) => match receive(&stream, state) {
                Some(Ok(code)) => return Ok(code),
                Some(Err(reason)) => {
                    return Err(Failure::NotAllowed(format!("the sign-in failed: {reason}")));
                }
                None => {}
            },
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(50));
            }
            Err(error) => return Err(local(&error)),
        }
    }
    Err(Failure::Unavailable(format!(
        "the browser did not return within {}, and nothing is stored: run the command again and sign in at the address that it \
         prints, by a browser on this machine. For more time, add --timeout 15m; without a browser, store a token with \
         --with-token",
        humantime::format_duration(timeout)
    )))
}

/// Answers a request of the browser. Returns the code of the sign-in, or why there is none, if the request has either.
fn receive(stream: &TcpStream, state: &str) -> Option<Result<String, String>> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(REQUEST_TIMEOUT)).ok()?;
    stream.set_write_timeout(Some(REQUEST_TIMEOUT)).ok()?;
    let request = match Request::read(stream)? {
        Ok(request) => request,
        Err(refusal) => {
            send(&refusal, stream);
            return None;
        }
    };
    let value = |name: &str| {
        let mut pairs = parse(request.query.as_bytes());
        pairs
            .find(|(it, _)| it == name)
            .map(|(_, value)| value.into_owned())
    };
    let is_ours = request.path == "/login" && value("state").as_deref() == Some(state);
    let returned = match (is_ours, value("code"), value("error")) {
        (true, Some(code), None) => Some(Ok(code)),
        (true, _, Some(error)) => Some(Err(value("error_description").unwrap_or(error))),
        _ => None,
    };
    let (status, page) = match &returned {
        Some(Ok(_)) => (200, DONE),
        Some(Err(_)) => (200, NOT_DONE),
        None => (404, "Nothing is here."),
    };
    let policy = "default-src 'none'".into();
    let page = Reply::page_with(status, CachePolicy::NoStore, policy, page.to_owned());
    send(&page, stream);
    returned
}
