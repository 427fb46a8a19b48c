//go:build !windows

package main

import (
	"os"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// TestSubmitHasTheFlagsOfRun checks that submit has each flag of run, or docs/guides/submit.md has
// the reason why not. The page has each flag of submit.
func TestSubmitHasTheFlagsOfRun(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/submit.md")
	require.NoError(t, err)
	submits := newSubmit(Streams{}).Flags()
	newRun(Streams{}).Flags().VisitAll(func(f *pflag.Flag) {
		if submits.Lookup(f.Name) == nil {
			require.Contains(t, string(page), "`--"+f.Name+"`", "agent submit has no --%s, and docs/guides/submit.md does not say why", f.Name)
		}
	})
	submits.VisitAll(func(f *pflag.Flag) {
		if f.Name != "namespace" { // as -n
			require.Regexp(t, `--`+f.Name+`\b`, string(page), "docs/guides/submit.md does not have --%s", f.Name)
		}
	})
}
