//! Names of files that hold secrets.

/// A kind of file that holds secrets, such as passwords, keys, or state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretFile {
    /// Values of variables.
    #[error("values of variables")]
    Values,
    /// Variables of an environment.
    #[error("variables of an environment")]
    Environment,
    /// A private key, or a store of keys.
    #[error("a private key")]
    PrivateKey,
    /// A plan, which contains the values of variables and the state.
    #[error("a plan")]
    Plan,
    /// State, which contains the attributes of all resources in plain text.
    #[error("state")]
    State,
    /// Tokens and passwords of programs.
    #[error("credentials")]
    Credentials,
    /// The files of `terraform init`, which include the backend's configuration and credentials.
    #[error("files of terraform init")]
    WorkingDirectory,
    /// The history of a repository, with all removed files.
    #[error("the history of a repository")]
    Repository,
}

/// Directories that hold secrets.
const DIRECTORIES: [(&str, SecretFile); 8] = [
    (".git", SecretFile::Repository),
    (".terraform", SecretFile::WorkingDirectory),
    (".ssh", SecretFile::PrivateKey),
    (".gnupg", SecretFile::PrivateKey),
    (".aws", SecretFile::Credentials),
    (".azure", SecretFile::Credentials),
    (".kube", SecretFile::Credentials),
    (".gcloud", SecretFile::Credentials),
];

/// Files that hold tokens and passwords. `.npmrc` and files such as `config.json` hold other settings too, so their contents
/// decide.
const CREDENTIALS: [&str; 19] = [
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".terraformrc",
    "terraform.rc",
    ".tofurc",
    "tofu.rc",
    "credentials.tfrc.json",
    ".pypirc",
    ".dockercfg",
    ".dockerconfigjson",
    ".pgpass",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".vault-token",
    "kubeconfig",
    "application_default_credentials.json",
    "access_tokens.db",
];

/// Extensions of files that hold secrets.
const EXTENSIONS: [(&str, SecretFile); 11] = [
    (".tfvars", SecretFile::Values),
    (".tfvars.json", SecretFile::Values),
    (".tfplan", SecretFile::Plan),
    (".p12", SecretFile::PrivateKey),
    (".pfx", SecretFile::PrivateKey),
    (".jks", SecretFile::PrivateKey),
    (".keystore", SecretFile::PrivateKey),
    (".ppk", SecretFile::PrivateKey),
    (".kdbx", SecretFile::Credentials),
    (".kubeconfig", SecretFile::Credentials),
    (".publishsettings", SecretFile::Credentials),
];

/// The default names of the private keys of SSH.
const SSH_KEYS: [&str; 4] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];

/// Words in the names of files that show readers which values to set, such as `example.tfvars` and `.env.sample`.
const EXAMPLES: [&str; 5] = ["example", "sample", "template", "dist", "defaults"];

/// Directories with examples of values, of which the contents decide.
const EXAMPLE_DIRECTORIES: [&str; 4] = ["example", "examples", "test", "tests"];

/// Returns the kind of secrets that files of this name hold, if they do.
///
/// The name is a path with `/` between its parts; the case of its letters does not matter.
pub fn secret_file(name: &str) -> Option<SecretFile> {
    let name = name.to_ascii_lowercase();
    let mut parts = name.split('/');
    let file = parts.next_back().unwrap_or_default();
    let of_directory = |part: &str| DIRECTORIES.iter().find(|(known, _)| *known == part);
    // In a worktree or a submodule, `.git` is a file.
    if let Some((_, kind)) = parts.find_map(of_directory).or_else(|| of_directory(file)) {
        return Some(*kind);
    }
    if file.contains(".tfstate") {
        return Some(SecretFile::State);
    }
    if CREDENTIALS.contains(&file) {
        return Some(SecretFile::Credentials);
    }
    if file == "tfplan" {
        return Some(SecretFile::Plan);
    }
    let is_example = file
        .split(['.', '-', '_'])
        .any(|word| EXAMPLES.contains(&word));
    // Clients load these on their own, whatever else their name says.
    let is_loaded = file.starts_with("terraform.tfvars") || file.contains(".auto.tfvars");
    if is_example && !is_loaded {
        return None;
    }
    if file == ".env" || file == ".envrc" || file.starts_with(".env.") {
        return Some(SecretFile::Environment);
    }
    let is_ssh_key = SSH_KEYS.iter().any(|key| file.starts_with(key));
    if is_ssh_key && !file.ends_with(".pub") {
        return Some(SecretFile::PrivateKey);
    }
    // `terraform.tfvars.example` only shows the names of the values.
    let extension = EXTENSIONS.iter().find(|(end, _)| file.ends_with(end));
    let mut directories = name.split('/').rev().skip(1);
    let is_example = directories.any(|part| EXAMPLE_DIRECTORIES.contains(&part));
    let kind = extension.map(|(_, kind)| *kind);
    kind.filter(|kind| !(is_example && *kind == SecretFile::Values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_follows_from_the_name_in_any_case() {
        for (name, kind) in [
            ("terraform.tfvars", SecretFile::Values),
            ("example.auto.tfvars", SecretFile::Values),
            ("environments/prod.tfvars", SecretFile::Values),
            ("examples/complete/.env", SecretFile::Environment),
            ("tests/x/terraform.tfstate", SecretFile::State),
            ("a/PROD.TFVARS.JSON", SecretFile::Values),
            (".env", SecretFile::Environment),
            ("deep/.env.production", SecretFile::Environment),
            (".envrc", SecretFile::Environment),
            ("id_rsa", SecretFile::PrivateKey),
            ("keys/id_ed25519_ci", SecretFile::PrivateKey),
            ("keystore.p12", SecretFile::PrivateKey),
            ("plan.tfplan", SecretFile::Plan),
            ("tfplan", SecretFile::Plan),
            ("terraform.tfstate.d/x/terraform.tfstate", SecretFile::State),
            ("example.tfstate", SecretFile::State),
            (".netrc", SecretFile::Credentials),
            (".aws/credentials", SecretFile::Credentials),
            (".kube/config", SecretFile::Credentials),
            (".pypirc", SecretFile::Credentials),
            ("files/kubeconfig", SecretFile::Credentials),
            ("prod.kubeconfig", SecretFile::Credentials),
            (
                "home/application_default_credentials.json",
                SecretFile::Credentials,
            ),
            (".gnupg/secring.gpg", SecretFile::PrivateKey),
            (".terraform/terraform.tfstate", SecretFile::WorkingDirectory),
            ("sub/.git", SecretFile::Repository),
        ] {
            assert_eq!(secret_file(name), Some(kind), "{name}");
        }
    }

    #[test]
    fn files_that_only_show_which_values_to_set_hold_no_secrets() {
        for name in [
            "main.tf",
            "environment.tf",
            "keys.tf",
            ".gitignore",
            ".terraform.lock.hcl",
            "terraform.tfvars.example",
            "example.tfvars",
            "examples/simple/dev.sample.tfvars",
            "examples/complete/fixtures.us-east-2.tfvars",
            "modules/a/tests/terraform.tfvars.json",
            ".env.example",
            "id_rsa.pub",
            "templates/id.tpl",
            // Their contents decide.
            ".npmrc",
            "config.json",
            "kubeconfig.tpl",
            "templates/kubeconfig.yaml.tftpl",
            "modules/gcloud-project/main.tf",
        ] {
            assert_eq!(secret_file(name), None, "{name}");
        }
    }
}
