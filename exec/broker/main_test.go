//go:build linux

package broker

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/musterhq/muster/exec/rsh"
)

// stubVariable turns the test binary into a stub. Its value is the path of the broker's socket. The
// arguments are those of `agent rsh`.
const stubVariable = "BROKER_TEST_STUB"

func TestMain(m *testing.M) {
	if socket := os.Getenv(stubVariable); socket != "" {
		os.Exit(stub(socket, os.Args[1:]))
	}
	if role := os.Getenv(terminalVariable); role != "" {
		os.Exit(onTerminal(role))
	}
	goleak.VerifyTestMain(m)
}

func stub(socket string, words []string) int {
	if len(words) == 1 && words[0] == peerWord {
		return peer(socket)
	}
	r, err := rsh.Parse(words)
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 255
	}
	code, err := rsh.Call(socket, r, [3]int{0, 1, 2})
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
	}
	return code
}
