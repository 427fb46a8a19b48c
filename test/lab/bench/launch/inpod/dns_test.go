package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnknown(t *testing.T) {
	question := func(name string) []byte {
		return []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01" + name + "\x00\x01\x00\x01" + "\x00\x00\x29")
	}
	answer, outside := unknown(question("\x01w\x00"))
	require.Equal(t, "\x12\x34\x81\x03\x00\x01\x00\x00\x00\x00\x00\x00\x01w\x00\x00\x01\x00\x01", string(answer))
	require.True(t, outside)
	_, outside = unknown(question("\x01w\x03svc\x07cluster\x05local\x00"))
	require.False(t, outside)
	for _, bad := range []string{"", "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01w\x00\x00"} {
		answer, _ = unknown([]byte(bad))
		require.Nil(t, answer)
	}
}
