package files

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/plan"
)

func TestPlanFile(t *testing.T) {
	dir := t.TempDir()
	all := strings.Repeat("198.18.0.1,", 1000)
	planned := plan.Plan{Job: "j", Hosts: []plan.Host{{Name: "w-0"}}}
	shared := []*framework.Var{{Name: "ADDRESSES", Value: all}, {Name: "EMPTY"}, {Name: "OTHER", Value: all[1:]}}
	for i := range 20 {
		planned.Processes = append(planned.Processes, plan.Process{Label: "rank", Rank: i, Argv: []string{"x"},
			Vars: append(slices.Clone(shared), &framework.Var{Name: "RANK", Value: strconv.Itoa(i)})})
	}
	require.NoError(t, savePlan(planned, dir))
	require.Equal(t, all, planned.Processes[7].Vars[0].Value, "saving does not change the plan")
	path := filepath.Join(dir, planName)
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, st.Size(), int64(3*len(all)), "the file has each long value once")
	got, err := LoadPlan(filepath.Join(dir, "socket"))
	require.NoError(t, err)
	require.Equal(t, planned, got)
	require.Same(t, got.Processes[0].Vars[0], got.Processes[19].Vars[0], "one for all")

	for _, bad := range []string{"{", `{"processes":[{}]}`, `{"processes":[{}],"uses":[[0]]}`, `{"table":[{}],"processes":[{}],"uses":[[-1]]}`, `{"table":[null],"processes":[{}],"uses":[[0]]}`} {
		require.NoError(t, os.WriteFile(path, []byte(bad), 0o600))
		_, err := LoadPlan(filepath.Join(dir, "socket"))
		require.ErrorContains(t, err, "read plan: ")
	}
}
