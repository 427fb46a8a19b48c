package phrase

import "fmt"

// SignalName returns "signal 15" for 15: Windows has no names of signals.
func SignalName(n int) string { return fmt.Sprintf("signal %d", n) }
