// Command micro runs the go benchmarks of the parts that a launch goes through, and
// makes the table "micro" of them. It keeps go test's own text in out/bench/micro.txt,
// unaltered, for benchstat. There are no bars: a machine's processor is in each figure.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/musterhq/muster/test/lab/bench/report"
	"github.com/musterhq/muster/test/suite/figure"
)

// packages have benchmarks of framing, spools, hostfiles, ranking and explaining, of a
// link over a unix socket, and of what the plan needs besides: by the directory of their
// module, below the root.
func packages() map[string][]string {
	return map[string][]string{
		".":        {"./exec/wire", "./exec/flow", "./hostfile", "./rendezvous", "./exec/local"},
		"test/lab": {"./bench/plan"},
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "micro: "+err.Error())
		os.Exit(1)
	}
}

func run() error {
	count := flag.Int("count", 6, "run each benchmark `N` times")
	benchtime := flag.String("benchtime", "300ms", "for `D` each time")
	flag.Parse()
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	root, err := figure.Root()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	all := packages()
	for _, module := range slices.Sorted(maps.Keys(all)) {
		args := append([]string{"test", "-run", "^$", "-bench", ".", "-benchmem", "-benchtime", *benchtime, "-count", fmt.Sprint(*count)}, all[module]...)
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(root, module), io.MultiWriter(&text, os.Stdout), os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
		}
	}
	t, err := parse(text.String())
	if err != nil {
		return err
	}
	t.Notes = append(t.Notes, fmt.Sprintf("%s; each benchmark %d times for %s; out/bench/micro.txt is go test's own text, for benchstat", runtime.Version(), *count, *benchtime))
	return errors.Join(report.Save(t), os.WriteFile(filepath.Join(dir, "bench", "micro.txt"), text.Bytes(), 0o644))
}
