#!/usr/bin/env bash
# Checks the versions in use, and annotates the lines that name those with something against them. All inputs are environment
# variables, see action.yml.
set -euo pipefail

arguments=(check --json)
case "$CHECK" in
  true) ;;
  strict) arguments+=(--strict) ;;
  *)
    echo "::error title=Terrace::check: it must be true, strict or false"
    exit 2
    ;;
esac

code=0
report="$(terrace "${arguments[@]}" -- "${PLACE:-.}")" || code=$?
if ! jq . <<< "$report"; then
  echo "$report"
fi
# Text in an annotation is escaped as the runner's own tools escape it, so none can become another command.
jq -r '
  def data: gsub("%"; "%25") | gsub("\r"; "%0D") | gsub("\n"; "%0A");
  def property: data | gsub(":"; "%3A") | gsub(","; "%2C");
  {revoked: "error", blocked: "error", withdrawn: "warning", deprecated: "warning"} as $levels
  | .packages[]?
  | $levels[.state] as $level
  | select($level)
  | "\(.address) \(.version // .constraint // "") is \(.state)\(if .reason then ": " + .reason else "" end)" as $text
  | .places[]
  | "::\($level) title=Terrace,file=\(.file | property),line=\(.line // 1)::\($text | data)"
' <<< "$report" || true
exit "$code"
