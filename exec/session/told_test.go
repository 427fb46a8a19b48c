//go:build linux

package session

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

func TestTold(t *testing.T) {
	env := []string{"RANK=1", "SECRET=x", "RANK=2", "EMPTY=", "BYTES=\xff", "LONG=" + strings.Repeat("\x01", mostTold/6), "bare"}
	ask := []string{"LONG", "RANK", "RANK", "EMPTY", "BYTES", "NOT_SET", "bare", ""}
	require.Equal(t, map[string]string{"RANK": "2", "EMPTY": ""}, told(env, ask), "the last value of a variable, and only requested variables")
	require.Empty(t, told(env, nil))

	// The record holds the answer for any number of requested variables.
	var many, names []string
	for _, c := range "abcdefghijklmnop" {
		many = append(many, string(c)+"="+strings.Repeat("\x01", 400))
		names = append(names, string(c))
	}
	answer := told(many, names)
	require.Len(t, answer, 6)
	f, err := wire.Record(wire.Welcome, 0, wire.WelcomeRecord{Env: answer})
	require.NoError(t, err)
	require.LessOrEqual(t, len(f.Payload), mostTold+200)
}
