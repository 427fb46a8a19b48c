// Command registry is the registry of the distribution project, with files as its only storage. Its
// argument is the path of its configuration.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem" // the storage
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "registry: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	config, err := configuration.Parse(file)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	server, err := registry.NewRegistry(ctx, config)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return server.ListenAndServe()
}
