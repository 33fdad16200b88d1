package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// The maximum length of a path component on file systems.
const partBytes = 255

// A directory into which an archive is unpacked by the rules of go-getter. It is in memory, because with real
// files, modes would not restrict root.
type unpacked struct {
	// The modes of files and directories by their paths. The modes of directories include `isDirectory`.
	modes map[string]uint32
	// The directories with changed modes.
	changed map[string]bool
	// A remark about an archive that clients unpack.
	note string
}

const isDirectory = 1 << 31

func newUnpacked() *unpacked {
	return &unpacked{modes: map[string]uint32{".": isDirectory | 0o755}, changed: map[string]bool{}}
}

// Creates a directory, and its parents.
func (u *unpacked) directory(name string) error {
	place, err := placeOf(name)
	if err != nil {
		return err
	}
	return u.makeAll(place)
}

// Changes the mode of a directory. The last mode counts.
func (u *unpacked) change(name string, mode uint32) error {
	place, err := placeOf(name)
	if err != nil {
		return err
	}
	if u.changed[place] {
		u.note = isTwice
	}
	u.changed[place] = true
	u.modes[place] = isDirectory | mode
	return nil
}

// Creates a file, and its parent directories.
func (u *unpacked) file(name string, mode uint32) error {
	place, err := placeOf(name)
	if err != nil {
		return err
	}
	if err := u.makeAll(path.Dir(place)); err != nil {
		return err
	}
	if before, ok := u.modes[place]; ok && before&isDirectory != 0 {
		return fmt.Errorf("is a directory")
	} else if ok && before&0o200 == 0 {
		return fmt.Errorf("permission denied")
	}
	u.modes[place] = mode
	return nil
}

// Returns whether its owner, who is not root, can read everything.
func (u *unpacked) check() error {
	for place, mode := range u.modes {
		needed := uint32(0o400)
		if mode&isDirectory != 0 {
			needed = 0o500
		}
		if mode&needed != needed {
			return fmt.Errorf("%q has the mode %04o: permission denied", place, mode&0o777)
		}
	}
	return nil
}

func (u *unpacked) makeAll(place string) error {
	if mode, ok := u.modes[place]; ok {
		if mode&isDirectory == 0 {
			return fmt.Errorf("%q is not a directory", place)
		}
		return nil
	}
	if err := u.makeAll(path.Dir(place)); err != nil {
		return err
	}
	u.modes[place] = isDirectory | 0o755
	return nil
}

func placeOf(name string) (string, error) {
	parts := strings.FieldsFunc(name, func(char rune) bool { return char == '/' || char == '\\' })
	switch {
	case slices.Contains(parts, ".."):
		return "", fmt.Errorf("entry contains '..'")
	case strings.Contains(name, "\x00"):
		return "", fmt.Errorf("invalid argument")
	}
	place := strings.TrimPrefix(path.Join("/", name), "/")
	for part := range strings.SplitSeq(place, "/") {
		if len(part) > partBytes {
			return "", fmt.Errorf("file name too long")
		}
	}
	if place == "" {
		return ".", nil
	}
	return place, nil
}

// Compares Terrace's verdict on an archive with the result of unpacking it, and Terrace's entries with Go's.
func compareArchive(terrace verdict, unpack func(*unpacked) ([]entry, error)) string {
	tree := newUnpacked()
	entries, err := unpack(tree)
	if err == nil {
		err = tree.check()
	}
	switch {
	case terrace.Accepted && err != nil:
		return fmt.Sprintf("clients refuse it: %v", err)
	case !terrace.Accepted && err == nil:
		return "clients unpack it" + tree.note
	case !terrace.Accepted:
		return ""
	case len(entries) != len(terrace.Entries):
		return fmt.Sprintf("clients read %d entries, Terrace %d", len(entries), len(terrace.Entries))
	}
	for i, read := range entries {
		if told := terrace.Entries[i]; read.Name != told.Name || read.Kind != told.Kind || read.Size != told.Size {
			return fmt.Sprintf("clients read %v, Terrace %v", read, told)
		} else if told.Mode != nil && *told.Mode != *read.Mode {
			return fmt.Sprintf("clients read the mode %04o, Terrace %04o", *read.Mode, *told.Mode)
		}
	}
	return ""
}
