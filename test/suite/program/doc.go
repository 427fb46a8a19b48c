// Package program builds programs of other projects, each pinned by its own go.mod, and runs programs of this
// machine beside a test: schedulers, Helm, kwok.
package program
