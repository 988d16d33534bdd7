package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// file is a part of a release.
type file struct {
	name, about, sum string
	size             int
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// checksums are as sha256sum -c reads them.
func checksums(made []file) []byte {
	var b bytes.Buffer
	for _, f := range made {
		fmt.Fprintf(&b, "%s  %s\n", f.sum, f.name)
	}
	return b.Bytes()
}

func (b binary) archiveName(version string) string {
	if b.os == "windows" {
		return b.baseName(version) + ".zip"
	}
	return b.baseName(version) + ".tar.gz"
}

// entry is a file in an archive.
type entry struct {
	name string
	mode int64
	text []byte
}

// archive holds the program and its license. It is the same for the same commit.
func (b binary) archive(from source) ([]byte, error) {
	program, err1 := os.ReadFile(b.path)
	license, err2 := os.ReadFile(filepath.Join(from.repo, "LICENSE"))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	entries := []entry{{"LICENSE", 0o644, license}, {b.program(), 0o755, program}}
	if b.os == "windows" {
		return zipped(from, entries)
	}
	return tarred(from, entries)
}

func tarred(from source, entries []entry) ([]byte, error) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(packed)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.text)), ModTime: from.at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.text); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), packed.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func zipped(from source, entries []entry) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: from.at}
		header.SetMode(os.FileMode(e.mode))
		to, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(e.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
