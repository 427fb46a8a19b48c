// Package program builds programs of other projects, each pinned by a go.mod of its
// own, and runs programs of this machine beside a test: schedulers, Helm, kwok.
package program
