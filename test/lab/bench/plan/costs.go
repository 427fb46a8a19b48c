package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/musterhq/muster/test/lab/bench/report"
)

//go:embed costs.json
var costsFile []byte

// Cost is the cost of one step, and how it is known.
type Cost struct {
	Name  string  `json:"name"`
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Known string  `json:"known"` // measured or assumed
	Where string  `json:"where"` // the command that measured it, or the reason for the assumption
	From  *From   `json:"from,omitempty"`
}

// From says where out/bench may have the value: the median of a cell, or its minimum, which has the
// least load of other programs in it. The value is that times Factor, minus Fixed; if Each, divided by the
// row's size; minus Less. Fixed and Less name other costs of the same unit.
type From struct {
	Table  string   `json:"table"`
	Row    string   `json:"row"`
	Column string   `json:"column"`
	Least  bool     `json:"least,omitempty"`
	Factor float64  `json:"factor,omitempty"` // 0 means 1
	Each   bool     `json:"each,omitempty"`
	Less   []string `json:"less,omitempty"`
	Fixed  []string `json:"fixed,omitempty"`
}

// Costs holds all costs: times in seconds, memory in megabytes.
type Costs struct {
	Start, Way                           float64
	Pod, ServerPod                       float64
	DialCPU, ServerDial, NodeExec, Hello float64
	Frame, ServerFrame                   float64
	TLSClient, TLSServer                 float64
	Prove, Admit                         float64
	Session, ProcessStart                float64
	LauncherBase, LauncherWorker         float64
	LauncherLink, TLSLink, SealedLink    float64
	ServerGoroutines, ServerStream       float64
	KwokExec, FarmStart                  float64
}

func (c *Costs) fields() map[string]*float64 {
	return map[string]*float64{
		"start": &c.Start, "way": &c.Way, "pod": &c.Pod, "server pod": &c.ServerPod,
		"dial": &c.DialCPU, "server dial": &c.ServerDial, "node exec": &c.NodeExec, "hello": &c.Hello,
		"frame": &c.Frame, "server frame": &c.ServerFrame, "tls client": &c.TLSClient, "tls server": &c.TLSServer,
		"prove": &c.Prove, "admit": &c.Admit,
		"session": &c.Session, "process start": &c.ProcessStart,
		"launcher base": &c.LauncherBase, "launcher worker": &c.LauncherWorker, "launcher link": &c.LauncherLink, "tls link": &c.TLSLink, "sealed link": &c.SealedLink,
		"server goroutines": &c.ServerGoroutines, "server stream": &c.ServerStream, "kwok exec": &c.KwokExec, "farm start": &c.FarmStart,
	}
}

// readCosts reads costs.json, and replaces values that the tables have. The list has the value and
// the source of each cost that is used.
func readCosts(file []byte, tables []report.Table) (Costs, []Cost, error) {
	var list []Cost
	if err := json.Unmarshal(file, &list); err != nil {
		return Costs{}, nil, fmt.Errorf("read costs: %w", err)
	}
	var c Costs
	fields, values := c.fields(), map[string]float64{}
	for i := range list {
		one := &list[i]
		field, known := fields[one.Name]
		if !known {
			return c, nil, fmt.Errorf("read costs: %q is unknown or a duplicate", one.Name)
		}
		delete(fields, one.Name)
		if one.Known != "measured" && one.Known != "assumed" || one.Where == "" {
			return c, nil, fmt.Errorf("read costs: %s: known %q by %q", one.Name, one.Known, one.Where)
		}
		if err := one.look(tables, values); err != nil {
			return c, nil, fmt.Errorf("read costs: %s: %w", one.Name, err)
		}
		values[one.Name] = one.Value
		scale, ok := map[string]float64{"ms": 1e-3, "s": 1, "MB": 1, "goroutines": 1}[one.Unit]
		if !ok || one.Value < 0 {
			return c, nil, fmt.Errorf("read costs: %s: %v %q", one.Name, one.Value, one.Unit)
		}
		*field = one.Value * scale
	}
	for name := range fields {
		return c, nil, fmt.Errorf("read costs: %s is missing", name)
	}
	return c, list, nil
}

// look takes the value from a table, at the largest size that has it. Costs that are
// subtracted must precede this one in the list.
func (c *Cost) look(tables []report.Table, values map[string]float64) error {
	if c.From == nil {
		return nil
	}
	samples, size := cell(tables, c.From.Table, c.From.Row, c.From.Column, 0)
	if len(samples) == 0 {
		return nil
	}
	v := report.Of(samples).Median
	if c.From.Least {
		v = report.Of(samples).Min
	}
	if c.From.Factor != 0 {
		v *= c.From.Factor
	}
	for _, name := range append(slices.Clone(c.From.Fixed), c.From.Less...) {
		if _, ok := values[name]; !ok {
			return fmt.Errorf("%s does not precede it", name)
		}
	}
	for _, name := range c.From.Fixed {
		v -= values[name]
	}
	if c.From.Each {
		v /= float64(size)
	}
	for _, name := range c.From.Less {
		v -= values[name]
	}
	c.Value, c.Known = max(v, 0), "measured"
	c.Where = fmt.Sprintf("out/bench: table %s, %s, %s", c.From.Table, c.From.Row, c.From.Column)
	if size != 0 {
		c.Where += fmt.Sprintf(", at %d", size)
	}
	return nil
}

// cell returns the samples of a row and column at a size. Size 0 means the largest size that has samples.
func cell(tables []report.Table, table, row, column string, size int) (samples []float64, at int) {
	for _, t := range tables {
		i := slices.IndexFunc(t.Columns, func(c report.Column) bool { return c.Name == column })
		if t.Name != table || i < 0 {
			continue
		}
		for _, r := range t.Rows {
			if r.Name == row && len(r.Cells[i]) > 0 && (r.Size == size || size == 0 && r.Size >= at) {
				samples, at = r.Cells[i], r.Size
			}
		}
	}
	return samples, at
}
