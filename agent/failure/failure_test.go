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

func TestOneOf(t *testing.T) {
	require.NoError(t, OneOf("--color", "never", "auto", "never"))
	require.NoError(t, OneOf("--exit", "", "", "strict"))
	for _, row := range []struct{ flag, value, want, hint string }{
		{"--color", "nver", "--color=nver: unknown value", "did you mean --color=never? want auto, never"},
		{"--color", "NEVER", "--color=NEVER: unknown value", "did you mean --color=never? want auto, never"},
		{"-o", "xml", "-o xml: unknown value", "want auto, never"},
	} {
		err := OneOf(row.flag, row.value, "", "auto", "never")
		require.EqualError(t, err, row.want)
		require.Equal(t, names.ExitUsage, CodeOf(err))
		var f *Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, row.hint, f.Way)
	}
	require.Error(t, OneOf("--color", "", "auto"))
}
