package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/musterhq/muster/test/lab/release/commands"
)

// pip installs the released wheel in a new environment, and uninstalls it.
func (b *bench) pip(ctx context.Context) (string, error) {
	python, err := commands.NewPython(ctx, filepath.Join(b.tmp, "venv"))
	if err != nil {
		return "", err
	}
	wheel := wheelName(b.number())
	if err := python.Install(ctx, filepath.Join(b.dir, wheel)); err != nil {
		return "", err
	}
	installed, err := python.Run(ctx, "import importlib.metadata, muster; muster.submit; print(importlib.metadata.version('muster-jobs'))")
	if err != nil {
		return "", err
	}
	if wheelName(installed) != wheel {
		return "", fmt.Errorf("pip installed muster-jobs %s out of %s", installed, wheel)
	}
	if err := python.Uninstall(ctx, "muster-jobs"); err != nil {
		return "", err
	}
	if _, err := python.Run(ctx, "import muster"); err == nil {
		return "", errors.New("muster can be imported after pip uninstall")
	}
	return "muster-jobs " + installed, nil
}
