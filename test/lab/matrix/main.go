package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/page"
	"github.com/musterhq/muster/test/suite/program"
)

func main() { program.Main("matrix", run) }

func run(ctx context.Context) error {
	file := flag.String("page", "", "write the results into the page `FILE` [none]")
	flag.Parse()
	root, err := figure.Root()
	if err != nil {
		return err
	}
	out, err := figure.Dir()
	if err != nil {
		return err
	}
	versions := flag.Args()
	if len(versions) == 0 {
		if versions, err = supported(root); err != nil {
			return err
		}
	}
	var failed []string
	for i, v := range versions {
		began := time.Now()
		l, err := play(ctx, root, filepath.Join(out, "kubernetes-"+v), v)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, v)
			fmt.Fprintf(os.Stderr, "matrix: Kubernetes %s: %v\n", v, err)
		}
		fmt.Printf("%s  %.0f s\n", l.text(), time.Since(began).Seconds())
		if *file != "" {
			if err := write(*file, l); err != nil {
				return err
			}
		}
		if i < len(versions)-1 {
			// The images of the tests take some GB of disk in the state of each version.
			if err := command(ctx, root, "go", "-C", "test/lab/cluster", "run", ".", "down", "--clean"); err != nil {
				return fmt.Errorf("remove the cluster of %s: %w", v, err)
			}
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed on Kubernetes %s", strings.Join(failed, ", "))
	}
	return nil
}

// supported returns the versions that test/lab/cluster can run: each has a module of its own.
func supported(root string) ([]string, error) {
	modules, err := filepath.Glob(filepath.Join(root, "test/lab/cluster/kube/*/go.mod"))
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, m := range modules {
		versions = append(versions, filepath.Base(filepath.Dir(m)))
	}
	if len(versions) == 0 {
		return nil, errors.New("test/lab/cluster/kube has no module")
	}
	return versions, nil
}

// play runs the smoke test on a version, and returns its line of the page. A line with the result is returned even if
// the test fails.
func play(ctx context.Context, root, out, version string) (line, error) {
	l := line{minor: version, verdict: "fails"}
	if err := command(ctx, root, "make", "--no-print-directory", "e2e-smoke", "KUBERNETES="+version, "OUT="+out); err != nil {
		return l, err
	}
	var err error
	if l.nodes, err = nodes(ctx, root); err != nil {
		return l, err
	}
	if !strings.HasPrefix(l.nodes, "v"+version+".") {
		return l, fmt.Errorf("make e2e-smoke ran on %s", l.nodes)
	}
	l.verdict = "passes"
	return l, nil
}

// nodes returns the versions that the nodes of the running cluster report.
func nodes(ctx context.Context, root string) (string, error) {
	const script = `eval "$(go -C test/lab/cluster run . env)" && "$MUSTER_KUBECTL" get nodes -o 'jsonpath={range .items[0]}{.status.nodeInfo.kubeletVersion}, {.status.nodeInfo.containerRuntimeVersion}{end}'`
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = root
	said, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("read the versions of the nodes: %w", err)
	}
	return strings.ReplaceAll(strings.TrimSpace(string(said)), "://", " "), nil
}

func command(ctx context.Context, dir string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	return cmd.Run()
}

// write puts a line into the table of the page.
func write(file string, l line) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return page.Put(file, "kubernetes", table(string(text), l))
}
