//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/figure"
)

// faultCase is one line of the table: a fault, a job that it struck, and what
// its user saw.
type faultCase struct {
	Event   string    `json:"event"`
	Load    string    `json:"load"`
	At      time.Time `json:"at"`
	Sees    string    `json:"sees"`
	Code    int       `json:"code"`
	Seconds float64   `json:"seconds"` // survived: without a link, at most; else from the fault to the launcher's end
	Lines   int       `json:"lines,omitempty"`
	Wrong   int       `json:"wrong"`
	Redials int       `json:"redials,omitempty"`
	Left    []string  `json:"left"` // processes in the workers once the lease has passed
}

// faultTable is what a row leaves in raw/.
type faultTable struct {
	Cases    []faultCase `json:"cases"`
	Left     int         `json:"left"`
	Wrong    int         `json:"wrong"`
	Worst    float64     `json:"worst_s"`   // of the cases' seconds
	BadCodes int         `json:"bad_codes"` // 0 where it was not survived, or the other way round
	Extra    any         `json:"extra,omitempty"`
	// Resumed is the time from the server's answer to the last link's return.
	Resumed float64 `json:"resumed_s,omitempty"`
	Links   int     `json:"links_cut,omitempty"`
}

// unknownCode is that of a pod which went without leaving one.
const unknownCode = -1

const faultRaw = "e2e-fault-"

func faultSlug(event string) string {
	return strings.NewReplacer(" ", "-", "'", "", ",", "", "(", "", ")", "", ":", "").Replace(strings.ToLower(event))
}

// record writes the row's raw numbers and its figures; one that misses its bar
// fails the test.
func (f *faultTable) record(t *testing.T, event string, rows ...figure.Row) {
	t.Helper()
	f.Left, f.Wrong, f.Worst = 0, 0, 0
	for _, c := range f.Cases {
		f.Left, f.Wrong, f.Worst = f.Left+len(c.Left), f.Wrong+c.Wrong, max(f.Worst, c.Seconds)
		t.Logf("%s | %s | %s | exit %d | %.1f s | left %v", c.Event, c.Load, c.Sees, c.Code, c.Seconds, c.Left)
	}
	dir, err := figure.Dir()
	require.NoError(t, err)
	rows = append(rows,
		figure.Row{Name: "exit codes that say the wrong thing", Op: "==", Bar: 0, Log: "bad_codes"},
		figure.Row{Name: "processes left in workers once the lease has passed", Op: "==", Bar: 0, Log: "left"})
	for i := range rows {
		rows[i].Name = "cluster, " + event + ": " + rows[i].Name
	}
	kept, err := figure.Keep(dir, "make e2e", faultRaw+faultSlug(event), f, rows...)
	require.NoError(t, err)
	assert.NoError(t, figure.Missed(kept))
}

// printFaults prints the table of the rows that were recorded since begin.
func printFaults(out io.Writer, begin time.Time) error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "raw", faultRaw+"*.json"))
	if err != nil {
		return err
	}
	var all []faultCase
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || info.ModTime().Before(begin) {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var table faultTable
		if err := json.Unmarshal(data, &table); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, table.Cases...)
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b faultCase) int { return a.At.Compare(b.At) })
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fault\tjob\texit\tseconds\tleft\twhat the user sees")
	for _, c := range all {
		code := strconv.Itoa(c.Code)
		if c.Code == unknownCode {
			code = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.1f\t%d\t%s\n", c.Event, c.Load, code, c.Seconds, len(c.Left), c.Sees)
	}
	return w.Flush()
}
