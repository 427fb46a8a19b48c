package shortage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPolled checks a pipe, and a regular file, which epoll does not accept.
func TestPolled(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	same, err := Polled(r)
	require.NoError(t, err)
	require.Same(t, r, same)
	require.NoError(t, r.Close())

	plain, err := os.Create(filepath.Join(t.TempDir(), "plain"))
	require.NoError(t, err)
	_, err = Polled(plain)
	require.ErrorIs(t, err, errNotPolled)
	require.Contains(t, Way(err), "fs.epoll.max_user_watches")
	require.Contains(t, HintIn("make pipe: "+err.Error()), "fs.epoll.max_user_watches")
	require.ErrorIs(t, plain.Close(), os.ErrClosed, "the file is already closed")
}
