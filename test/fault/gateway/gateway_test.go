package gateway

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDropped(t *testing.T) {
	const log = `open POST 101 /api/v1/namespaces/fault/pods/a/exec
open GET 101 /api/v1/namespaces/fault/pods/a/exec
strips POST 400 /api/v1/namespaces/fault/pods/a/exec
holds POST 499 /api/v1/namespaces/fault/pods/a/exec
holds POST 504 /api/v1/namespaces/fault/pods/a/exec
strips GET 404 /
strips PO`
	require.Equal(t, map[string]int{"strips": 1, "holds": 2}, dropped(log))
}
