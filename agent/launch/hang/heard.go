package hang

import "io"

// heard notes that output passes on its way to its writer, which may be nil.
type heard struct {
	watch *Watch
	to    io.WriteCloser
}

// Write implements io.Writer.
func (h heard) Write(p []byte) (int, error) {
	h.watch.Wrote()
	if h.to == nil {
		return len(p), nil
	}
	return h.to.Write(p)
}

// Close implements io.Closer.
func (h heard) Close() error {
	if h.to == nil {
		return nil
	}
	return h.to.Close()
}

// Hear lets the watch know of what is written to w. A nil watch leaves w alone.
func (w *Watch) Hear(to io.WriteCloser) io.WriteCloser {
	if w == nil {
		return to
	}
	return heard{w, to}
}
