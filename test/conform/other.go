//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "conform: fake workers need Linux")
	os.Exit(1)
}
