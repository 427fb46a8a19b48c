//go:build linux

package survey

import (
	"context"
	"net"
)

// mostNames bounds the names that are resolved.
const mostNames = 64

// unresolved resolves names, one after the other, and returns the names that do not resolve, with the
// reason. It returns nil if all do.
func unresolved(ctx context.Context, list []string) map[string]string {
	var bad map[string]string
	for _, name := range list[:min(len(list), mostNames)] {
		if _, err := net.DefaultResolver.LookupHost(ctx, name); err != nil {
			if bad == nil {
				bad = map[string]string{}
			}
			bad[name] = err.Error()
		}
	}
	return bad
}
