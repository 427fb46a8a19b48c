package hang

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/hang/hangtest"
)

// TestAWaryWatch checks that a watch that the user did not ask for reports only certain hangs.
func TestAWaryWatch(t *testing.T) {
	for name, row := range map[string]struct {
		set    func(s *hangtest.Stage)
		silent bool // nothing was ever printed
		want   []string
	}{
		"a rank waits for a peer":                {want: []string{"hang 12.5"}},
		"nothing was ever printed":               {silent: true},
		"a rank sleeps until a time":             {set: func(s *hangtest.Stage) { s.Call = "clock_nanosleep" }},
		"a rank waits for clients":               {set: func(s *hangtest.Stage) { s.Call = "epoll_wait" }},
		"a rank waits for a connection":          {set: func(s *hangtest.Stage) { s.Call = "accept4" }},
		"the system call is not shown":           {set: func(s *hangtest.Stage) { s.Call = "" }},
		"a worker cannot be asked":               {set: func(s *hangtest.Stage) { s.Err["1"] = errors.New("the link is down") }},
		"a rank computes and prints nothing":     {set: func(s *hangtest.Stage) { s.CPU["2"] = 1 }},
		"the reader of our output does not read": {set: func(s *hangtest.Stage) { s.Wait = 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := hangtest.New()
				s.Wary = true
				if row.set != nil {
					row.set(s)
				}
				require.Equal(t, row.want, standAndWatch(t, s, 3, 6*time.Hour, func(w *Watch, second int) {
					if second == 0 && !row.silent {
						w.Wrote()
					}
				}))
			})
		})
	}
}
