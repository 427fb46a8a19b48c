package metrics

import (
	"bytes"
	"strconv"
)

// Tags says which tags at the start of a line name its rank.
type Tags int

// Kinds of tags.
const (
	// TagsSure accepts only unambiguous tags: [1,3]<stdout>: and [prterun-host-7@1,3]<stdout>:
	// (Open MPI 4 and 5), [3]<stdout>: (Horovod) and [rank3]: (torch).
	TagsSure Tags = iota
	// TagsAll also accepts 3: (srun -l) and [3] (Hydra), which may also be epoch counters.
	TagsAll
	// TagsNone accepts no tags.
	TagsNone
	// TagsAuto means TagsAll for a stream in which every line has a tag, else TagsSure.
	TagsAuto
)

// Split returns the rank in line's tag, and the text after the tag. ok is false if line has no tag
// that counts.
func (t Tags) Split(line []byte) (rank int, text []byte, ok bool) {
	if t == TagsNone {
		return 0, nil, false
	}
	if rank, text, ok := sure(line); ok {
		return rank, text, true
	}
	if t == TagsAll {
		return unsure(line)
	}
	return 0, nil, false
}

// split is Split, except that a line without a tag belongs to rank 0.
func (t Tags) split(line []byte) (rank int, text []byte) {
	if rank, text, ok := t.Split(line); ok {
		return rank, text
	}
	return 0, line
}

func sure(line []byte) (rank int, text []byte, ok bool) {
	if len(line) == 0 || line[0] != '[' {
		return 0, nil, false
	}
	if inside, text, ok := bytes.Cut(line[1:], []byte("]:")); ok && bytes.HasPrefix(inside, []byte("rank")) {
		if rank, ok := decimalRank(inside[len("rank"):]); ok {
			return rank, withoutBlank(text), true
		}
	}
	inside, rest, ok := bytes.Cut(line[1:], []byte("]<"))
	if !ok {
		return 0, nil, false
	}
	stream, text, ok := bytes.Cut(rest, []byte(">:"))
	if !ok || string(stream) != "stdout" && string(stream) != "stderr" && string(stream) != "stddiag" {
		return 0, nil, false
	}
	if bytes.IndexByte(inside, '@') >= 0 { // Open MPI 5 adds a blank after its tag
		text = withoutBlank(text)
	}
	rank, ok = decimalRank(inside[bytes.LastIndexByte(inside, ',')+1:])
	return rank, text, ok
}

func unsure(line []byte) (rank int, text []byte, ok bool) {
	var inside []byte
	if len(line) > 0 && line[0] == '[' {
		inside, text, ok = bytes.Cut(line[1:], []byte("]"))
	} else {
		inside, text, ok = bytes.Cut(blanks(line), []byte(":"))
	}
	if !ok || len(text) > 0 && text[0] != ' ' {
		return 0, nil, false
	}
	rank, ok = decimalRank(inside)
	return rank, withoutBlank(text), ok
}

// withoutBlank removes the one blank that belongs to the tag before text.
func withoutBlank(text []byte) []byte { return bytes.TrimPrefix(text, []byte{' '}) }

func decimalRank(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 9 || digits(b) != len(b) {
		return 0, false
	}
	rank, err := strconv.Atoi(string(b))
	return rank, err == nil
}
