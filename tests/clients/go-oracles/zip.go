package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"
)

// Zips, unpacked as go-getter does, by `archive/zip`.
var zipOracle = oracle{"zip", 'z', drawZip, func(data []byte, terrace verdict) string {
	return compareArchive(terrace, func(tree *unpacked) ([]entry, error) { return unzip(data, tree) })
}}

func unzip(data []byte, tree *unpacked) ([]entry, error) {
	reader, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if len(reader.File) == 0 {
		return nil, fmt.Errorf("empty archive")
	}
	var entries []entry
	for _, file := range reader.File {
		mode := file.Mode()
		permissions := uint32(mode.Perm())
		found := entry{Name: file.Name, Kind: kindOf(mode), Size: file.UncompressedSize64, Mode: &permissions}
		entries = append(entries, found)
		if mode.IsDir() {
			err = tree.directory(file.Name)
		} else if err = tree.file(file.Name, permissions); err == nil {
			err = readZipped(file)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", file.Name, err)
		}
	}
	return entries, nil
}

func readZipped(file *zip.File) error {
	content, err := file.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	_, err = io.Copy(io.Discard, content)
	return err
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode.IsRegular():
		return "file"
	case mode&fs.ModeType == fs.ModeSymlink:
		return "symlink"
	default:
		return "other"
	}
}

// Returns the name of an entry, mostly one that every system accepts.
func (s *source) name() string {
	if s.rarely(8) {
		odd := []string{"main.tf", "a", "./x", "x/../y", "../z", "/abs", "b\\c", "c:d", "\xff.tf", "", ".", "n\x00ul", strings.Repeat("n", 256)}
		return one(s, odd)
	}
	return one(s, []string{"outputs.tf", "a/b.tf", "a/", "b/", "b/c/d.txt", "./", "ü.md", "A/B.tf", "LICENSE", "x/y/z/main.tf", "e"})
}

func drawZip(s *source) []byte {
	var data []byte
	if s.rarely(8) {
		data = append(data, one(s, s.corpus)...)
	} else {
		data = newZip(s)
	}
	if s.rarely(3) {
		data = s.changed(data, s.corpus)
	}
	return data
}

// Creates a zip, mostly with correct headers.
func newZip(s *source) []byte {
	var data, directory []byte
	count := 1 + s.IntN(4)
	for i := range count {
		name := s.name()
		if i == 0 {
			name = "main.tf"
		}
		file := newZipped(s, name)
		if s.rarely(40) {
			data = append(data, s.bytes(s.IntN(30))...)
		}
		offset := len(data)
		data = append(data, file.local(s)...)
		directory = append(directory, file.header(s, offset)...)
	}
	start := len(data)
	data = append(data, directory...)
	return append(data, end(s, count, len(directory), start)...)
}

type zipped struct {
	name               string
	madeBy, attributes uint32
	flags, method      uint16
	crc, size          uint32
	content, extra     []byte
	descriptor         bool
}

func newZipped(s *source, name string) zipped {
	file := zipped{name: name, madeBy: one(s, []uint32{3, 3, 3, 3, 3, 19, 0, 0, 11, 14, 1, 10}), flags: one(s, []uint16{0, 0, 1 << 11, 2, 6})}
	file.attributes = one(s, []uint32{0o100644, 0o100755, 0o644, 0o100444}) << 16
	if s.rarely(8) {
		file.attributes = one(s, []uint32{0o100000, 0, 0o040755, 0o120777, 0o020644, 0o100222}) << 16
	}
	if s.rarely(6) {
		file.attributes |= one(s, []uint32{0x10, 0x01, 0x20})
	}
	content := s.bytes(s.IntN(60))
	if len(name) > 0 && name[len(name)-1] == '/' && !s.rarely(10) {
		content = nil
	}
	file.content = content
	if !s.rarely(3) && len(content) > 0 {
		file.method = 8
		file.content, content = deflated(s)
	}
	file.crc, file.size = crc32.ChecksumIEEE(content), uint32(len(content))
	if s.rarely(4) {
		file.descriptor = true
		file.flags |= 1 << 3
	}
	if s.rarely(6) {
		file.extra = append([]byte{0x55, 0x54, byte(s.IntN(3)), 0}, s.bytes(2)...)
	}
	if s.rarely(60) {
		file.flags |= 1 << s.IntN(16)
	}
	if s.rarely(60) {
		file.method = uint16(s.IntN(13))
	}
	if s.rarely(60) {
		file.crc = one(s, []uint32{0, file.crc + 1})
	}
	if s.rarely(60) {
		file.size += s.Uint32N(3) - 1
	}
	return file
}

