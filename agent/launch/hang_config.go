package launch

import (
	"slices"
	"strings"
	"time"
)

// What --hang-action takes.
const (
	hangReport = "report"
	hangStop   = "stop"
)

// validateHang judges --hang-after and --hang-action.
func (c Config) validateHang() error {
	switch {
	case c.HangAfter < 0:
		return usage("a time is written as 90s, 10m or 1h", "--hang-after=%s lies in the past", c.HangAfter)
	case c.HangAfter > 0 && c.HangAfter < leastHang:
		return usage("minutes are usual, as in --hang-after=10m", "--hang-after=%s: the shortest is %s", c.HangAfter, leastHang)
	case !slices.Contains([]string{"", hangReport, hangStop}, c.HangAction):
		return usage("it takes report or stop", "--hang-action=%s is not known", c.HangAction)
	case c.HangAfter == 0 && strings.HasPrefix(c.Origin["hang-action"], "flag"):
		return usage("--hang-after=10m looks for one", "--hang-action=%s says what to do about a hang, but none is looked for", c.HangAction)
	}
	return nil
}

// leastHang leaves the looks at /proc a few of its ticks.
const leastHang = time.Second
