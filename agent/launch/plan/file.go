package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/framework"
)

// planFile is the file format of a plan. It stores long values of the processes' variables once:
// each of 1,000 workers has the addresses of all workers.
type planFile struct {
	Plan
	Long []string `json:"long,omitempty"`
}

// longMark begins a value that is an index into Long. No value of a variable can contain a NUL.
const longMark = "\x00"

// Encode encodes the plan as a file for `agent env` and `agent hosts`. [Decode] reads it.
func (p Plan) Encode() ([]byte, error) {
	file := planFile{Plan: p}
	file.Processes = slices.Clone(p.Processes)
	places := map[string]string{}
	for i, one := range file.Processes {
		file.Processes[i].Vars = slices.Clone(one.Vars)
		for j, v := range one.Vars {
			if len(v.Value) < longAssignment {
				continue
			}
			if places[v.Value] == "" {
				places[v.Value] = longMark + strconv.Itoa(len(file.Long))
				file.Long = append(file.Long, v.Value)
			}
			file.Processes[i].Vars[j].Value = places[v.Value]
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
	for _, one := range file.Processes {
		for j := range one.Vars {
			if err := file.lengthen(&one.Vars[j]); err != nil {
				return Plan{}, fmt.Errorf("read plan: %w", err)
			}
		}
	}
	return file.Plan, nil
}

// lengthen restores a variable's long value.
func (f planFile) lengthen(v *framework.Var) error {
	place, long := strings.CutPrefix(v.Value, longMark)
	if !long {
		return nil
	}
	n, err := strconv.Atoi(place)
	if err != nil || n < 0 || n >= len(f.Long) {
		return fmt.Errorf("%s refers to value %q of %d", v.Name, place, len(f.Long))
	}
	v.Value = f.Long[n]
	return nil
}
