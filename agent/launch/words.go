//go:build linux

package launch

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/agent/notice"
)

// words listens to what mpiruns say of their ranks. A nil one hears nothing.
type words struct{ readers []*notice.Reader }

// listen gives one for a command whose end is judged by its mpiruns, nil for others.
func (r *runner) listen() *words {
	if rule := r.cfg.Rule(); rule != ExitStrict && rule != ExitScript {
		return nil
	}
	return &words{}
}

// hears reports whether a stream is listened to: a pipe, a socket or a file, which a pipe of
// ours in its place changes nothing for. A terminal or another device stays the command's own.
func (w *words) hears(f *os.File) bool {
	var st unix.Stat_t
	if w == nil || unix.Fstat(int(f.Fd()), &st) != nil {
		return false
	}
	kind := st.Mode & unix.S_IFMT
	return kind == unix.S_IFIFO || kind == unix.S_IFSOCK || kind == unix.S_IFREG
}

// reader gives a reader for one more stream, if that is heard.
func (w *words) reader(heard bool) io.WriteCloser {
	if !heard {
		return nowhere{io.Discard}
	}
	reader := notice.NewReader(time.Now)
	w.readers = append(w.readers, reader)
	return reader
}

// ends are the ends of ranks that were heard of, each stream's in its order.
func (w *words) ends() (all []notice.End) {
	if w == nil {
		return nil
	}
	for _, r := range w.readers {
		all = append(all, r.Ends()...)
	}
	return all
}

// isOnePlace reports whether two descriptors are of one pipe, socket or file.
func isOnePlace(a, b *os.File) bool {
	one, errOne := a.Stat()
	other, errOther := b.Stat()
	return errOne == nil && errOther == nil && os.SameFile(one, other)
}
