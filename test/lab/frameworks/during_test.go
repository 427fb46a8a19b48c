//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch"
)

func TestWhole(t *testing.T) {
	began := time.Unix(1000, 0)
	cuts := func(after ...float64) (at []time.Time) {
		for _, s := range after {
			at = append(at, began.Add(time.Duration(s*1e6)*time.Microsecond))
		}
		return at
	}
	sent := func(name string, same bool) string {
		return fmt.Sprintf("{\"framework\": \"transfer\", \"name\": %q, \"at\": 1000.0, \"until\": 1005.0, \"bytes\": 1000000, \"same\": %t}\n", name, same)
	}
	report := &launch.Report{Redials: 4}
	for name, c := range map[string]struct {
		out outcome
		err string
	}{
		"well":             {outcome{out: sent("a", true) + sent("b", true), struck: cuts(1, 2), report: report}, ""},
		"one is missing":   {outcome{out: sent("a", true), struck: cuts(1, 2), report: report}, "1 of 2"},
		"differs":          {outcome{out: sent("a", true) + sent("b", false), struck: cuts(1, 2), report: report}, "b: what arrived differs"},
		"never cut":        {outcome{out: sent("a", true) + sent("b", true), struck: cuts(-1, 1, 5.5), report: report}, "a: 1 cuts in its 5.0 s"},
		"links not struck": {outcome{out: sent("a", true) + sent("b", true), struck: cuts(1, 2), report: &launch.Report{Redials: 3}}, "report"},
		"no report":        {outcome{out: sent("a", true) + sent("b", true), struck: cuts(1, 2)}, "report"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := whole(2)(row{}, c.out)
			if c.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.err)
		})
	}
}

func TestOutlasts(t *testing.T) {
	at := time.Unix(1000, 0)
	judge := outlasts(5*time.Second, 10*time.Second)
	for took, ok := range map[time.Duration]bool{time.Second: false, 6 * time.Second: true, 16 * time.Second: false} {
		_, err := judge(row{}, outcome{struck: []time.Time{at}, ended: at.Add(took)})
		require.Equal(t, ok, err == nil, took)
	}
	_, err := judge(row{}, outcome{ended: at})
	require.ErrorContains(t, err, "before it was sent SIGTERM")
}

// Links are cut from the first transfer on, and what fails meanwhile does not count.
func TestCutting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, looks, cuts := time.Now(), 0, 0
		told := befall(t.Context(), row{during: cutting}, live{
			output: func(context.Context) string {
				if looks++; looks < 3 {
					return ""
				}
				return `{"framework": "begins"}`
			},
			cut: func(context.Context) error {
				if cuts++; cuts == 2 {
					return errors.New("no connection was there")
				}
				return nil
			},
		})
		time.Sleep(2*lookEvery + 3*cutEvery + time.Millisecond)
		struck, err := told()
		require.NoError(t, err)
		require.Len(t, struck, 2)
		require.Equal(t, 2*lookEvery+cutEvery, struck[0].Sub(began))
		require.Equal(t, 2*cutEvery, struck[1].Sub(struck[0]))
	})
}

func TestStopWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stops := 0
		l := live{
			output: func(context.Context) string { return lines(2, 3, "a", "b") },
			stop:   func(context.Context) error { stops++; return nil },
		}
		told := befall(t.Context(), row{during: stopWhen("x", 3)}, l)
		time.Sleep(time.Second)
		struck, err := told()
		require.NoError(t, err)
		require.Empty(t, struck, "only 2 of 3 have spoken")
		require.Zero(t, stops)

		told = befall(t.Context(), row{during: stopWhen("x", 2)}, l)
		time.Sleep(time.Second)
		struck, err = told()
		require.NoError(t, err)
		require.Len(t, struck, 1)
		require.Equal(t, 1, stops)
	})
}
