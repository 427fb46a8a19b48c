// Package deflate compresses what is sent to thousands of peers once for all of them.
package deflate

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
)

// Pack compresses a text (RFC 1951).
func Pack(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("deflate: %w", err)
	}
	if _, err := w.Write(text); err != nil {
		return nil, fmt.Errorf("deflate: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("deflate: %w", err)
	}
	return b.Bytes(), nil
}

// Unpack returns what Pack compressed. More than most bytes are an error.
func Unpack(zip []byte, most int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(zip)), int64(most)+1))
	if err != nil {
		return nil, fmt.Errorf("inflate: %w", err)
	}
	if len(text) > most {
		return nil, fmt.Errorf("inflate: more than %d bytes", most)
	}
	return text, nil
}
