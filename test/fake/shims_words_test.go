//go:build mpi

package fake

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What Horovod calls: its check with options behind the host, lines that carry a
// whole environment, and kubexec.sh in the place of ssh.
func TestHorovodsWords(t *testing.T) {
	t.Parallel()
	o := run(t, shimRun(t, "1MiB", `
		ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no 127.0.0.2 -o ConnectTimeout=10 true
		long=$(head -c 100000 /dev/zero | tr '\0' x)
		ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no 127.0.0.2 -p 22 \
			"cd / > /dev/null 2>&1 ; env HOROVOD_RANK=3 LONG=$long PATH=/usr/bin:/bin sh -c 'pwd; echo \$HOROVOD_RANK \${#LONG}' "
		ssh 127.0.0.2 env A=$long B=$long C=$long D=$long E=$long sh -c "'echo \${#E}'"
		ln -s "$(command -v agent)" "$1/kubexec.sh"
		"$1/kubexec.sh" 127.0.0.3 "cd / > /dev/null 2>&1 ; env RANK=4 sh -c 'pwd; echo \$RANK on \$MUSTER_WORKER' "
		code=0; "$1/kubexec.sh" 127.0.0.3 'exit 9' || code=$?; echo $code`, t.TempDir()))
	o.wants(t, 0)
	require.Equal(t, "/\n3 100000\n100000\n/\n4 on 127.0.0.3\n9\n", o.out)
}

func TestSshWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script   string
		code     int
		out, err string // err: a part
	}{
		"exit code":                   {`ssh 127.0.0.4 'echo $MUSTER_WORKER; exit 7'`, 7, "127.0.0.4\n", ""},
		"words are joined":            {`ssh -q 127.0.0.2 echo '$((1+1))' "'a  b'"`, 0, "2 a  b\n", ""},
		"URL":                         {`ssh ssh://root@127.0.0.2:2222 'echo $MUSTER_WORKER'`, 0, "127.0.0.2\n", ""},
		"a shell":                     {`printf 'echo $MUSTER_WORKER\nexit 6\n' | ssh 127.0.0.3`, 6, "127.0.0.3\n", ""},
		"a shell and nothing to read": {`ssh 127.0.0.3 </dev/null`, 0, "", ""},
		"-n":                          {`echo lost | ssh -n 127.0.0.3 cat`, 0, "", ""},
		"-V":                          {`ssh -V`, 0, "", "as ssh, no OpenSSH"},
		"rsh":                         {`rsh -l me 127.0.0.2 'echo $MUSTER_WORKER'`, 0, "127.0.0.2\n", ""},
		"-N":                          {`ssh -N 127.0.0.2`, 255, "", "agent: rsh: option -N asks for what a session does not serve"},
		"-L":                          {`ssh -L 80:a:80 127.0.0.2 true`, 255, "", "agent: rsh: option -L asks for"},
		"-G":                          {`ssh -G 127.0.0.2`, 255, "", "agent: rsh: option -G asks for"},
		"no such host":                {`ssh nohost true`, 255, "", `agent: unknown host "nohost"`},
		"pdsh, all":                   {`pdsh -N -f 1 -a -x 127.0.0.3 'echo %n $MUSTER_WORKER'`, 0, "0 127.0.0.2\n1 127.0.0.4\n", ""},
		"pdsh, input":                 {`echo 127.0.0.3 127.0.0.2 | pdsh -f 1 -w - 'echo %u; cat'`, 0, "127.0.0.3: root\n127.0.0.2: root\n", ""},
		"pdsh, codes":                 {`pdsh -w 127.0.0.2,nohost 'exit 3'`, 0, "", "127.0.0.2: exited with exit code 3\n"},
		"pdsh, largest":               {`pdsh -S -w 127.0.0.2,nohost 'exit 3'`, 255, "", `nohost: unknown host "nohost"`},
		"pdsh, no hosts":              {`pdsh true`, 1, "", "agent: pdsh: no remote hosts specified\nhint: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := shimRun(t, "", c.script)
			call.env = []string{"USER=root"}
			o := run(t, call)
			o.wants(t, c.code)
			require.Equal(t, c.out, o.out)
			require.Contains(t, o.err, c.err)
		})
	}
}

// The command may itself be a shim, and the machine's ssh stays what it is
// without the flag, which agent env does not print unasked either.
func TestShimsAreAskedFor(t *testing.T) {
	t.Parallel()
	o := run(t, agentRun(t, []string{"--fake=2", "--shims"}, "pdsh", "-S", "-w", "127.0.0.[2-3]", "-f1", "echo $MUSTER_WORKER"))
	o.wants(t, 0)
	require.Equal(t, "127.0.0.2: 127.0.0.2\n127.0.0.3: 127.0.0.3\n", o.out)

	o = run(t, agentRun(t, []string{"--fake=1"}, "sh", "-ec", `
		command -v ssh
		agent env | grep -c ^export.PATH= || :
		eval "$(agent env --shims)"
		command -v ssh
		ssh 127.0.0.2 'echo on $MUSTER_WORKER'`))
	o.wants(t, 0)
	lines := strings.Split(strings.TrimSpace(o.out), "\n")
	require.Len(t, lines, 4)
	require.Equal(t, "/usr/bin/ssh", lines[0])
	require.Equal(t, "0", lines[1])
	require.True(t, strings.HasSuffix(lines[2], "/shims/ssh"), lines[2])
	require.Equal(t, "on 127.0.0.2", lines[3])
}

// Ctrl-C to pdsh ends the commands on every worker.
func TestPdshEndsItsCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := run(t, shimRun(t, "", `
		mkfifo "$1/up"
		env --default-signal=INT pdsh -a "trap 'echo down > $1/down-%n; exit' TERM; echo up; while :; do sleep 0.1; done" > "$1/up" &
		pdsh=$!
		{ read a; read b; read c; } < "$1/up"
		kill -INT $pdsh
		code=0; wait $pdsh || code=$?
		echo "$a, $code"
		until [ -s "$1/down-0" ] && [ -s "$1/down-1" ] && [ -s "$1/down-2" ]; do sleep 0.05; done
		echo all down`, dir))
	o.wants(t, 0)
	require.Regexp(t, `^127\.0\.0\.[234]: up, 130\nall down\n$`, o.out)
}
