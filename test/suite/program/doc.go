// Package program builds programs of this project and of others, which are pinned by a go.mod each, and runs
// programs of this machine beside a test: schedulers, Helm, kwok.
package program
