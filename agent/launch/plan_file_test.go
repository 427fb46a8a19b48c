package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
)

func TestPlanFile(t *testing.T) {
	dir := t.TempDir()
	all := strings.Repeat("198.18.0.1,", 1000)
	plan := Plan{Job: "j", Hosts: []Host{{Name: "w-0"}}}
	for i := range 20 {
		plan.Processes = append(plan.Processes, Proc{Label: "rank", Rank: i, Argv: []string{"x"}, Vars: []framework.Var{
			{Name: "ADDRESSES", Value: all}, {Name: "EMPTY"}, {Name: "OTHER", Value: all[1:]}}})
	}
	require.NoError(t, plan.save(dir))
	require.Equal(t, all, plan.Processes[7].Vars[0].Value, "the plan itself stays as it is")
	path := filepath.Join(dir, planName)
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, st.Size(), int64(3*len(all)), "long values once")
	got, err := loadPlan(filepath.Join(dir, "socket"))
	require.NoError(t, err)
	require.Equal(t, plan, got)

	for _, bad := range []string{"{", `{"processes":[{"vars":[{"name":"A","value":"\u00000"}]}]}`, `{"long":["x"],"processes":[{"vars":[{"name":"A","value":"\u0000-1"}]}]}`} {
		require.NoError(t, os.WriteFile(path, []byte(bad), 0o600))
		_, err := loadPlan(filepath.Join(dir, "socket"))
		require.ErrorContains(t, err, "read plan: ")
	}
}
