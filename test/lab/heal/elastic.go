//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/test/suite/kube"
)

// elasticRows: workers come and go while the job runs.
func elasticRows() []row {
	flags := []string{"--min-workers=2", "--max-workers=5"}
	return []row{
		{key: "elastic/torchrun", what: "torchrun c10d: 3, 5 and 2 workers, that with the store among those that go", venv: "torch", ci: true,
			flags: flags, argv: []string{"torchrun", "{scripts}/torch_elastic.py"}, during: resizes(3, 5, 2), wants: []want{sizes(3, 5, 2), neverBehind}},
		{key: "elastic/script", what: "a PyTorch script, begun anew by us: 3, 5 and 2 workers", venv: "torch",
			flags: append(flags, framework+"torch"), argv: python("torch_elastic.py"), during: resizes(3, 5, 2), wants: []want{sizes(3, 5, 2), neverBehind}},
		{key: "elastic/horovod", what: "Horovod elastic over agent hosts: 2, 3 and 2 workers", venv: "horovod", also: []string{"torch"}, workers: 2,
			flags: []string{"--min-workers=2", "--max-workers=3"}, argv: append([]string{"horovodrun", "--gloo"}, python("horovod_elastic.py")...),
			during: resizes(2, 3, 2), wants: []want{sizes(2, 3, 2), neverBehind}},
	}
}

// elastic: the row says itself how many workers there are to be.
func (r row) elastic() bool {
	return slices.ContainsFunc(r.flags, func(flag string) bool { return strings.HasPrefix(flag, "--min-workers") })
}

// resizes makes pods, or deletes the first and others of those that there are, for
// one size of the world after the other, and then says that it is enough.
func resizes(of ...int) func(ctx context.Context, w *world) error {
	return func(ctx context.Context, w *world) error {
		var there []int
		for i := range of[0] {
			there = append(there, i)
		}
		for _, size := range of {
			for len(there) < size {
				i := len(there)
				pod, err := w.workerPod(i, nodes[i%len(nodes)])
				if err != nil {
					return err
				}
				if err := kube.Apply(ctx, w.ns, pod); err != nil {
					return err
				}
				there = append(there, i)
			}
			for len(there) > size { // every second one, so that holes are left
				at := (len(there) - size) % 2
				if _, err := kube.Kubectl(ctx, w.ns, nil, "delete", "pod", worker(there[at]), "--wait=false"); err != nil {
					return err
				}
				there = slices.Delete(there, at, at+1)
			}
			if err := w.await(ctx, func() bool { return w.worldNow() == size }); err != nil {
				return fmt.Errorf("wait for a world of %d, seen %v: %w", size, w.worlds(), err)
			}
		}
		return os.WriteFile(filepath.Join(w.shared, "enough"), nil, 0o644)
	}
}

// worlds are the sizes of the world in which steps were saved, each time that it
// was another.
func (w *world) worlds() (list []int) {
	for _, l := range w.said("saved") {
		if len(list) == 0 || list[len(list)-1] != l.World {
			list = append(list, l.World)
		}
	}
	return list
}

func (w *world) worldNow() int {
	list := w.worlds()
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1]
}

// sizes: the script has seen these, one after the other. Others in between are
// those of some pods that came or went before the rest.
func sizes(of ...int) want {
	return func(w *world) (string, error) {
		seen, rest := w.worlds(), of
		for _, size := range seen {
			if len(rest) > 0 && size == rest[0] {
				rest = rest[1:]
			}
		}
		if len(rest) > 0 {
			return "", fmt.Errorf("the sizes of the world were %v, not %v", seen, of)
		}
		return fmt.Sprintf("worlds of %v", seen), nil
	}
}

// neverBehind: no rank began at a step before one that had been saved.
func neverBehind(w *world) (string, error) {
	saved := w.said("saved")
	for _, b := range w.said("begin") {
		for _, s := range saved {
			if s.T < b.T && s.Step > b.Step {
				return "", fmt.Errorf("a rank began at step %d when step %d had been saved", b.Step, s.Step)
			}
		}
	}
	if len(saved) == 0 {
		return "", errors.New("nothing was saved")
	}
	return fmt.Sprintf("%d steps, none of them lost after it was saved", saved[len(saved)-1].Step), nil
}
