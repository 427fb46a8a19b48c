package retry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/exec/names"
)

// Default lists the classes that are retried unless the user says otherwise. They are the exits by
// INT, KILL or TERM, which come from outside the program, a lost worker, and a failure of our own
// infrastructure. ABRT (134), SEGV (139) and 255 are the program's own failures.
const Default = "130,137,143,lost,infra"

// Words in a list of classes, besides exit codes.
const (
	wordLost  = "lost"  // a worker was lost
	wordInfra = "infra" // a process could not be started or observed, through no fault of the program
	wordOOM   = "oom"   // the kernel killed a process for its memory
	wordHang  = "hang"  // the run made no progress and was stopped: exit code 79
	wordStall = "stall" // the run broke a progress rule and was stopped: exit code 79
	wordAny   = "any"   // every exit code; does not include oom
)

var words = []string{wordLost, wordInfra, wordOOM, wordHang, wordStall, wordAny}

// Classes are the ends that are retried. The zero value retries nothing.
type Classes struct {
	codes [256]bool
	lost  bool
	infra bool
	oom   bool
	stall bool
}

// Parse reads exit codes and words, separated by commas: "137,lost". If every entry begins with +
// or -, they are added to Default or removed from it: "+1,-143". Errors are sentences for the user.
func Parse(text string) (Classes, error) {
	entries := strings.Split(text, ",")
	signed := slices.ContainsFunc(entries, isSigned)
	var c Classes
	if signed {
		for _, entry := range strings.Split(Default, ",") {
			if err := c.set(entry, true); err != nil {
				return Classes{}, err
			}
		}
	}
	for _, entry := range entries {
		entry = strings.TrimSpace(entry)
		on := !strings.HasPrefix(entry, "-")
		if signed {
			if !isSigned(entry) {
				return Classes{}, fmt.Errorf("%q has no + or -, but other entries have: either all entries have one, or none", entry)
			}
			entry = strings.TrimSpace(entry)[1:]
		}
		if err := c.set(entry, on); err != nil {
			return Classes{}, err
		}
	}
	return c, nil
}

func isSigned(entry string) bool {
	entry = strings.TrimSpace(entry)
	return strings.HasPrefix(entry, "+") || strings.HasPrefix(entry, "-")
}

// set turns one class on or off.
func (c *Classes) set(entry string, on bool) error {
	switch entry {
	case wordLost:
		c.lost = on
		return nil
	case wordInfra:
		c.infra = on
		return nil
	case wordOOM:
		c.oom = on
		return nil
	case wordHang:
		c.codes[names.ExitHung] = on
		return nil
	case wordAny:
		for code := range c.codes {
			c.codes[code] = on
		}
		c.stall = on
		return nil
	case wordStall:
		c.stall = on
		return nil
	case "":
		return fmt.Errorf("empty entry")
	}
	code, err := strconv.Atoi(entry)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not an exit code or one of %s", entry, strings.Join(words, ", "))
	case code == 0:
		return fmt.Errorf("exit code 0 is not a failure")
	case code < 0 || code >= len(c.codes):
		return fmt.Errorf("%d is not an exit code of a failure: want 1 to 255", code)
	}
	c.codes[code] = on
	if code == names.ExitHung {
		c.stall = on
	}
	return nil
}

// retries reports whether an end belongs to one of the classes, and which entry of a list names it.
func (c Classes) retries(e End) (yes bool, entry string) {
	switch {
	case e.OOM:
		return c.oom, wordOOM
	case e.Lost:
		return c.lost, wordLost
	case e.Infra:
		return c.infra, wordInfra
	case e.Stalled:
		return c.stall, wordStall
	case e.Code < 1 || e.Code >= len(c.codes):
		return false, strconv.Itoa(e.Code)
	}
	return c.codes[e.Code], strconv.Itoa(e.Code)
}
