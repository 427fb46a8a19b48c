package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/secure"
)

const keygenHelp = `usage: agent keygen --dir=DIR

Writes the keys of a job whose launcher reaches workers by network. Give launcher.key to the
launcher only (agent run --key-file), and worker.key to each worker (agent worker --key-file).
It prints no secrets, and overwrites no file.

  agent keygen --dir=keys
  kubectl create secret generic pi-launcher --from-file=keys/launcher.key
  kubectl create secret generic pi-worker --from-file=keys/worker.key`

func newKeygen(streams Streams) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "keygen [flags]",
		Short: "write the keys of a job for --transport=network",
		Long:  keygenHelp,
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return failure.Usage("agent keygen --dir=keys", "keygen: missing --dir")
			}
			paths, err := secure.WritePair(dir)
			if errors.Is(err, fs.ErrExist) {
				return failure.Usage("give another directory with --dir, so that no key of a running job is lost", "keygen: %w", err)
			}
			if err != nil {
				return &failure.Failure{Code: names.ExitUsage, Err: fmt.Errorf("keygen: %w", err)}
			}
			for _, path := range paths {
				if _, err := fmt.Fprintln(streams.Out, path); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write to `DIR`, and create it if necessary")
	return cmd
}
