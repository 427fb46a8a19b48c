// Command controller creates the pods of LaunchJobs; see agent/controller.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/musterhq/muster/agent/controller"
	"github.com/musterhq/muster/exec/names"
)

func main() {
	options, err := parse(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(names.ExitUsage)
	}
	if err := run(options); err != nil {
		fmt.Fprintln(os.Stderr, "controller: "+err.Error())
		os.Exit(1)
	}
}

func run(options controller.Options) error {
	log.SetLogger(zap.New(zap.Level(zapcore.InfoLevel)))
	cfg, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	mgr, err := controller.NewManager(cfg, options)
	if err != nil {
		return err
	}
	return mgr.Start(signals.SetupSignalHandler())
}
