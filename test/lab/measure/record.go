//go:build linux

package measure

import (
	"errors"
	"fmt"

	"github.com/musterhq/muster/test/suite/figure"
)

// Record writes raw numbers and the rows that stand on them, whose Log is the key of
// theirs, and prints these. A row that misses its bar is an error.
func Record(command, name string, raw any, rows ...figure.Row) error {
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	log, err := figure.WriteRaw(dir, name, raw)
	if err != nil {
		return err
	}
	var missed error
	for _, row := range rows {
		row.Log, row.Command = log+"#"+row.Log, command
		row, err := figure.Record(dir, row)
		if err != nil {
			return err
		}
		fmt.Printf("%-80s %8.4g %s\n", row.Name, row.Value, row.Unit)
		if !row.Pass {
			missed = errors.Join(missed, fmt.Errorf("%s: %.4g %s misses %s %.4g", row.Name, row.Value, row.Unit, row.Op, row.Bar))
		}
	}
	return missed
}
