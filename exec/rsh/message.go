package rsh

import (
	"encoding/binary"
	"errors"
	"slices"
)

// Kind is what a request asks of the broker.
type Kind byte

// Kinds of requests.
const (
	KindRun   Kind = 'R' // run a command on a host
	KindHosts Kind = 'H' // return the hosts
	// KindStacks returns where the ranks are whose numbers are in Command, separated by spaces, or
	// all ranks if it is empty.
	KindStacks Kind = 'S'
	// KindDoctor checks the workers again, and returns the findings, each as JSON.
	KindDoctor Kind = 'D'
	// KindTop returns what the workers use, each as JSON.
	KindTop Kind = 'T'
)

// MaxMessage is the limit of a request and of a reply in bytes. Linux accepts at most 6 MiB of
// arguments and environment in one execve (execve(2)), so no stub can get more. Horovod puts a
// whole environment on its command line.
const MaxMessage = 8 << 20

const (
	version     = 1
	flagNoStdin = 1
)

// ErrMalformed reports that a message does not belong to this protocol version.
var ErrMalformed = errors.New("malformed message")

// AppendRequest appends the frame of a request, starting with its length.
func AppendRequest(b []byte, kind Kind, r Request) []byte {
	at := len(b)
	var flags byte
	if r.NoStdin {
		flags = flagNoStdin
	}
	b = append(b, 0, 0, 0, 0, version, byte(kind), flags)
	b = appendString(b, r.Host)
	b = appendString(b, r.User)
	b = appendString(b, r.Command)
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// ParseRequest reads a request without its length.
func ParseRequest(b []byte) (Kind, Request, error) {
	if len(b) < 3 || b[0] != version {
		return 0, Request{}, ErrMalformed
	}
	kind, flags := Kind(b[1]), b[2]
	if !slices.Contains([]Kind{KindRun, KindHosts, KindStacks, KindDoctor, KindTop}, kind) {
		return 0, Request{}, ErrMalformed
	}
	r := Request{NoStdin: flags&flagNoStdin != 0}
	b = b[3:]
	for _, field := range []*string{&r.Host, &r.User, &r.Command} {
		var ok bool
		if *field, b, ok = cutString(b); !ok {
			return 0, Request{}, ErrMalformed
		}
	}
	if len(b) != 0 {
		return 0, Request{}, ErrMalformed
	}
	return kind, r, nil
}

// Reply is the broker's answer.
type Reply struct {
	Code  int      // exit code, 0..255
	Lines []string // a sentence for stderr, the hosts, the stacks, or findings
}

// AppendReply appends the frame of a reply, starting with its length.
func AppendReply(b []byte, r Reply) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0, version)
	b = binary.AppendUvarint(b, uint64(r.Code))
	b = binary.AppendUvarint(b, uint64(len(r.Lines)))
	for _, line := range r.Lines {
		b = appendString(b, line)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// ParseReply reads a reply without its length. A number that is no exit code is malformed: cut to 8
// bits it could look like success.
func ParseReply(b []byte) (Reply, error) {
	if len(b) < 1 || b[0] != version {
		return Reply{}, ErrMalformed
	}
	b = b[1:]
	code, n := binary.Uvarint(b)
	if n <= 0 || code > 255 {
		return Reply{}, ErrMalformed
	}
	b = b[n:]
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)) {
		return Reply{}, ErrMalformed
	}
	b = b[n:]
	r := Reply{Code: int(code)}
	for range count {
		line, rest, ok := cutString(b)
		if !ok {
			return Reply{}, ErrMalformed
		}
		r.Lines, b = append(r.Lines, line), rest
	}
	if len(b) != 0 {
		return Reply{}, ErrMalformed
	}
	return r, nil
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func cutString(b []byte) (s string, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return "", nil, false
	}
	return string(b[n : n+int(size)]), b[n+int(size):], true
}
