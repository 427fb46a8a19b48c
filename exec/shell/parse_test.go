package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLinesOfRealLaunchers(t *testing.T) {
	env := []string{"PATH=/usr/bin:/bin", "HOME=/root", "LD_LIBRARY_PATH=/opt/lib"}
	work := t.TempDir()
	for name, c := range map[string]struct {
		line string
		want Command
	}{
		"Open MPI 4, bash user": {
			` orted -mca ess "env" -mca ess_base_jobid "249626624" -mca orte_node_regex "launcher,job-worker-[1:0-1]@0(3)" -mca orte_hnp_uri "249626624.0;tcp://192.0.2.2:55783;tcp6://[fd00::2]:46117" -mca plm "rsh" --tree-spawn -mca pmix "^s1,s2,cray,isolated"`,
			Command{Argv: []string{"orted", "-mca", "ess", "env", "-mca", "ess_base_jobid", "249626624", "-mca", "orte_node_regex", "launcher,job-worker-[1:0-1]@0(3)",
				"-mca", "orte_hnp_uri", "249626624.0;tcp://192.0.2.2:55783;tcp6://[fd00::2]:46117", "-mca", "plm", "rsh", "--tree-spawn", "-mca", "pmix", "^s1,s2,cray,isolated"}},
		},
		"Open MPI 4, sh user": {
			`( test ! -r ./.profile || . ./.profile;  orted -mca ess "env" --daemonize )`,
			Command{Argv: []string{"orted", "-mca", "ess", "env", "--daemonize"}},
		},
		"Open MPI 4 with --prefix": {
			`PATH=/opt/mpi/bin:$PATH ; export PATH ; LD_LIBRARY_PATH=/opt/mpi/lib:$LD_LIBRARY_PATH ; export LD_LIBRARY_PATH ; DYLD_LIBRARY_PATH=/opt/mpi/lib:$DYLD_LIBRARY_PATH ; export DYLD_LIBRARY_PATH ;   /opt/mpi/bin/orted -mca ess "env"`,
			Command{
				Env:  []string{"PATH=/opt/mpi/bin:/usr/bin:/bin", "PATH=/opt/mpi/bin:/usr/bin:/bin", "LD_LIBRARY_PATH=/opt/mpi/lib:/opt/lib", "LD_LIBRARY_PATH=/opt/mpi/lib:/opt/lib", "DYLD_LIBRARY_PATH=/opt/mpi/lib:"},
				Argv: []string{"/opt/mpi/bin/orted", "-mca", "ess", "env"},
			},
		},
		"Open MPI 5": {
			`PRTE_PREFIX=/usr;export PRTE_PREFIX;LD_LIBRARY_PATH=/usr/lib:$LD_LIBRARY_PATH;export LD_LIBRARY_PATH;/usr/bin/prted --allow-run-as-root --prtemca ess "env" --prtemca prte_hnp_uri "prterun-launcher-39@0.0;tcp://10.9.9.1:60255:24" --tree-spawn`,
			Command{
				Env:  []string{"PRTE_PREFIX=/usr", "LD_LIBRARY_PATH=/usr/lib:/opt/lib", "LD_LIBRARY_PATH=/usr/lib:/opt/lib"},
				Argv: []string{"/usr/bin/prted", "--allow-run-as-root", "--prtemca", "ess", "env", "--prtemca", "prte_hnp_uri", "prterun-launcher-39@0.0;tcp://10.9.9.1:60255:24", "--tree-spawn"},
			},
		},
		"MPICH": {
			`"/usr/bin/hydra_pmi_proxy" --control-port launcher:45997 --rmk user --launcher ssh --launcher-exec /muster/agent --demux poll --pgid 0 --retries 10 --usize -2 --pmi-port 0 --gpus-per-proc -2 --proxy-id 0`,
			Command{Argv: []string{"/usr/bin/hydra_pmi_proxy", "--control-port", "launcher:45997", "--rmk", "user", "--launcher", "ssh", "--launcher-exec", "/muster/agent",
				"--demux", "poll", "--pgid", "0", "--retries", "10", "--usize", "-2", "--pmi-port", "0", "--gpus-per-proc", "-2", "--proxy-id", "0"}},
		},
		"Intel MPI": {
			`/opt/intel/bin//hydra_bstrap_proxy --upstream-host launcher --upstream-port 4000 --pgid 0 --launcher rsh --time-left -1 /opt/intel/bin/hydra_pmi_proxy --usize -1`,
			Command{Argv: []string{"/opt/intel/bin//hydra_bstrap_proxy", "--upstream-host", "launcher", "--upstream-port", "4000", "--pgid", "0", "--launcher", "rsh", "--time-left", "-1", "/opt/intel/bin/hydra_pmi_proxy", "--usize", "-1"}},
		},
		"Horovod's host check": {`true`, Command{Argv: []string{"true"}}},
		"Horovod": {
			"cd " + work + ` > /dev/null 2>&1 ; env HOROVOD_HOSTNAME=127.0.0.2 PS1='a "b" $c' python3 train.py`,
			Command{
				Env: []string{"OLDPWD=/", "PWD=" + work}, Dir: work,
				Argv: []string{"env", "HOROVOD_HOSTNAME=127.0.0.2", `PS1=a "b" $c`, "python3", "train.py"},
			},
		},
		"Horovod, missing directory": {
			"cd /no/such/dir > /dev/null 2>&1 ; python3 train.py", Command{Argv: []string{"python3", "train.py"}},
		},
		"DeepSpeed over pdsh": {
			"export PYTHONPATH=/src; export MV2_X='a b'; cd " + work + "; /usr/bin/python3 -u -m deepspeed.launcher.launch --world_info=eyJh --node_rank=0 --master_addr=192.0.2.1 --master_port=29500 script.py --lr '0.1'",
			Command{
				Env: []string{"PYTHONPATH=/src", "MV2_X=a b", "OLDPWD=/", "PWD=" + work}, Dir: work,
				Argv: []string{"/usr/bin/python3", "-u", "-m", "deepspeed.launcher.launch", "--world_info=eyJh", "--node_rank=0", "--master_addr=192.0.2.1", "--master_port=29500", "script.py", "--lr", "0.1"},
			},
		},
		"variable before the command":     {`A=1 B="$HOME/x" exec prog $A`, Command{Env: []string{"A=1", "B=/root/x"}, Argv: []string{"prog"}}},
		"a variable that is not exported": {`A=1; prog $A`, Command{Argv: []string{"prog", "1"}}},
		"nothing":                         {"  \n ", Command{}},
		"a trailing semicolon":            {"prog ;", Command{Argv: []string{"prog"}}},
		"empty words":                     {`prog "" '' "$NONE" $NONE`, Command{Argv: []string{"prog", "", "", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse(c.line)
			require.NoError(t, err)
			got, err := p.Command(env, "/")
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestRefusalsNameTheConstruct(t *testing.T) {
	for line, construct := range map[string]string{
		"a | b":                  "a pipe (|)",
		"a || b":                 "an alternative (||)",
		"a && b":                 "a condition (&&)",
		"a &":                    "a background command (&)",
		"a > f":                  "a redirection (>)",
		"a 2>&1":                 "a redirection (2>)",
		"a > /dev/null 2>&1":     "a redirection (>)",
		"A=1 > /dev/null 2>&1":   "a redirection (>)",
		"a < f":                  "a redirection (<)",
		"a << E":                 "a here-document (<<)",
		"a `b`":                  "a command substitution (`)",
		"a \"`b`\"":              "a command substitution (`)",
		"a $(b)":                 "a command substitution ($( )",
		"a ${B:-c}":              "a parameter expansion other than ${NAME}",
		"a $?":                   "a special parameter ($?)",
		"a *.py":                 "a file name pattern (*)",
		"a [b]":                  "a file name pattern ([)",
		"a; b":                   "a second command in one line",
		"a\nb":                   "a second command in one line",
		"a; B=1":                 "a second command in one line",
		"a 'b":                   "a quote that does not close (')",
		`a "b`:                   `a quote that does not close (")`,
		"( a )":                  "a subshell ( ( )",
		"a )":                    "a lone )",
		"; a":                    "a ; with no command before it",
		"a ;;":                   "a ; with no command before it",
		"if a":                   "the word if",
		"{ a":                    "the word {",
		"ulimit -c 0":            "the command ulimit",
		". ./.profile":           "the command .",
		"~/a":                    "a home directory (~)",
		"A=~/a":                  "a home directory (~)",
		"a # b":                  "a comment (#)",
		"IFS=: a":                "an assignment to IFS",
		"export -p":              "this form of export",
		"exec -a b c":            "exec with an option or a variable as command",
		"cd - ; a":               "cd with an option",
		"a \\\nb":                `a continued line (\ and newline)`,
		"a\x00b":                 "a NUL byte",
		profilePrefix + " a":     "a subshell ( ( ) that does not close",
		profilePrefix + " a ) b": "a subshell ( ( ) that does not close",
		"test ! -r ./.profile || . ./.profile; a": "an alternative (||)",
	} {
		_, err := Parse(line)
		var r *Refusal
		require.ErrorAs(t, err, &r, "%q", line)
		require.Equal(t, construct, r.Construct, "%q", line)
		require.Contains(t, err.Error(), "put /bin/sh into the image")
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestExistingProfileIsRefused(t *testing.T) {
	dir := t.TempDir()
	p, err := Parse(profilePrefix + " orted )")
	require.NoError(t, err)
	_, err = p.Command(nil, dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".profile"), []byte("A=1"), 0o644))
	_, err = p.Command(nil, dir)
	require.ErrorContains(t, err, "the ./.profile that lies in "+dir)
}

func TestRefusalsThatDependOnValues(t *testing.T) {
	for line, construct := range map[string]string{
		"prog $GLOB":   "a file name pattern out of $GLOB",
		"$NONE":        "a command whose name is empty",
		"$CD /tmp":     "the command cd out of a variable",
		"cd $SPACES":   "this form of cd",
		"cd; prog":     "cd to an empty name",
		`cd "$DASH"`:   "this form of cd",
		`$NONE exit 1`: "the command exit out of a variable",
	} {
		p, err := Parse(line)
		require.NoError(t, err, line)
		_, err = p.Command([]string{"GLOB=/*", "CD=cd", "SPACES=a b", "DASH=-"}, "/")
		var r *Refusal
		require.ErrorAs(t, err, &r, line)
		require.Equal(t, construct, r.Construct, line)
	}
	p, err := Parse("cd /no/such/dir; prog")
	require.NoError(t, err)
	_, err = p.Command(nil, "/")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "/no/such/dir")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`PATH=/a:$PATH ; export PATH ; orted -mca ess "env"`, profilePrefix + " orted )",
		`cd /tmp > /dev/null 2>&1 ; env A=b c`, `a 'b' "c\"$D" ${E} \f`, "a && b", "export A=1 B; exec c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if p, err := Parse(line); err == nil {
			_, _ = p.Command([]string{"HOME=/", "D=x y"}, "/")
		}
		// In single quotes, any words are returned unchanged.
		if !strings.Contains(line, "\x00") {
			p, err := Parse("exec prog " + "'" + strings.ReplaceAll(line, "'", `'\''`) + "'")
			require.NoError(t, err)
			got, err := p.Command(nil, "/")
			require.NoError(t, err)
			require.Equal(t, []string{"prog", line}, got.Argv)
		}
	})
}
