package output

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Kind is where output goes.
type Kind int

// Kinds of output.
const (
	Tag   Kind = iota // to the launcher's output, "3: line"
	Plain             // to the launcher's output, unchanged
	Dir               // to a file for each stream of each process
)

// Mode is the parsed value of --output.
type Mode struct {
	Kind Kind
	// Dir is an absolute path, for kind Dir; "" with Bucket: a temporary directory.
	Dir    string
	Bucket string // s3://BUCKET/PREFIX, to which the files are copied; "": none
}

// ParseMode reads "tag", "plain", "dir=PATH", "s3://BUCKET/PREFIX" or "s3://BUCKET/PREFIX,dir=PATH".
func ParseMode(text string) (Mode, error) {
	if strings.HasPrefix(text, bucketScheme) {
		return parseBucket(text)
	}
	path, isDir := strings.CutPrefix(text, "dir=")
	switch {
	case text == "tag":
		return Mode{Kind: Tag}, nil
	case text == "plain":
		return Mode{Kind: Plain}, nil
	case isDir && path == "":
		return Mode{}, errors.New("dir= needs a directory")
	case isDir:
		abs, err := filepath.Abs(path)
		return Mode{Kind: Dir, Dir: abs}, err
	}
	return Mode{}, fmt.Errorf("unknown output mode %q", text)
}

const bucketScheme = "s3://"

// parseBucket reads a bucket, perhaps with a directory. Which buckets there are is not known here.
func parseBucket(text string) (Mode, error) {
	bucket, path, hasDir := strings.Cut(text, ",dir=")
	switch {
	case strings.Trim(bucket[len(bucketScheme):], "/") == "":
		return Mode{}, errors.New("s3:// needs a bucket")
	case !hasDir:
		return Mode{Kind: Dir, Bucket: bucket}, nil
	case path == "":
		return Mode{}, errors.New("dir= needs a directory")
	}
	abs, err := filepath.Abs(path)
	return Mode{Kind: Dir, Dir: abs, Bucket: bucket}, err
}

// Span is a range of ranks, both ends included.
type Span struct{ First, Last int }

// ParseRanks reads "0,2-3".
func ParseRanks(text string) ([]Span, error) {
	var spans []Span
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 31)
		last, err2 := strconv.ParseUint(to, 10, 31)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("%q is not a rank or a range of ranks", part)
		}
		if last < first {
			return nil, fmt.Errorf("range %s ends before it starts", part)
		}
		spans = append(spans, Span{int(first), int(last)})
	}
	return spans, nil
}

// Within reports whether rank is in one of spans.
func Within(spans []Span, rank int) bool {
	for _, s := range spans {
		if s.First <= rank && rank <= s.Last {
			return true
		}
	}
	return false
}
