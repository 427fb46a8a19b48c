package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLogger(t *testing.T) {
	var b bytes.Buffer
	log := NewLogger(&b, "auto", "info", false)
	log.Debug("hidden")
	log.With("worker", "w-1").WithGroup("link").Info("redial", "error", errors.New("reset"), "after", 2*time.Second)
	var got map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &got), b.String())
	require.Equal(t, "redial", got["msg"])
	require.Equal(t, "w-1", got["worker"])
	require.Equal(t, "reset", got["link.error"])
	require.EqualValues(t, 2, got["link.after"])
	b.Reset()
	NewLogger(&b, "auto", "warn", true).Warn("careful")
	require.Contains(t, b.String(), "WARN")
	require.NotContains(t, b.String(), "{")
}
