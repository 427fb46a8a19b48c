// Command controller creates the pods of LaunchJobs; see agent/controller.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/musterhq/muster/agent/controller"
	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/exec/names"
)

func main() {
	options, err := parse(os.Args[1:], os.Stdout, complaints())
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(names.ExitUsage)
	}
	if err := run(options); err != nil {
		failure.ComplainAs(complaints(), "controller", err)
		os.Exit(1)
	}
}

// complaints returns the writer for errors: JSON, like the log, if MUSTER_LOG_FORMAT says so.
func complaints() io.Writer {
	if os.Getenv(names.EnvLogFormat) == names.LogJSON {
		return failure.JSONLines{Out: os.Stderr, Level: "error"}
	}
	return os.Stderr
}

// newLogger returns the log, with the keys of every line that Muster prints: level, time, msg.
func newLogger() logr.Logger {
	return zap.New(zap.Level(zapcore.InfoLevel), zap.JSONEncoder(func(c *zapcore.EncoderConfig) {
		c.TimeKey, c.EncodeTime = "time", zapcore.RFC3339NanoTimeEncoder
	}))
}

func run(options controller.Options) error {
	log.SetLogger(newLogger())
	klog.SetLogger(log.Log) // leader election, and what the client has to say
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
