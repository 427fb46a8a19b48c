//go:build skew && linux

package skew

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/musterhq/muster/test/suite/figure"
)

// release is one build of both binaries.
type release struct {
	version  string // what it calls itself
	tag      string // build tag; "": today's
	min, max int    // the protocols it speaks
}

var (
	before = release{"v1.1.0", "muster_proto_old", 1, 1}
	today  = release{"v1.2.0", "", 1, 2}
	next   = release{"v1.9.0", "muster_proto_next", 3, 3}
)

// built is where the releases lie: VERSION/agent, VERSION/agent-launcher.
var built string

func TestMain(m *testing.M) {
	code, err := prepared(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/skew:", err)
		code = 1
	}
	os.Exit(code)
}

func prepared(m *testing.M) (code int, err error) {
	if built, err = os.MkdirTemp("", "skew"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(built)) }()
	for _, r := range []release{before, today, next} {
		if err := r.build(); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// build makes both binaries with the flags of `make build`, so that packages
// which do not differ are not compiled again.
func (r release) build() error {
	root, err := figure.Root()
	if err != nil {
		return err
	}
	tags := "grpcnotrace"
	if r.tag != "" {
		tags += "," + r.tag
	}
	for name, where := range map[string]struct{ pkg, variable string }{
		"agent":          {"./cmd/agent", "main.release"},
		"agent-launcher": {"./cmd/launcher", "github.com/musterhq/muster/agent/launch.release"},
	} {
		cmd := exec.Command("go", "build", "-trimpath", "-tags", tags, "-ldflags", "-s -w -X "+where.variable+"="+r.version,
			"-o", r.path(name), where.pkg)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s %s: %w\n%s", name, r.version, err, out)
		}
	}
	return nil
}

func (r release) path(name string) string { return filepath.Join(built, r.version, name) }
