package phrase

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuote(t *testing.T) {
	require.Equal(t, "plain-word_1.2/x:y=z", Quote("plain-word_1.2/x:y=z"))
	require.Equal(t, "''", Quote(""))
	require.Equal(t, `'a b'`, Quote("a b"))
	require.Equal(t, `'it'\''s $HOME'`, Quote("it's $HOME"))
}
