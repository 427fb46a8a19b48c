//go:build linux

package preflight_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/check"
	"github.com/musterhq/muster/agent/launch/preflight"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/test/contract"
)

// BenchmarkLook checks workers that are all in this process, each with its session server, its
// socket and its link. Pods have processors of their own, and all pairs of up to 64; here all share
// one machine, as fake workers do.
func BenchmarkLook(b *testing.B) {
	for _, n := range []int{4, 60, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			q := preflight.Question{Seed: 1, Again: true}
			for i := range n {
				w := contract.NewWorker(b, nil)
				l := contract.NewLink(b, local.Dialer{Path: w.Socket}, nil)
				_, err := l.Ask(b.Context())
				require.NoError(b, err)
				name := fmt.Sprintf("w%d", i)
				q.Subjects = append(q.Subjects, preflight.Subject{Worker: check.Worker{Name: name, Fake: true}, ID: name, Address: fmt.Sprintf("127.9.%d.%d", i/250, i%250+1), Asker: l})
			}
			var p preflight.Preflight
			for b.Loop() {
				found := p.Look(context.Background(), q)
				require.Equal(b, check.OK, check.Worst(found), "%+v", found[0])
			}
		})
	}
}
