package launch

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/hostfile"
)

// planName is the plan's file within the private directory.
const planName = "plan.json"

// savePlan keeps the plan in a directory for env and hosts.
func savePlan(p plan.Plan, dir string) error {
	text, err := p.Encode()
	if err != nil {
		return err
	}
	return hostfile.Write(filepath.Join(dir, planName), text, 0o600)
}

// loadPlan reads the plan of the launcher whose broker is at socket.
func loadPlan(socket string) (plan.Plan, error) {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(socket), planName))
	if err != nil {
		return plan.Plan{}, fmt.Errorf("read plan: %w", err)
	}
	return plan.Decode(text)
}
