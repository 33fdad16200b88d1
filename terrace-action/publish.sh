#!/usr/bin/env bash
# Publishes a provider or modules. All inputs are environment variables, see action.yml. Every value is the part of one
# argument after a `=`, so none can become an option.
set -euo pipefail

fail() {
  echo "::error title=Terrace::$1"
  exit 2
}

if [[ -n "$NAMESPACE" && -n "$ADDRESS" ]]; then
  fail "give either namespace, to publish a provider, or address, to publish modules"
elif [[ -n "$NAMESPACE" ]]; then
  [[ -z "$DIRECTORIES$TAG$MODULE_VERSION" && "$LATEST" != true ]] || fail "directories, tag, module-version and latest are for modules, and namespace is for a provider"
  arguments=(publish provider --json "--namespace=$NAMESPACE")
  place="${PLACE:-dist}"
elif [[ -n "$ADDRESS" ]]; then
  arguments=(publish modules --json "--address=$ADDRESS")
  [[ -z "$TAG" ]] || arguments+=("--tag=$TAG")
  [[ -z "$DIRECTORIES" ]] || arguments+=("--path=$DIRECTORIES")
  [[ -z "$MODULE_VERSION" ]] || arguments+=("--version=$MODULE_VERSION")
  [[ "$LATEST" != true ]] || arguments+=(--latest)
  place="${PLACE:-.}"
else
  fail "give namespace, to publish a provider, or address, to publish modules"
fi
case "$DOCS" in
  "") ;;
  require) arguments+=(--require-docs) ;;
  none) arguments+=(--no-docs) ;;
  *)
    [[ -n "$NAMESPACE" ]] || fail "docs: modules hold their documentation, so it is require or none"
    arguments+=("--docs=$DOCS")
    ;;
esac
[[ "$DRY_RUN" != true ]] || arguments+=(--dry-run)

code=0
report="$(terrace "${arguments[@]}" -- "$place")" || code=$?
if ! jq . <<< "$report"; then
  echo "$report"
fi
# A report holds single-line texts; anything else could set other outputs.
jq -r '"status=\(.status // "")", "version=\(.version // "")" | gsub("[\\r\\n]"; "")' <<< "$report" >> "$GITHUB_OUTPUT" || true
exit "$code"
