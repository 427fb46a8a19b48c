package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"time"
)

// File is a file of an archive.
type File struct {
	Name string
	Mode int64 // permissions
	Data []byte
}

// Tar returns a tar of files in their order. Each belongs to root and has the time when.
func Tar(files []File, when time.Time) ([]byte, error) {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, f := range files {
		header := tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Mode: f.Mode, Size: int64(len(f.Data)), ModTime: when, Format: tar.FormatPAX}
		if err := w.WriteHeader(&header); err != nil {
			return nil, fmt.Errorf("archive %s: %w", f.Name, err)
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, fmt.Errorf("archive %s: %w", f.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return text.Bytes(), nil
}

// Gzip compresses data. Its header has neither a name nor a time.
func Gzip(data []byte) ([]byte, error) {
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return text.Bytes(), nil
}
