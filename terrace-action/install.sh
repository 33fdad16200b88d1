#!/usr/bin/env bash
# Installs a released terrace command, after verifying its checksum and the attestation that it was built by the release
# workflow of its repository. All inputs are environment variables, see action.yml.
set -euo pipefail

fail() {
  echo "::error title=Terrace::$1"
  exit 1
}

# The version of this action, which `npm run release` writes.
own=0.1.0
VERSION="${VERSION:-$own}"

# The repository of the action is OWNER/terrace-action, or that of Terrace itself.
repository="${REPOSITORY:-${ACTION_REPOSITORY:-${GITHUB_REPOSITORY:-}}}"
repository="${repository%-action}"
[[ "$repository" =~ ^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$ ]] || fail "repository: \"$repository\" has not the form OWNER/NAME"
[[ "$VERSION" =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || fail "version: \"$VERSION\" has not the form 1.2.3"
[[ "$SHA256" =~ ^([0-9a-f]{64})?$ ]] || fail "sha256: \"$SHA256\" is not a SHA-256 checksum in lower-case hexadecimal digits"

case "$RUNNER_OS-$RUNNER_ARCH" in
  Linux-X64) target=x86_64-unknown-linux-musl ;;
  Linux-ARM64) target=aarch64-unknown-linux-musl ;;
  macOS-X64) target=x86_64-apple-darwin ;;
  macOS-ARM64) target=aarch64-apple-darwin ;;
  Windows-X64) target=x86_64-pc-windows-msvc ;;
  Windows-ARM64) target=aarch64-pc-windows-msvc ;;
  *) fail "the terrace command is not released for $RUNNER_OS on $RUNNER_ARCH" ;;
esac
stem="terrace-$VERSION-$target"
case "$target" in
  *windows*) archive="$stem.zip" program=terrace.exe ;;
  *) archive="$stem.tar.gz" program=terrace ;;
esac

directory="$(mktemp -d "$RUNNER_TEMP/terrace-XXXXXX")"
cd "$directory"
download() {
  local url="${GITHUB_SERVER_URL:-https://github.com}/$repository/releases/download/v$VERSION/$1"
  curl --fail --silent --show-error --location --proto '=https' --retry 3 --output "$1" "$url" || fail "$url could not be downloaded"
}
download "$archive"

# --- the checksum

if [[ -n "$SHA256" ]]; then
  expected="$SHA256"
else
  download SHA256SUMS
  expected="$(awk -v name="$archive" '$2 == name { print $1 }' SHA256SUMS)"
  [[ -n "$expected" ]] || fail "SHA256SUMS of the release $VERSION does not list $archive"
fi
if command -v sha256sum > /dev/null; then
  actual="$(sha256sum < "$archive" | cut -d ' ' -f 1)"
else
  actual="$(shasum -a 256 < "$archive" | cut -d ' ' -f 1)"
fi
[[ "$actual" == "$expected" ]] || fail "$archive has the SHA-256 checksum $actual, and not $expected"

# --- the attestation

verify() {
  gh attestation verify "$archive" --repo "$repository" --signer-workflow "$repository/.github/workflows/release.yml" ||
    fail "$archive has no valid attestation of the release workflow of $repository"
}
case "$ATTESTATION" in
  auto)
    if command -v gh > /dev/null; then
      verify
    else
      echo "::warning title=Terrace::gh is not installed, so only the checksum of $archive was verified"
    fi
    ;;
  require)
    command -v gh > /dev/null || fail "attestation: require needs gh, which is not installed"
    verify
    ;;
  skip) ;;
  *) fail "attestation: \"$ATTESTATION\" is none of auto, require and skip" ;;
esac

# --- the program

case "$archive" in
  # The tar of Windows reads zips; the one of Git's shell does not.
  *.zip) "$(cygpath --unix "$SYSTEMROOT")/System32/tar.exe" -xf "$archive" ;;
  *) tar -xzf "$archive" ;;
esac
said="$("./$stem/$program" --version)"
[[ "$said" == "terrace $VERSION "* ]] || fail "$archive holds another version: $said"
echo "$said"
if command -v cygpath > /dev/null; then
  cygpath --windows "$directory/$stem" >> "$GITHUB_PATH"
else
  echo "$directory/$stem" >> "$GITHUB_PATH"
fi
