package console

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutlet(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 20_000) // more than a pipe holds
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	got := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(r)
		got <- b
	}()
	n, err := NewOutlet(w).Write(text)
	require.NoError(t, err)
	require.Equal(t, len(text), n)
	require.NoError(t, w.Close())
	require.Equal(t, text, <-got)

	path := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = NewOutlet(f).Write(text)
	require.NoError(t, err)
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, text, have)
}

// TestOutletCloseEndsABlockedWrite checks that closing the outlet ends a write that nothing reads.
func TestOutletCloseEndsABlockedWrite(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	o := NewOutlet(w)
	failed := make(chan error, 1)
	go func() {
		_, err := o.Write(make([]byte, 1<<20))
		failed <- err
	}()
	one := make([]byte, 1)
	_, err = r.Read(one) // now the write has begun
	require.NoError(t, err)
	o.Close()
	require.ErrorIs(t, <-failed, os.ErrClosed)
	_, err = o.Write(one)
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestOutletWithoutAReader(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, r.Close())
	_, err = NewOutlet(w).Write([]byte("x"))
	require.ErrorContains(t, err, "broken pipe")
}
