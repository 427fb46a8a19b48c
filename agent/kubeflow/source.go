package kubeflow

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"

	"go.yaml.in/yaml/v2"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	kyaml "sigs.k8s.io/yaml"
)

// value is one document of a stream, decoded.
type value struct {
	data any
	raw  []byte // as in the stream; encoded again if nothing separates it from the next
}

// values decodes a stream of YAML documents, of JSON values one after the other, or of both. Empty
// documents are left out.
func values(in io.Reader) (all []value, err error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(utf8Text(text))))
	for n := 1; ; n++ {
		raw, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		var found []value
		if err == nil {
			found, err = between(raw)
		}
		if err != nil {
			return nil, fmt.Errorf("read document %d: %w", n, err)
		}
		all = append(all, found...)
	}
}

// utf8Text removes the byte order mark of a text, and converts UTF-16, which > in PowerShell
// writes.
func utf8Text(text []byte) []byte {
	unit := func(b []byte) uint16 { return uint16(b[0])<<8 | uint16(b[1]) }
	switch {
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return text[3:]
	case bytes.HasPrefix(text, []byte("\xff\xfe")):
		unit = func(b []byte) uint16 { return uint16(b[1])<<8 | uint16(b[0]) }
	case !bytes.HasPrefix(text, []byte("\xfe\xff")):
		return text
	}
	var units []uint16
	for b := text[2:]; len(b) > 1; b = b[2:] {
		units = append(units, unit(b))
	}
	return []byte(string(utf16.Decode(units)))
}

// between decodes the text between two separators. It is usually one document, but JSON values need
// no separator, and "..." ends a document too.
func between(raw []byte) ([]value, error) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if start := bytes.TrimSpace(raw); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		found, err := ofJSON(raw)
		if err == nil {
			return found, nil
		}
		if len(found) > 0 || errors.Is(err, errTwice) {
			return nil, err
		}
	}
	return ofYAML(raw)
}

var errTwice = errors.New("not strict JSON")

// ofJSON decodes JSON values. With an error it also returns the values before it.
func ofJSON(raw []byte) (all []value, err error) {
	dec := stdjson.NewDecoder(bytes.NewReader(raw))
	for {
		var one stdjson.RawMessage
		switch err := dec.Decode(&one); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, fmt.Errorf("JSON value %d: %w", len(all)+1, err)
		}
		var data any
		strict, err := kjson.UnmarshalStrict(one, &data, kjson.DisallowDuplicateFields)
		switch {
		case err != nil:
			return all, fmt.Errorf("JSON value %d: %w", len(all)+1, err)
		case len(strict) > 0:
			return all, fmt.Errorf("%w: value %d: %w", errTwice, len(all)+1, strict[0])
		case data == nil:
			continue
		}
		if bytes.IndexByte(one, '\t') >= 0 { // YAML does not allow tabs as indentation
			var spaced bytes.Buffer
			if err := stdjson.Indent(&spaced, one, "", "  "); err != nil {
				return all, err
			}
			one = spaced.Bytes()
		}
		all = append(all, value{data, bytes.Clone(one)})
	}
}

// ofYAML decodes the YAML documents of raw.
func ofYAML(raw []byte) (all []value, err error) {
	parts, err := partsOf(raw)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		text, err := kyaml.YAMLToJSONStrict(part)
		if err != nil && merges(part) {
			text, err = kyaml.YAMLToJSON(part)
		}
		if err != nil {
			return nil, err
		}
		var data any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &data); err != nil {
			return nil, err
		}
		if data != nil {
			all = append(all, value{data, part})
		}
	}
	return all, nil
}

// merges reports whether the text has YAML merges. The strict decoder takes a key beside a merge
// for a duplicate.
func merges(text []byte) bool { return bytes.Contains(text, []byte("<<:")) }

// partsOf returns raw unchanged if it holds one document. Otherwise it encodes each document again.
func partsOf(raw []byte) ([][]byte, error) {
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.SetStrict(!merges(raw))
	var parts [][]byte
	for {
		var doc any
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF) && len(parts) < 2:
			return [][]byte{raw}, nil
		case errors.Is(err, io.EOF):
			return parts, nil
		case err != nil:
			return nil, err
		}
		text, err := yaml.Marshal(doc)
		if err != nil {
			return nil, err
		}
		parts = append(parts, text)
	}
}
