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

// Words listens to what mpiruns say of their ranks. A nil one hears nothing.
type Words struct {
	readers []*notice.Reader
	tails   []*wordsEnd
}

// Hears reports whether a stream is listened to: a pipe, a socket or a file, which a pipe of
// ours in its place changes nothing for. A terminal or another device stays the command's own.
func (w *Words) Hears(f *os.File) bool {
	var st unix.Stat_t
	if w == nil || unix.Fstat(int(f.Fd()), &st) != nil {
		return false
	}
	kind := st.Mode & unix.S_IFMT
	return kind == unix.S_IFIFO || kind == unix.S_IFSOCK || kind == unix.S_IFREG
}

// Reader gives a reader for one more stream, if that is heard.
func (w *Words) Reader(heard bool) io.WriteCloser {
	if !heard {
		return Nowhere()
	}
	reader := notice.NewReader(time.Now)
	last := &wordsEnd{}
	w.readers, w.tails = append(w.readers, reader), append(w.tails, last)
	return Lookers{reader, last}
}

// Ends are the ends of ranks that were heard of, each stream's in its order.
func (w *Words) Ends() (all []notice.End) {
	if w == nil {
		return nil
	}
	for _, r := range w.readers {
		all = append(all, r.Ends()...)
	}
	return all
}

// Last are the last lines of all streams.
func (w *Words) Last() (lines []string) {
	if w == nil {
		return nil
	}
	for _, one := range w.tails {
		lines = append(lines, one.lines()...)
	}
	return lines
}

// mostWords bounds the last words of a stream in bytes: a traceback, and what an mpirun says
// after it.
const mostWords = 8 << 10

// wordsEnd keeps the end of a stream. It is a writer that takes everything.
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

// lines are the whole lines of the last mostWords bytes, and what follows them.
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

// IsOnePlace reports whether two descriptors are of one pipe, socket or file.
func IsOnePlace(a, b *os.File) bool {
	one, errOne := a.Stat()
	other, errOther := b.Stat()
	return errOne == nil && errOther == nil && os.SameFile(one, other)
}
