package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// target is the folder of the files, from the root of the checkout.
const target = "images/chart/files"

func main() {
	if err := write(target); err != nil {
		fmt.Fprintln(os.Stderr, "monitoring:", err)
		os.Exit(1)
	}
}

// write writes the dashboards to dir.
func write(dir string) error {
	all, err := dashboards()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return fmt.Errorf("write dashboard: %w", err)
		}
	}
	return nil
}
