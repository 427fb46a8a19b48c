//go:build !windows

package main

import (
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/launch/show"
)

const hostsHelp = `usage: agent hosts [-o openmpi|hydra|horovod|wide|json] [FLAGS]

Prints the workers in rank order. In the pod of a running launcher these are its workers.
Elsewhere they are the workers that the flags select.

  agent hosts                               host slots=N
  agent hosts -o hydra                      host:N
  agent hosts -o wide                       rank among the workers, node, topology domain
  horovodrun --host-discovery-script /etc/mpi/discover_hosts.sh ...`

func newHosts(streams Streams) *cobra.Command {
	flags := newFlags()
	var format string
	cmd := &cobra.Command{
		Use:   "hosts [flags]",
		Short: "print the workers as a hostfile",
		Long:  hostsHelp,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := flags.resolve(cmd, nil)
			if err != nil {
				return err
			}
			return show.Hosts(cmd.Context(), cfg, partsOf(cfg).Site, streams.Out, format)
		},
	}
	flags.bind(cmd)
	cmd.Flags().StringVarP(&format, "format", "o", "openmpi", "output format: openmpi, hydra, horovod, wide or json")
	return cmd
}
