//go:build linux

package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/test/lab/examples/example"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/kube"
)

// fromExample runs the example of a scheduler, with an image of the cluster, and checks that it prints
// the line in its README.
func fromExample(scheduler string) func(ctx context.Context, w *world) error {
	return func(ctx context.Context, w *world) error {
		name := "gang-" + scheduler
		dir := filepath.Join("examples", name)
		readme, err := example.Read(dir)
		if err != nil {
			return err
		}
		objects, err := example.Build(dir)
		if err != nil {
			return err
		}
		var all []any
		for _, object := range objects {
			example.Containers(object, func(_, c map[string]any) { c["image"] = "localhost/muster-openmpi:dev" })
			all = append(all, object)
		}
		coming, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		err = await.Until(coming, time.Second, "the scheduler's webhooks", func() (bool, error) {
			err := kube.Apply(ctx, w.ns, all...)
			return err == nil, err
		})
		if err != nil {
			return err
		}
		if _, err := w.becomes(ctx, name, "over", 2*time.Minute, succeeded); err != nil {
			return err
		}
		log, err := w.show(ctx, "log of rank 0", "logs", name+"-worker-0")
		if err != nil {
			return err
		}
		line := readme.Said(log)
		if line == "" {
			return errors.New("the output does not match the README:\n" + log)
		}
		w.see("%s printed: %s", name, line)
		return nil
	}
}
