package main

import "strings"

// A rule by which Terrace refuses input that the libraries accept.
type rule struct {
	name string
	// A part of the message, or of the difference, if the rule is stricter only in this case.
	contains string
	why      string
}

// Cases are refused by these rules because other readers, other systems or later steps of a client would
// interpret them differently. A refusal by any other rule is reported as a difference.
var stricter = map[string][]rule{
	"zip": {
		{"Duplicate", "", "which of the two remains depends on the reader"},
		{"Encrypted", "", "Go ignores the flags; every other reader asks for a password"},
		{"NameNotUtf8", "", "the encoding of such a name is a guess, and the registry returns names in JSON"},
		{"NoConfiguration", "", "clients unpack it, but find no module in it"},
		{"Path/Absolute", "", "go-getter makes it relative, others do not"},
		{"Path/Backslash", "", "a separator on Windows"},
		{"Path/Drive", "", "a drive on Windows"},
		{"Path/Empty", "", "a file without a name"},
		{"Sizes", "", "a directory with content; Go checks it only if the size is not 0"},
		{"Special", "", "clients unpack devices and pipes as files"},
		{"Symlink", "", "clients unpack it as a file with the target in it"},
		{"ZipContent/Checksum", "declares 00000000", "Go treats a checksum of 0 as missing"},
		{"ZipContent/Descriptor", "", "Go checks only its checksum"},
		{"ZipContent/EndsEarly", "", "Go ignores bytes after the deflated data"},
		{"ZipContent/Local", "", "streaming readers use the local header"},
		{"ZipContent/LocalFlags", "", "streaming readers use the local header"},
		{"ZipContent/LocalName", "", "streaming readers use the local header"},
		{"ZipDirectoryMalformed", "", "Go checks neither the number of entries nor the size of the directory exactly"},
		{"ZipDirectoryMisplaced", "", "Go guesses the start of the zip"},
		{"ZipOverlap", "", "it lets a small zip unpack to petabytes"},
		{"ZipPrepended", "", "another reader may read those bytes as the zip"},
		{"ZipSplit", "", "Go ignores the number of the disk"},
		{"ZipTrailing", "", "another reader may read those bytes as the zip"},
		{"ZipContent/NoLocalHeader", "", "Go opens no directory"},
		{"Method", "", "Go opens no directory"},
		{"Bomb", "", "a limit"},
		{"UncompressedTooLarge", "", "a limit"},
		{"ZipCommentCut", "", "Go reads a shorter comment"},
		{"Zip64", "", "readers differ in which of the records counts"},
	},
	"tar": {
		{"Duplicate", "", "which of the two remains depends on the reader"},
		{"GzipChecksum", restIsUnread, "Go does not read after the end marker of the tar"},
		{"GzipCorrupt", restIsUnread, "the same"},
		{"GzipHeader", restIsUnread, "the same"},
		{"GzipTrailing", restIsUnread, "the same"},
		{"HardLink", "", "clients unpack it as an empty file"},
		{"LinkEscapes", "", "clients unpack it as an empty file, other readers follow it"},
		{"NameNotUtf8", "", "the registry returns names in JSON"},
		{"NoConfiguration", "", "clients unpack it, but find no module in it"},
		{"Path/Absolute", "", "go-getter makes it relative, others do not"},
		{"Path/Backslash", "", "a separator on Windows"},
		{"Path/Control", "", "a terminal interprets it"},
		{"Path/Drive", "", "a drive on Windows"},
		{"Path/Empty", "", "a file without a name"},
		{"Sizes", "", "a directory with content"},
		{"Special", "", "clients unpack devices and pipes as files"},
		{"TarNumber", "", "Go checks fewer fields if the format has fewer"},
		{"TarPax", "", "Go does not parse global headers"},
		{"TarSparse", "", "readers differ in the forms that they support"},
		{"TarTrailing", "", "Go does not read after the end marker"},
		{"Unreadable", isTwice, "tools differ in which of the modes remains"},
		{"Truncated", "", "without an end marker, or truncated after it: the last entries may be missing"},
	},
	"openpgp": {
		{"signature NotDetached", severalPackets, "clients read up to the first signature by a known key; the rest must also be readable, because another key may be the first"},
		{"signature MalformedSignature", severalPackets, "the same"},
		{"signature NoIssuer", severalPackets, "the same"},
		{"key MalformedKey", severalKeys, "clients skip a key that they cannot read; its owner should be informed"},
		{"key MalformedKey", "it does not begin with a public key", "clients skip packets before the first key"},
		{"key MalformedKey", "is not allowed in a public key", "a damaged packet of another kind, which clients skip"},
		{"key MalformedKey", "nested too deeply", "a limit"},
		{"key MalformedKey", "partial length", "no tool writes keys in pieces"},
		{"key MalformedKey", "key number 1 cannot be read by terraform and tofu: the packet data are truncated", "clients skip a truncated packet after a key"},
		{"key NoSigningKey", tooEarly, "a revoked subkey does not count, even if its revocation is dated in the future"},
		{"key NoSigningKey", severalKeys, "a key that cannot sign is not registered"},
		{"key NoSigningKey", severalUserIDs, "among equal user IDs, clients take a random one"},
		{"key RevokedKey", "", "a revoked key is not registered, even if a revocation is expired"},
		{"key SecretKey", "", "no secret key is stored"},
		{"key SelfSignature", severalKeys, "clients skip a key that they cannot read; its owner should be informed"},
		{"key UncheckableKey", "", "an algorithm that the registry does not support"},
		{"key UnknownKey", severalKeys, "clients skip a key that they cannot read; its owner should be informed"},
		{"check CriticalNotation", severalUserIDs, "among equal user IDs, clients take a random one"},
		{"check ExpiredSignature", severalUserIDs, "the same"},
		{"check FutureSignature", severalUserIDs, "the same"},
		{"check NotASigner", severalUserIDs, "the same"},
		{"check RevokedKey", severalUserIDs, "the same"},
		{"check UncheckableSignature", "", "an algorithm that the registry does not support"},
		{"check UnknownIssuer", severalUserIDs, "among equal user IDs, clients take a random one"},
		{"check WrongSignature", severalUserIDs, "the same"},
	},
}

// Remarks about cases that clients accept.
const (
	tooEarly       = ", before anything was signed"
	severalKeys    = ", of several keys"
	severalUserIDs = ", with several user IDs"
	severalPackets = ", up to the first signature"
	isTwice        = ", with the last mode of a duplicate directory"
	restIsUnread   = ", without its rest"
)

// Returns the rule that may refuse a case that the libraries accept, or "".
func stricterBy(oracle string, said verdict, difference string) string {
	for _, rule := range stricter[oracle] {
		for _, name := range said.Rules {
			if name == rule.name && strings.Contains(difference, rule.contains) {
				return strings.TrimSpace(rule.name + " " + rule.contains)
			}
		}
	}
	return ""
}
