package wire

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
)

// Packed is an assignment K=V that many sessions of a launch share. It is deflated once for all of
// them: the addresses of a thousand workers take 3 KB instead of 13 KB in each worker's frame.
type Packed struct {
	text string
	zip  []byte
}

// Pack deflates an assignment.
func Pack(assignment string) (*Packed, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(w, assignment); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return &Packed{assignment, b.Bytes()}, nil
}

// unpack inflates assignments of at most MaxOpen bytes together.
func unpack(zips [][]byte) (env []string, err error) {
	left := int64(MaxOpen)
	for _, zip := range zips {
		text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(zip)), left+1))
		if err != nil {
			return nil, fmt.Errorf("unpack assignment: %w", err)
		}
		if left -= int64(len(text)); left < 0 {
			return nil, fmt.Errorf("unpack assignments: more than %d bytes", MaxOpen)
		}
		env = append(env, string(text))
	}
	return env, nil
}

// Unpacked returns the spec for a worker that does not accept packed assignments.
func (s Spec) Unpacked() Spec {
	s.Env, s.Packed = s.environment(), nil
	return s
}

// environment returns everything that the session adds to the worker's own environment.
func (s Spec) environment() []string {
	env := s.Env[:len(s.Env):len(s.Env)]
	for _, p := range s.Packed {
		env = append(env, p.text)
	}
	return env
}
