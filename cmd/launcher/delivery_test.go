package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDefaultDelivery checks that submit, convert and the CRD have the same default for the
// delivery of the agent.
func TestDefaultDelivery(t *testing.T) {
	require.Equal(t, "auto", newSubmit(standard(asAgent)).Flags().Lookup("delivery").DefValue)
	require.Equal(t, "auto", newConvert(standard(asAgent)).Flags().Lookup("delivery").DefValue)
	for _, file := range []string{"install.yaml", "chart/files/crd/crd.yaml"} {
		crd, err := os.ReadFile("../../images/" + file)
		require.NoError(t, err)
		_, field, found := strings.Cut(string(crd), " delivery:\n")
		require.True(t, found, file)
		require.True(t, strings.HasPrefix(strings.TrimSpace(field), "default: auto\n"), file)
	}
}
