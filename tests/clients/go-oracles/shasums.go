package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
)

// SHA256SUMS as terraform and tofu read it: once to find the digest of a zip, and, after the signature was
// checked, again to add the digests of all platforms to the lock file.
var shasumsOracle = oracle{"shasums", 's', drawShasums, compareShasums}

func compareShasums(data []byte, terrace verdict) string {
	all, err := digestsForLockFile(data)
	if !terrace.Accepted {
		// Clients read almost any text; with most texts they drop digests, or find no zip. Only acceptance is
		// compared.
		return ""
	}
	if err != nil {
		return fmt.Sprintf("clients cannot read it: %v", err)
	}
	if len(all) != len(terrace.Digests) {
		return fmt.Sprintf("clients read %d digests, Terrace %d", len(all), len(terrace.Digests))
	}
	for name, digest := range terrace.Digests {
		found, err := digestOf(data, name)
		if err != nil || found != digest {
			return fmt.Sprintf("for %q clients read %s %v, Terrace %s", name, found, err, digest)
		}
	}
	return ""
}

// Returns the first line with the name as its second field.
func digestOf(data []byte, name string) (string, error) {
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		fields := bytes.Fields(line)
		if len(fields) > 1 && string(fields[1]) == name {
			digest, err := hex.DecodeString(string(fields[0]))
			if err == nil && len(digest) != 32 {
				err = fmt.Errorf("a digest of %d bytes", len(digest))
			}
			return hex.EncodeToString(digest), err
		}
	}
	return "", fmt.Errorf("no line for it")
}

// Every line must start with a digest. A blank line crashes clients, and any other line makes them drop all
// digests.
func digestsForLockFile(data []byte) ([]string, error) {
	var all []string
	scanner := bufio.NewScanner(bytes.NewReader(data))
	for scanner.Scan() {
		fields := bytes.Fields(scanner.Bytes())
		if len(fields) == 0 {
			return nil, fmt.Errorf("a blank line: index out of range")
		}
		digest, err := hex.DecodeString(string(fields[0]))
		if len(fields) < 2 || err != nil || len(digest) != 32 {
			return nil, fmt.Errorf("a line that is not of a digest and a name")
		}
		all = append(all, string(digest))
	}
	return all, scanner.Err()
}

func drawShasums(s *source) []byte {
	if s.rarely(4) {
		return s.changed(one(s, s.corpus), s.corpus)
	}
	var text strings.Builder
	for range 1 + s.IntN(4) {
		digest := hex.EncodeToString(s.bytes(32))
		if s.rarely(8) {
			digest = strings.ToUpper(digest)
		}
		if s.rarely(20) {
			digest = digest[:s.IntN(65)]
		}
		name := fmt.Sprintf("terraform-provider-x_1.0.0_%s.zip", one(s, []string{"linux_amd64", "darwin_arm64", "windows_386", "a", "é"}))
		if s.rarely(10) {
			name = one(s, []string{"*a.zip", "./a", "a b", "a\u00a0b", "a\u0085", "a\v", "\ufeffa", "a\u200b", "a\x00", "", "d/a", "a\\b"})
		}
		between, end := "  ", "\n"
		if s.rarely(5) {
			between = one(s, []string{" ", "\t", "\u00a0", "\u2003", "\v", " *"})
		}
		if s.rarely(5) {
			end = one(s, []string{"\r\n", "", "\n\n", "\r", "\u2028", " \n"})
		}
		text.WriteString(digest + between + name + end)
	}
	data := []byte(text.String())
	if s.rarely(6) {
		data = s.changed(data, s.corpus)
	}
	return data
}
