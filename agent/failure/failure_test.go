package failure

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

func TestNearest(t *testing.T) {
	words := []string{"torch", "jax", "plain", "tag"}
	for typed, want := range map[string]string{"trch": "torch", "Torch": "torch", "jx": "jax", "plian": "plain", "tags": "tag", "xgboost": "", "": ""} {
		require.Equal(t, want, Nearest(typed, words), typed)
	}
}

func TestComplain(t *testing.T) {
	var b bytes.Buffer
	Complain(&b, Usage("do this", "that is wrong: %w", errors.New("why")))
	require.Equal(t, "agent: that is wrong: why\nhint: do this\n", b.String())
	b.Reset()
	Complain(&b, errors.New("plain"))
	require.Equal(t, "agent: plain\n", b.String())
	b.Reset()
	Complain(&b, nil)
	require.Empty(t, b.String())
	require.Equal(t, names.ExitBug, CodeOf(errors.New("plain")))
	require.Zero(t, CodeOf(nil))
}
