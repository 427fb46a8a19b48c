//go:build e2e

package e2e

import (
	"os"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/hangs"
)

// hangAfter is what launchers of jobs that do something are given: long beside
// what befalls them, short beside minutes.
const hangAfter = "20s"

// hangReports counts, for each launcher so far, the hangs that it has reported.
var hangReports struct {
	sync.Mutex
	samples []float64
}

// checkHangs: no job here hangs but the one named so, and a launcher that says so is wrong.
func (s *space) checkHangs() {
	names, err := s.try(time.Minute, "get", "pods", "-l", "muster.dev/role=launcher", "-o", "name")
	if err != nil {
		s.t.Logf("hang reports were not counted: %v", err)
		return
	}
	hangReports.Lock()
	defer hangReports.Unlock()
	for _, name := range strings.Fields(names) {
		log, err := s.try(time.Minute, "logs", name)
		if err != nil || name == "pod/hangs-launcher" {
			continue // it never ran, or its node is gone
		}
		if dir := os.Getenv("MUSTER_OUT"); dir != "" {
			assert.NoError(s.t, hangs.Note(dir, "e2e", s.t.Name()+" "+name, 0, log))
		}
		n := strings.Count(log, " seems to hang: ")
		assert.Zero(s.t, n, "a false hang report of %s:\n%s", name, log)
		hangReports.samples = append(hangReports.samples, float64(n))
	}
	if len(hangReports.samples) > 0 {
		record(s.t, figure.Row{Name: "false hang reports", Op: "==", Bar: 0},
			map[string]figure.Series{"false hang reports": {Samples: hangReports.samples, Reduce: "sum"}})
	}
}