// The fields from "version needed" up to the lengths.
func (file zipped) shared(sizes bool) []byte {
	fields := binary.LittleEndian.AppendUint16(nil, 20)
	fields = binary.LittleEndian.AppendUint16(fields, file.flags)
	fields = binary.LittleEndian.AppendUint16(fields, file.method)
	fields = append(fields, 0, 0, 0x21, 0)
	crc, compressed, size := file.crc, uint32(len(file.content)), file.size
	if !sizes {
		crc, compressed, size = 0, 0, 0
	}
	for _, number := range []uint32{crc, compressed, size} {
		fields = binary.LittleEndian.AppendUint32(fields, number)
	}
	fields = binary.LittleEndian.AppendUint16(fields, uint16(len(file.name)))
	return binary.LittleEndian.AppendUint16(fields, uint16(len(file.extra)))
}

func (file zipped) local(s *source) []byte {
	name := file.name
	if s.rarely(60) {
		file.name = s.name()
	}
	data := append([]byte("PK\x03\x04"), file.shared(!file.descriptor || s.rarely(3))...)
	data = append(data, file.name...)
	data = append(data, file.extra...)
	data = append(data, file.content...)
	file.name = name
	if !file.descriptor || s.rarely(40) {
		return data
	}
	if !s.rarely(3) {
		data = append(data, "PK\x07\x08"...)
	}
	data = binary.LittleEndian.AppendUint32(data, file.crc)
	for _, size := range []uint32{uint32(len(file.content)), file.size} {
		data = binary.LittleEndian.AppendUint32(data, size)
	}
	return data
}

func (file zipped) header(s *source, offset int) []byte {
	data := binary.LittleEndian.AppendUint16([]byte("PK\x01\x02"), uint16(file.madeBy<<8|20))
	data = append(data, file.shared(true)...)
	comment := s.bytes(max(s.IntN(20)-15, 0))
	data = binary.LittleEndian.AppendUint16(data, uint16(len(comment)))
	data = append(data, 0, 0, 0, 0)
	data = binary.LittleEndian.AppendUint32(data, file.attributes)
	data = binary.LittleEndian.AppendUint32(data, uint32(offset))
	data = append(data, file.name...)
	data = append(data, file.extra...)
	return append(data, comment...)
}

func end(s *source, count, size, start int) []byte {
	var data []byte
	short, long := uint16(count), [2]uint32{uint32(size), uint32(start)}
	if s.rarely(10) {
		data = binary.LittleEndian.AppendUint64([]byte("PK\x06\x06"), 44)
		data = append(data, 45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		for _, number := range []int{count, count, size, start} {
			data = binary.LittleEndian.AppendUint64(data, uint64(number))
		}
		data = append(data, "PK\x06\x07\x00\x00\x00\x00"...)
		data = binary.LittleEndian.AppendUint64(data, uint64(start+size))
		data = append(data, 1, 0, 0, 0)
		short, long = 0xffff, [2]uint32{0xffffffff, 0xffffffff}
	}
	if s.rarely(30) {
		short += uint16(s.IntN(3)) - 1
	}
	data = append(data, "PK\x05\x06\x00\x00\x00\x00"...)
	data = binary.LittleEndian.AppendUint16(data, short)
	data = binary.LittleEndian.AppendUint16(data, short)
	data = binary.LittleEndian.AppendUint32(data, long[0])
	data = binary.LittleEndian.AppendUint32(data, long[1])
	comment := s.bytes(max(s.IntN(30)-25, 0))
	data = binary.LittleEndian.AppendUint16(data, uint16(len(comment)))
	data = append(data, comment...)
	if s.rarely(40) {
		data = append(data, s.bytes(1+s.IntN(4))...)
	}
	return data
}
