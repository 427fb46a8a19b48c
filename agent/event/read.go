package event

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// longest is the length of the longest line in bytes that Read accepts.
const longest = 1 << 20

// ErrNone means that a file has no event at all.
var ErrNone = errors.New("it has no events")

// Read reads events, one JSON object a line, in the order of the lines. It skips lines that are no
// events, as a crash leaves them, and returns their number. It returns ErrNone if lines remain and
// none of them is an event, or if there is no line.
func Read(from io.Reader) (all []Event, skipped int, err error) {
	skipped, err = Each(from, func(e Event) { all = append(all, e) })
	if err != nil && len(all) > 0 {
		return all, skipped + 1, nil // nothing is known about the rest
	}
	return all, skipped, err
}

// Each is Read for one event after the other, for a record that is large.
func Each(from io.Reader, take func(Event)) (skipped int, err error) {
	some := false
	var d decoder
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), longest)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if d.decode(line) != nil {
			skipped++
			continue
		}
		some = true
		take(d.event)
	}
	if err := lines.Err(); err != nil {
		return skipped, fmt.Errorf("%w: %w", ErrNone, err)
	}
	if !some {
		return skipped, ErrNone
	}
	return skipped, nil
}

// Ours reports whether text begins with an event, so that an earlier run wrote it.
func Ours(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	var e Event
	return json.Unmarshal(first, &e) == nil
}
