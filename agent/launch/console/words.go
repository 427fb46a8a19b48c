//go:build linux

package console

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/agent/notice"
)

// Words reads what mpiruns say about their ranks. A nil Words reads nothing.
type Words struct {
	// All makes every stream pass through, also a terminal.
	All     bool
	readers []*notice.Reader
	tails   []*wordsEnd
}

// Hears reports whether a stream is read: a pipe, a socket or a file, which a pipe of ours can
// replace without a difference for the command. A terminal or another device stays the command's
// own.
func (w *Words) Hears(f *os.File) bool {
	if w != nil && w.All {
		return true
	}
	var st unix.Stat_t
	if w == nil || unix.Fstat(int(f.Fd()), &st) != nil {
		return false
	}
	kind := st.Mode & unix.S_IFMT
	return kind == unix.S_IFIFO || kind == unix.S_IFSOCK || kind == unix.S_IFREG
}

// Reader returns a reader for one more stream. If heard is false, the reader discards everything.
func (w *Words) Reader(heard bool) io.WriteCloser {
	if !heard {
		return Nowhere()
	}
	reader := notice.NewReader(time.Now)
	last := &wordsEnd{}
	w.readers, w.tails = append(w.readers, reader), append(w.tails, last)
	return Lookers{reader, last}
}

// Ends returns the ends of ranks that mpiruns reported, in order within each stream.
func (w *Words) Ends() (all []notice.End) {
	if w == nil {
		return nil
	}
	for _, r := range w.readers {
		all = append(all, r.Ends()...)
	}
	return all
}

// Last returns the last lines of all streams.
func (w *Words) Last() (lines []string) {
	if w == nil {
		return nil
	}
	for _, one := range w.tails {
		lines = append(lines, one.lines()...)
	}
	return lines
}

// mostWords bounds the last words of a stream, in bytes: a traceback, and what an mpirun prints
// after it.
const mostWords = 8 << 10

// wordsEnd keeps the end of a stream. Its writes never fail.
type wordsEnd struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (l *wordsEnd) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	if n > mostWords {
		p, l.text = p[n-mostWords:], l.text[:0]
	}
	if len(l.text)+len(p) > 2*mostWords {
		l.text = append(l.text[:0], l.text[len(l.text)-mostWords:]...)
	}
	l.text = append(l.text, p...)
	return n, nil
}

// Close implements io.Closer.
func (l *wordsEnd) Close() error { return nil }

// lines returns the whole lines of the last mostWords bytes, and the incomplete line after them.
func (l *wordsEnd) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text
	if len(text) >= mostWords {
		text = text[len(text)-mostWords:]
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	return strings.Split(strings.ToValidUTF8(string(text), "\uFFFD"), "\n")
}

// IsOnePlace reports whether two descriptors refer to the same pipe, socket or file.
func IsOnePlace(a, b *os.File) bool {
	one, errOne := a.Stat()
	other, errOther := b.Stat()
	return errOne == nil && errOther == nil && os.SameFile(one, other)
}
