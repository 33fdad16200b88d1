package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// Gzipped tars, unpacked as go-getter does, by `compress/gzip` and `archive/tar`.
var tarOracle = oracle{"tar", 't', drawTar, func(data []byte, terrace verdict) string {
	return compareArchive(terrace, func(tree *unpacked) ([]entry, error) { return untar(data, tree) })
}}

func untar(data []byte, tree *unpacked) ([]entry, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	reader := tar.NewReader(unzipped)
	var entries []entry
	var directories []entry
	files := 0
	for {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeXGlobalHeader || header.Typeflag == tar.TypeXHeader {
			continue
		}
		mode := header.FileInfo().Mode()
		permissions := uint32(mode.Perm())
		found := entry{Name: header.Name, Kind: kindOf(mode), Size: uint64(header.Size), Mode: &permissions}
		if header.Typeflag == tar.TypeLink {
			found.Kind = "hard link"
		}
		if !mode.IsRegular() {
			found.Size = 0
		}
		entries = append(entries, found)
		if mode.IsDir() {
			err = tree.directory(header.Name)
			directories = append(directories, found)
		} else if err = tree.file(header.Name, permissions); err == nil {
			files++
			_, err = io.Copy(io.Discard, reader)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", header.Name, err)
		}
	}
	for _, directory := range directories {
		if err := tree.change(directory.Name, *directory.Mode); err != nil {
			return nil, err
		}
	}
	if files == 0 {
		return nil, fmt.Errorf("empty archive")
	}
	if _, err := io.Copy(io.Discard, unzipped); err != nil {
		tree.note = fmt.Sprintf("%s (%v)", restIsUnread, err)
	}
	return entries, nil
}

func drawTar(s *source) []byte {
	var data []byte
	switch s.IntN(8) {
	case 0:
		// The first byte is for the fuzzer.
		data = append(data, one(s, s.corpus)[1:]...)
		if s.rarely(2) {
			return s.changed(data, s.corpus)
		}
	case 1:
		return newDeflatedTar(s)
	default:
		data = newTar(s)
	}
	if s.rarely(3) {
		data = s.changed(data, s.corpus)
	}
	return gzipped(s, data)
}

// Creates a tar with the content of one file, and a member of the gzip, deflated by hand.
func newDeflatedTar(s *source) []byte {
	data, content := deflated(s)
	before := append(tarHeader(s, "main.tf", '0', len(content)), []byte{}...)
	after := make([]byte, (512-len(content)%512)%512+1024)
	all := gzipped(s, before)
	all = append(all, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"...)
	all = append(all, data...)
	all = binary.LittleEndian.AppendUint32(all, crc32.ChecksumIEEE(content))
	all = binary.LittleEndian.AppendUint32(all, uint32(len(content)))
	return append(all, gzipped(s, after)...)
}

func newTar(s *source) []byte {
	var data []byte
	count := 1 + s.IntN(4)
	for i := range count {
		name := s.name()
		if i == 0 {
			name = "main.tf"
		}
		if s.rarely(5) {
			data = append(data, extension(s)...)
		}
		flag := byte('0')
		if s.rarely(6) {
			flag = one(s, []byte("05507\x001234567SVx"))
		}
		if i == 0 {
			flag = one(s, []byte("0000\x007"))
		}
		if len(name) > 0 && name[len(name)-1] == '/' && !s.rarely(6) {
			flag = one(s, []byte("5\x00"))
		}
		content := s.bytes(s.IntN(700))
		if flag == '5' || s.rarely(8) {
			content = nil
		}
		data = append(data, tarHeader(s, name, flag, len(content))...)
		data = append(data, padded(content)...)
	}
	blocks := 2
	if s.rarely(6) {
		blocks = s.IntN(6)
	}
	data = append(data, make([]byte, blocks*512)...)
	if s.rarely(20) {
		data = append(data, s.bytes(1+s.IntN(600))...)
	}
	return data
}

// Creates a pax header, or a name or link of GNU tar, for the next entry.
func extension(s *source) []byte {
	flag := one(s, []byte("xxxgLK"))
	content := []byte(s.name() + "\x00")
	if flag == 'x' || flag == 'g' {
		content = nil
		for range 1 + s.IntN(3) {
			key := one(s, []string{"path", "linkpath", "size", "mtime", "uid", "uname", "comment", "GNU.sparse.major", "SCHILY.xattr.user.a", "hdrcharset"})
			value := one(s, []string{"main.tf", "a/b", "0", "12", "1.5", "", "-1", "x=y", "a\x00b", "+3", "99999999999999999999", "1e3"})
			content = append(content, record(key, value)...)
		}
	}
	return append(tarHeader(s, "header", flag, len(content)), padded(content)...)
}

func record(key, value string) string {
	length := len(key) + len(value) + 3
	for {
		text := fmt.Sprintf("%d %s=%s\n", length, key, value)
		if len(text) == length {
			return text
		}
		length = len(text)
	}
}

func padded(content []byte) []byte {
	return append(content, make([]byte, (512-len(content)%512)%512)...)
}

// Creates a header block of any format, mostly with a valid checksum.
func tarHeader(s *source, name string, flag byte, size int) []byte {
	block := make([]byte, 512)
	copy(block[:100], name)
	mode := one(s, []int{0o755, 0o755, 0o700, 0o500, 0o4755})
	if s.rarely(12) {
		mode = one(s, []int{0o644, 0, 0o100644, 0o040755, 0o100, 0o400})
	}
	copy(block[100:], fmt.Sprintf("%07o\x00", mode))
	copy(block[108:], "0000000\x000000000\x00")
	copy(block[124:], fmt.Sprintf("%011o\x00", size))
	copy(block[136:], "00000000000\x00")
	if s.rarely(10) {
		copy(block[124:136], binary.BigEndian.AppendUint64([]byte{0x80, 0, 0, 0}, uint64(size)))
	}
	block[156] = flag
	if s.rarely(6) || flag == '2' || flag == '1' {
		copy(block[157:], s.name())
	}
	switch s.IntN(4) {
	case 0:
		copy(block[257:], "ustar  \x00")
	case 1, 2:
		copy(block[257:], "ustar\x0000")
		if s.rarely(8) {
			copy(block[345:], s.name())
		}
		if s.rarely(8) {
			copy(block[508:], "tar\x00")
		}
	}
	if s.rarely(20) {
		at := one(s, []int{100, 108, 116, 124, 136, 257, 265, 329, 337, 345, 476, 488}) + s.IntN(12)
		block[at] = one(s, []byte{0, ' ', '7', '8', 0x80, 0xff, 'x', '-'})
	}
	copy(block[148:], "        ")
	sum := 0
	for _, char := range block {
		sum += int(char)
	}
	if s.rarely(80) {
		sum++
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
	return block
}

// Compresses the data into one or several members.
func gzipped(s *source, data []byte) []byte {
	var out bytes.Buffer
	for first := true; first || len(data) > 0; first = false {
		length := len(data)
		if s.rarely(8) {
			length = s.IntN(len(data) + 1)
		}
		writer, _ := gzip.NewWriterLevel(&out, s.IntN(11)-1)
		if s.rarely(8) {
			writer.Name, writer.Comment, writer.Extra = "name", "comment", s.bytes(s.IntN(4))
		}
		writer.Write(data[:length])
		writer.Close()
		data = data[length:]
	}
	all := out.Bytes()
	if s.rarely(20) {
		all = s.changed(all, s.corpus)
	}
	return all
}
