package metrics

import (
	"bytes"
	"strconv"
)

// Tags says which marks at the beginning of a line name its rank.
type Tags int

// What counts as a tag.
const (
	// TagsSure: what nothing else looks like: [1,3]<stdout>: and
	// [prterun-host-7@1,3]<stdout>: (Open MPI 4 and 5), [3]<stdout>: (Horovod)
	// and [rank3]: (torch).
	TagsSure Tags = iota
	// TagsAll: also 3: (srun -l) and [3] (Hydra), which an epoch may look like.
	TagsAll
	// TagsNone: a line is what it is.
	TagsNone
	// TagsAuto: TagsAll for a stream whose every line has a tag, else TagsSure.
	TagsAuto
)

// Split gives the rank that line's tag names and the text behind the tag. ok is
// false where line has no tag that counts.
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

// split is Split where a line without a tag is all rank 0's.
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
	if bytes.IndexByte(inside, '@') >= 0 { // Open MPI 5 puts a blank behind its tag
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

// withoutBlank takes off the one blank that belongs to the tag before text.
func withoutBlank(text []byte) []byte { return bytes.TrimPrefix(text, []byte{' '}) }

func decimalRank(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 9 || digits(b) != len(b) {
		return 0, false
	}
	rank, err := strconv.Atoi(string(b))
	return rank, err == nil
}
