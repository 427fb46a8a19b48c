package join

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/rendezvous/barrier"
)

func TestHostsOf(t *testing.T) {
	table := []barrier.Card{{Name: "tf-chief-0", Address: "10.0.0.1"}, {Name: "tf-ps-0", Address: "10.0.0.2"}, {Name: "x", Address: "10.0.0.3"}}
	of := func(worker int, value string) []framework.Process {
		return []framework.Process{{Worker: worker, Env: []framework.Var{{Name: "A", Value: value}}}}
	}
	require.Equal(t, map[string]string{"tf-chief-0.hpc.svc": "10.0.0.1", "tf-ps-0.hpc.svc": "10.0.0.2"},
		hostsOf(of(1, `{"chief":["tf-chief-0.hpc.svc:2222"],"ps":["tf-ps-0.hpc.svc:2222"],"other":"tf-ps-01"}`), 1, table))
	require.Equal(t, map[string]string{"tf-chief-0": "10.0.0.1"}, hostsOf(of(1, "tf-chief-0"), 1, table))
	require.Empty(t, hostsOf(of(1, "tf-chief-0"), 2, table), "the process is on another member")
	require.Empty(t, hostsOf(of(1, "10.0.0.1:2222 my-tf-chief-0"), 1, table))
}

func TestAwaitHosts(t *testing.T) {
	hosts := map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"}
	for name, tc := range map[string]struct {
		bAfter time.Duration
		old    bool
		want   string
	}{
		"at once":           {},
		"after a while":     {bAfter: 3 * time.Second},
		"old address first": {bAfter: 3 * time.Second, old: true},
		"never":             {bAfter: time.Hour, want: "host b did not resolve to 10.0.0.2 within 1m0s (unresolved hosts: 1): ranks may not find it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := awaitHosts(t.Context(), hosts, func(_ context.Context, host string) ([]string, error) {
					switch {
					case host == "a":
						return []string{"10.0.0.1"}, nil
					case time.Since(began) >= tc.bAfter:
						return []string{"fd00::2", "10.0.0.2"}, nil
					case tc.old:
						return []string{"10.0.0.9"}, nil
					}
					return nil, errors.New("no such host")
				})
				if tc.want != "" {
					require.EqualError(t, err, tc.want)
					return
				}
				require.NoError(t, err)
				require.Equal(t, tc.bAfter, time.Since(began))
			})
		})
	}
}
