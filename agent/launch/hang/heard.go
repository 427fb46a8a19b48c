package hang

import "io"

// heard passes output on to its writer, which may be nil, and notes it.
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

// Hear returns a writer to the given one that tells the watch about output. For a nil watch it
// returns the given writer.
func (w *Watch) Hear(to io.WriteCloser) io.WriteCloser {
	if w == nil {
		return to
	}
	return heard{w, to}
}
