package wire

import (
	"fmt"

	"github.com/musterhq/muster/exec/deflate"
)

// Packed is an assignment K=V that many sessions of a launch share. It is deflated once for all of
// them: the addresses of a thousand workers take 3 KB instead of 13 KB in each worker's frame.
type Packed struct {
	text string
	zip  []byte
}

// Pack deflates an assignment.
func Pack(assignment string) (*Packed, error) {
	zip, err := deflate.Pack([]byte(assignment))
	if err != nil {
		return nil, err
	}
	return &Packed{assignment, zip}, nil
}

// unpack inflates assignments of at most MaxOpen bytes together.
func unpack(zips [][]byte) (env []string, err error) {
	left := MaxOpen
	for _, zip := range zips {
		text, err := deflate.Unpack(zip, left)
		if err != nil {
			return nil, fmt.Errorf("unpack assignments of at most %d bytes: %w", MaxOpen, err)
		}
		left -= len(text)
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
