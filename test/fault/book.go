package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/test/suite/figure"
)

// book takes down figures: raw numbers first, rows over them.
type book struct {
	dir     string
	command string
	subset  bool
	rows    []figure.Row
	missed  []error
}

// raw writes raw numbers and returns where they are.
func (b *book) raw(name string, v any) (string, error) {
	if b.subset {
		name += "-subset"
	}
	return figure.WriteRaw(b.dir, name, v)
}

// row records one figure; a missed bar is for close to say.
func (b *book) row(name, log, op string, bar float64) error {
	if b.subset {
		name = "subset: " + name
	}
	row, err := figure.Record(b.dir, figure.Row{Name: name, Log: log, Op: op, Bar: bar, Command: b.command})
	if err != nil {
		return err
	}
	b.rows = append(b.rows, row)
	verdict := "ok"
	if !row.Pass {
		verdict = "MISSED"
		b.missed = append(b.missed, fmt.Errorf("%s: %v misses %s %v", name, row.Value, op, bar))
	}
	fmt.Printf("  %-72s %10.4g %-3s %s %v  %s\n", name, row.Value, row.Unit, op, bar, verdict)
	return nil
}

// json writes a file for people and programs that want more than rows.
func (b *book) json(name string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err == nil {
		err = os.MkdirAll(b.dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(b.dir, name), append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// close says which bars were missed.
func (b *book) close() error { return errors.Join(b.missed...) }
