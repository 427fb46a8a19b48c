package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/musterhq/muster/agent/framework"
)

// planFile is the file format of a plan. It has each variable of the processes once: most are the
// same for all, and some have the addresses of all workers.
type planFile struct {
	Plan
	Table []*framework.Var `json:"table,omitempty"`
	Uses  [][]int          `json:"uses,omitempty"` // by process: which of Table it has
}

// Encode encodes the plan as a file for `agent env` and `agent hosts`. [Decode] reads it.
func (p Plan) Encode() ([]byte, error) {
	file := planFile{Plan: p, Uses: make([][]int, len(p.Processes))}
	places := map[*framework.Var]int{}
	for i, one := range p.Processes {
		for _, v := range one.Vars {
			place, known := places[v]
			if !known {
				place = len(file.Table)
				places[v], file.Table = place, append(file.Table, v)
			}
			file.Uses[i] = append(file.Uses[i], place)
		}
	}
	text, err := json.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("encode plan: %w", err)
	}
	return text, nil
}

// Decode decodes a plan's file.
func Decode(text []byte) (Plan, error) {
	var file planFile
	if err := json.Unmarshal(text, &file); err != nil {
		return Plan{}, fmt.Errorf("read plan: %w", err)
	}
	if len(file.Uses) != len(file.Processes) || slices.Contains(file.Table, nil) {
		return Plan{}, fmt.Errorf("read plan: it has %d lists of variables for %d processes", len(file.Uses), len(file.Processes))
	}
	for i, uses := range file.Uses {
		one := &file.Processes[i]
		for _, place := range uses {
			if place < 0 || place >= len(file.Table) {
				return Plan{}, fmt.Errorf("read plan: %s refers to variable %d of %d", one.Label, place, len(file.Table))
			}
			one.Vars = append(one.Vars, file.Table[place])
		}
	}
	return file.Plan, nil
}
