package main

import "strings"

// A rule by which Terrace refuses what the libraries accept.
type rule struct {
	name string
	// A part of the message, or of the difference, where the rule is stricter in this case only.
	contains string
	why      string
}

// Cases are refused by these rules because other readers, other systems or later steps of a client take them for something
// else. A refusal by any other rule is a difference.
var stricter = map[string][]rule{
	"zip": {
		{"Duplicate", "", "which of the two is left depends on the reader"},
		{"Encrypted", "", "Go does not look at the flags; every other reader asks for a password"},
		{"NameNotUtf8", "", "the encoding of such a name is a guess, and the registry tells names in JSON"},
		{"NoConfiguration", "", "clients unpack it, but have no module in it"},
		{"Path/Absolute", "", "go-getter makes it relative, others do not"},
		{"Path/Backslash", "", "a separator on Windows"},
		{"Path/Drive", "", "a drive on Windows"},
		{"Path/Empty", "", "a file without a name"},
		{"Sizes", "", "a directory with content; Go looks at it only where the size is not 0"},
		{"Special", "", "clients unpack devices and pipes as files"},
		{"Symlink", "", "clients unpack it as a file with the target in it"},
		{"ZipContent/Checksum", "declares 00000000", "Go takes a checksum of 0 for none"},
		{"ZipContent/Descriptor", "", "Go looks at its checksum only"},
		{"ZipContent/EndsEarly", "", "Go ignores bytes after the deflated data"},
		{"ZipContent/Local", "", "readers of streams believe the local header"},
		{"ZipContent/LocalFlags", "", "readers of streams believe the local header"},
		{"ZipContent/LocalName", "", "readers of streams believe the local header"},
		{"ZipDirectoryMalformed", "", "Go counts neither entries nor bytes of the directory exactly"},
		{"ZipDirectoryMisplaced", "", "Go guesses where the zip begins"},
		{"ZipOverlap", "", "a small zip can unpack to petabytes by it"},
		{"ZipPrepended", "", "another reader may take those bytes for the zip"},
		{"ZipSplit", "", "Go does not look at the number of the disk"},
		{"ZipTrailing", "", "another reader may take those bytes for the zip"},
		{"ZipContent/NoLocalHeader", "", "Go opens no directory"},
		{"Method", "", "Go opens no directory"},
		{"Bomb", "", "a limit"},
		{"UncompressedTooLarge", "", "a limit"},
		{"ZipCommentCut", "", "Go reads a shorter comment"},
		{"Zip64", "", "readers differ in which of the records counts"},
	},
	"tar": {
		{"Duplicate", "", "which of the two is left depends on the reader"},
		{"GzipChecksum", restIsUnread, "Go does not read behind the end mark of the tar"},
		{"GzipCorrupt", restIsUnread, "the same"},
		{"GzipHeader", restIsUnread, "the same"},
		{"GzipTrailing", restIsUnread, "the same"},
		{"HardLink", "", "clients unpack it as an empty file"},
		{"LinkEscapes", "", "clients unpack it as an empty file, other readers follow it"},
		{"NameNotUtf8", "", "the registry tells names in JSON"},
		{"NoConfiguration", "", "clients unpack it, but have no module in it"},
		{"Path/Absolute", "", "go-getter makes it relative, others do not"},
		{"Path/Backslash", "", "a separator on Windows"},
		{"Path/Control", "", "a terminal takes it for something else"},
		{"Path/Drive", "", "a drive on Windows"},
		{"Path/Empty", "", "a file without a name"},
		{"Sizes", "", "a directory with content"},
		{"Special", "", "clients unpack devices and pipes as files"},
		{"TarNumber", "", "Go looks at fewer fields where the format has fewer"},
		{"TarPax", "", "Go does not look into global headers"},
		{"TarSparse", "", "readers differ in the forms they know"},
		{"TarTrailing", "", "Go does not read behind the end mark"},
		{"Unreadable", isTwice, "tools differ in which of the modes is left"},
		{"Truncated", "", "without an end mark, or cut off behind it: the last entries may be missing"},
	},
	"openpgp": {
		{"signature NotDetached", severalPackets, "clients read up to the first signature by a key that they know; the rest has to be readable, too, since another key may be the first"},
		{"signature MalformedSignature", severalPackets, "the same"},
		{"signature NoIssuer", severalPackets, "the same"},
		{"key MalformedKey", severalKeys, "clients pass over a key that they cannot read; its owner should know"},
		{"key MalformedKey", "it does not begin with a public key", "the same of packets before the first key"},
		{"key MalformedKey", "has no place in a public key", "a damaged packet of another kind, which clients pass over"},
		{"key MalformedKey", "nested too deeply", "a limit"},
		{"key MalformedKey", "partial length", "nothing writes keys in pieces"},
		{"key MalformedKey", "key number 1 cannot be read by terraform and tofu: it ends too early", "clients pass over a packet that is cut off behind a key"},
		{"key NoSigningKey", tooEarly, "a revoked subkey does not count, though its revocation may be of the future"},
		{"key NoSigningKey", severalKeys, "a key that cannot sign is not registered"},
		{"key NoSigningKey", severalUserIDs, "of equally good user IDs clients take a random one"},
		{"key RevokedKey", "", "a revoked key is not registered, though a revocation may be expired"},
		{"key SecretKey", "", "no secret key is stored"},
		{"key SelfSignature", severalKeys, "clients pass over a key that they cannot read; its owner should know"},
		{"key UncheckableKey", "", "an algorithm that the registry does not know"},
		{"key UnknownKey", severalKeys, "clients pass over a key that they cannot read; its owner should know"},
		{"check CriticalNotation", severalUserIDs, "of equally good user IDs clients take a random one"},
		{"check ExpiredSignature", severalUserIDs, "the same"},
		{"check FutureSignature", severalUserIDs, "the same"},
		{"check NotASigner", severalUserIDs, "the same"},
		{"check RevokedKey", severalUserIDs, "the same"},
		{"check UncheckableSignature", "", "an algorithm that the registry does not know"},
		{"check UnknownIssuer", severalUserIDs, "of equally good user IDs clients take a random one"},
		{"check WrongSignature", severalUserIDs, "the same"},
	},
}

// Remarks about cases that clients accept.
const (
	tooEarly       = ", before anything was signed"
	severalKeys    = ", of several keys"
	severalUserIDs = ", with several user IDs"
	severalPackets = ", up to the first signature"
	isTwice        = ", with the last mode of a directory that is there twice"
	restIsUnread   = ", without its rest"
)

// The rule that may refuse a case that the libraries accept, or "".
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
