package contract

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Blocked waits until a goroutine is blocked in a read or write of a descriptor. The goroutine is
// the one whose stack contains all the given strings, such as the name of its test.
func Blocked(t testing.TB, frames ...string) {
	t.Helper()
	buf := make([]byte, 1<<20)
	require.Eventually(t, func() bool {
		all := string(buf[:runtime.Stack(buf, true)])
	goroutines:
		for stack := range strings.SplitSeq(all, "\n\n") {
			state, _, _ := strings.Cut(stack, "\n")
			if !strings.Contains(state, "[IO wait") && !strings.Contains(state, "[syscall") {
				continue
			}
			for _, frame := range frames {
				if !strings.Contains(stack, frame) {
					continue goroutines
				}
			}
			return true
		}
		return false
	}, 20*time.Second, time.Millisecond, "no goroutine is blocked in %v", frames)
}
