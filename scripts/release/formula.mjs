// Homebrew's formula, from the checksums of a release.
import { archiveOf, TARGETS } from "./targets.mjs";

/** Returns the text of `terrace.rb`: `checksums` are those of the archives, by name, and `repository` is a URL. */
export function formulaOf(version, checksums, repository) {
  const block = (system, processor) => {
    const target = TARGETS.find(({ homebrew }) => homebrew?.[0] === system && homebrew[1] === processor);
    const archive = archiveOf(version, target);
    const checksum = checksums.get(archive);
    if (!checksum) throw new Error(`there is no checksum of ${archive}`);
    return `    on_${processor} do
      url "${repository}/releases/download/v${version}/${archive}"
      sha256 "${checksum}"
    end
`;
  };
  return `# Generated from SHA256SUMS of the release ${version}.
class Terrace < Formula
  desc "Publishes providers and modules to a Terrace registry, and operates it"
  homepage "${repository}"
  version "${version}"
  license "Apache-2.0"

  on_macos do
${block("macos", "arm")}${block("macos", "intel")}  end

  on_linux do
${block("linux", "arm")}${block("linux", "intel")}  end

  def install
    bin.install "terrace"
    generate_completions_from_executable(bin/"terrace", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/terrace --version")
  end
end
`;
}
