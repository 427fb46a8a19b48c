package framework

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMerge(t *testing.T) {
	agent := Var{Name: "OMPI_MCA_plm_rsh_agent", Value: "/a", Why: "through the agent"}
	launcher := Var{Name: "HYDRA_LAUNCHER", Value: "rsh", Why: "no options", Or: []string{"HYDRA_BOOTSTRAP"}}
	home := Var{Name: "HOME", Value: "/run/m", Why: "a home", NotEmpty: true}
	token := Var{Name: "X_TOKEN", Value: "ours", Why: "reasons"}
	python := Var{Name: "PYTHONPATH", Value: "/m", Why: "a module", Extend: ":"}
	threads := Var{Name: "OMP_NUM_THREADS", Value: "1", Why: "cores", Default: true}
	extended := func(value string) []Var {
		v := python
		v.Value = value
		return []Var{v}
	}
	for name, tc := range map[string]struct {
		user     []string
		vars     []Var
		set      []Var
		warnings []string
	}{
		"nothing set":            {user: []string{"PATH=/bin", "OMPI_MCA_plm_rsh_agent_x=1", "OMPI_MCA_plm_rsh_agent"}, vars: []Var{agent, launcher}, set: []Var{agent, launcher}},
		"same value, no warning": {user: []string{"OMPI_MCA_plm_rsh_agent=/a"}, vars: []Var{agent, launcher}, set: []Var{launcher}},
		"other value": {
			user: []string{"OMPI_MCA_plm_rsh_agent=ssh -q"}, vars: []Var{agent, home}, set: []Var{home},
			warnings: []string{`OMPI_MCA_plm_rsh_agent="ssh -q" is set and kept in place of "/a": through the agent`},
		},
		"empty value is kept": {
			user: []string{"OMPI_MCA_plm_rsh_agent="}, vars: []Var{agent},
			warnings: []string{`OMPI_MCA_plm_rsh_agent="" is set and kept in place of "/a": through the agent`},
		},
		"empty HOME is replaced": {user: []string{"HOME="}, vars: []Var{home}, set: []Var{home}},
		"HOME is kept":           {user: []string{"HOME=/root"}, vars: []Var{home}, warnings: []string{`HOME="/root" is set and kept in place of "/run/m": a home`}},
		"last value counts": {
			user: []string{"OMPI_MCA_plm_rsh_agent=x", "OMPI_MCA_plm_rsh_agent=/a"}, vars: []Var{agent},
		},
		"alias is set": {
			user: []string{"HYDRA_BOOTSTRAP=slurm"}, vars: []Var{launcher},
			warnings: []string{`HYDRA_BOOTSTRAP="slurm" is set and kept, so HYDRA_LAUNCHER="rsh" is left out: no options`},
		},
		"extended":            {user: []string{"PYTHONPATH=/app:/lib"}, vars: []Var{python}, set: extended("/m:/app:/lib")},
		"nothing to extend":   {user: []string{"PYTHONPATH="}, vars: []Var{python}, set: extended("/m")},
		"unset":               {vars: []Var{python}, set: extended("/m")},
		"already there":       {user: []string{"PYTHONPATH=/m"}, vars: []Var{python}, set: extended("/m")},
		"default is replaced": {user: []string{"OMP_NUM_THREADS=8"}, vars: []Var{threads, home}, set: []Var{home}},
		"secrets": {
			user: []string{"X_TOKEN=hunter2"}, vars: []Var{token},
			warnings: []string{`X_TOKEN=*** is set and kept in place of ***: reasons`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set, warnings := Merge(tc.user, tc.vars)
			require.Equal(t, tc.set, set)
			require.Equal(t, tc.warnings, warnings)
			require.NotContains(t, strings.Join(warnings, ""), "hunter2")
		})
	}
}

func TestLooksSecret(t *testing.T) {
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "github_token", "DB_PASSWORD", "PASSWD", "HF_TOKEN", "SSH_KEY", "API_KEY_2", "PGPASS", "MYSQL_PWD", "DOCKER_AUTH_CONFIG", "AWS_ACCESS_KEY_ID"} {
		require.True(t, LooksSecret(name), name)
	}
	for _, name := range []string{"PATH", "PWD", "OLDPWD", "HOME", "OMPI_MCA_plm_rsh_agent", "HYDRA_HOST_FILE", "KEYBOARD", "I_MPI_PIN", "MONKEYS"} {
		require.False(t, LooksSecret(name), name)
	}
}

// TestOurNamesAreNotMasked checks that none of our variables is masked, because users must see what
// was set.
func TestOurNamesAreNotMasked(t *testing.T) {
	cluster := pods()
	cluster.Fake, cluster.Root, cluster.Home = true, true, "/h"
	launch, err := MPI{}.Prepare(cluster)
	require.NoError(t, err)
	for _, v := range append(launch.Env, FakeWorker("/w")...) {
		require.False(t, LooksSecret(v.Name), v.Name)
	}
}
