package metrics

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Files reads saved logs in order; "-" is stdin. A file named rank-N.out, as created by --output
// dir=PATH, belongs to rank N. In other files lines may have tags. A note is a sentence about a
// file in which TagsAuto has taken something for tags that may be something else. Errors name the
// file.
func (c *Collector) Files(paths []string, stdin io.Reader, tags Tags) (notes []string, err error) {
	for _, path := range paths {
		guessed, err := c.file(path, stdin, tags)
		if err != nil {
			return notes, fmt.Errorf("read log: %w", err)
		}
		if guessed {
			notes = append(notes, fmt.Sprintf("%s: every line starts with a number, which is read as its rank", path))
		}
	}
	return notes, nil
}

func (c *Collector) file(path string, stdin io.Reader, tags Tags) (guessed bool, err error) {
	if path == "-" {
		return c.read(stdin, tags)
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if rank, ok := rankOf(path); ok {
		return false, look(c.Writer(rank), f)
	}
	return c.read(f, tags)
}

// rankOf returns N for .../rank-N.out.
func rankOf(path string) (int, bool) {
	middle, ok := strings.CutPrefix(filepath.Base(path), "rank-")
	if !ok {
		return 0, false
	}
	if middle, ok = strings.CutSuffix(middle, ".out"); !ok {
		return 0, false
	}
	return decimalRank([]byte(middle))
}

func (c *Collector) read(r io.Reader, tags Tags) (guessed bool, err error) {
	if tags != TagsAuto {
		return false, look(c.Mixed(tags), r)
	}
	// Only the last line shows whether every line has a tag. So both interpretations are computed,
	// and the right one is kept.
	asSure, asAll := c.empty(), c.empty()
	every, doubtful := true, false
	sureTags, allTags := asSure.Mixed(TagsSure), asAll.Mixed(TagsAll)
	both := &Writer{skip: func() { asSure.skip(); asAll.skip() }, look: func(piece []byte, first bool) {
		sureTags.look(piece, first)
		allTags.look(piece, first)
		if line := plain(piece); first && len(bytes.TrimSpace(line)) > 0 && !isOurs(line) {
			_, _, certain := sure(line)
			_, _, likely := unsure(line)
			every = every && (certain || likely)
			doubtful = doubtful || likely
		}
	}}
	if err := look(both, r); err != nil {
		return false, err
	}
	if !every {
		asAll = asSure
	}
	c.merge(asAll)
	return every && doubtful, nil
}

// isOurs reports whether the launcher printed line, because a log may contain both.
func isOurs(line []byte) bool {
	return bytes.HasPrefix(line, []byte("agent: ")) || bytes.HasPrefix(line, []byte("hint: "))
}

// empty returns a Collector like c that has seen nothing.
func (c *Collector) empty() *Collector {
	var specs []Spec
	for _, s := range c.series {
		specs = append(specs, s.Spec)
	}
	return New(specs)
}

func look(w *Writer, r io.Reader) error {
	_, err := io.Copy(w, r)
	if err != nil {
		return err
	}
	return w.Close()
}
