package show

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/hostfile"
)

// Hosts runs `agent hosts`: it prints the workers in this format.
func Hosts(ctx context.Context, cfg config.Config, site Site, w io.Writer, format string) error {
	if err := failure.OneOf("--format", format, "openmpi", "hydra", "horovod", "wide", "json"); err != nil {
		return err
	}
	planned, _, err := currentPlan(ctx, cfg, site)
	if err != nil {
		return err
	}
	hosts := planned.All()
	list := plan.HostfileLines(hosts)
	var text []byte
	switch format {
	case "json":
		if hosts == nil {
			hosts = []plan.Host{}
		}
		if text, err = json.MarshalIndent(hosts, "", "  "); err != nil {
			return fmt.Errorf("encode hosts: %w", err)
		}
		text = append(text, '\n')
	case "wide":
		text = wide(hosts)
	case "openmpi":
		text = hostfile.OpenMPI(list)
	default:
		text = hostfile.Hydra(list)
	}
	_, err = w.Write(text)
	return err
}

// wide returns the hosts as a table for people. The launcher has no rank among the workers.
func wide(hosts []plan.Host) []byte {
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "RANK\tWORKER\tNODE\tDOMAIN\tSLOTS\tADDRESS")
	for _, h := range hosts {
		rank := strconv.Itoa(h.Index)
		if h.Index < 0 {
			rank = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\n", rank, h.Name, cmp.Or(h.Node, "-"), cmp.Or(h.Domain, "-"), h.Slots, cmp.Or(h.IP, "-"))
	}
	_ = table.Flush() // a buffer takes everything
	return text.Bytes()
}
