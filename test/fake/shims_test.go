//go:build mpi

package fake

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shimRun is `agent run --fake=3 --shims -- sh -ec script words...`, $1 being the
// first of the words, with links that are cut every so many bytes.
func shimRun(t *testing.T, cut, script string, words ...string) call {
	flags := []string{"--fake=3", "--shims"}
	if cut != "" {
		flags = append(flags, "--fake-fault", "drop every="+cut)
	}
	return agentRun(t, flags, append([]string{"sh", "-ec", script, "sh"}, words...)...)
}

// tree writes a directory of about size bytes that do not compress: files of many
// lengths, names that a shell would stumble over, a link, modes.
func tree(t *testing.T, size int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	data := noise(t, size)
	for i, at := 0, 0; at < size; i++ {
		n := min(1<<(i%24), size-at)
		path := filepath.Join(dir, fmt.Sprintf("part %d", i%7), fmt.Sprintf("it's $i \"%d\"", i))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data[at:at+n], 0o640))
		at += n
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o755))
	require.NoError(t, os.Symlink("empty", filepath.Join(dir, "link")))
	return dir
}

// sums lists a tree: names, modes, and the SHA-256 of what is in them.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		switch {
		case d.Type() == fs.ModeSymlink:
			all[name], err = os.Readlink(path)
		case d.IsDir():
			all[name] = "directory"
		default:
			var data []byte
			data, err = os.ReadFile(path) //nolint:gosec // G122: nobody else writes there
			sum := sha256.Sum256(data)
			all[name] = info.Mode().String() + hex.EncodeToString(sum[:])
		}
		return err
	}))
	return all
}

// 50 MB to a worker's own directory and back, the link cut at every MiB.
func TestRsyncUnderCuts(t *testing.T) {
	t.Parallel()
	const size = 50 << 20
	from, back := tree(t, size), filepath.Join(t.TempDir(), "back")
	o := run(t, shimRun(t, "1MiB", `
		d=$(ssh 127.0.0.3 'echo $TMPDIR')
		rsync -a "$1/" "127.0.0.3:$d/tree/"
		rsync -a -e ssh "127.0.0.3:$d/tree/" "$2/"
		ssh 127.0.0.3 "find '$d/tree' -type f | wc -l"`, from, back))
	o.wants(t, 0)
	want := sums(t, from)
	require.Equal(t, want, sums(t, back))
	require.Equal(t, 4, o.report.Sessions)
	require.GreaterOrEqual(t, o.report.Redials, 2*size>>20)
	t.Logf("%d files, %d redials in %d ms", len(want), o.report.Redials, o.report.RunMS)
}

// scp and sftp of OpenSSH, which have to be told which ssh: the path of theirs is
// built in.
func TestScpUnderCuts(t *testing.T) {
	t.Parallel()
	from, back := tree(t, 8<<20), t.TempDir()
	o := run(t, shimRun(t, "256KiB", `
		d=$(ssh 127.0.0.3 'echo $TMPDIR')
		scp -q -r -p -S ssh "$1" "127.0.0.3:$d/sftp"
		scp -q -r -p -O -S ssh "127.0.0.3:$d/sftp" "$2/scp"
		echo "get -R $d/sftp $2/sftp" | sftp -q -p -S ssh -b - 127.0.0.3 >/dev/null`, from, back))
	o.wants(t, 0)
	want := sums(t, from)
	// They follow links to files.
	want["link"] = want["empty"]
	require.Equal(t, want, sums(t, filepath.Join(back, "scp")))
	require.Equal(t, want, sums(t, filepath.Join(back, "sftp")))
	require.GreaterOrEqual(t, o.report.Redials, 3*30)
}

// A clone from a worker, a commit, and a push to it.
func TestGitUnderCuts(t *testing.T) {
	t.Parallel()
	o := run(t, shimRun(t, "256KiB", `
		export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
		d=$(ssh -o BatchMode=yes 127.0.0.4 'echo $TMPDIR')
		cd "$2"
		git init -q one && cp -R "$1" one/ && git -C one add . && git -C one commit -q -m one
		git clone -q --bare one "$d/on the worker.git"
		git clone -q "ssh://127.0.0.4$d/on the worker.git" two
		GIT_SSH=ssh git clone -q -c protocol.version=2 "127.0.0.4:$d/on the worker.git" three
		head -c 2000000 /dev/urandom > two/more
		git -C two add . && git -C two commit -q -m two && git -C two push -q origin HEAD
		git -C three pull -q
		git -C three fsck --strict --no-progress
		for r in two three; do git -C $r rev-parse HEAD; git -C $r status --porcelain; done
		git -C "$d/on the worker.git" rev-parse HEAD`, tree(t, 3<<20), t.TempDir()))
	o.wants(t, 0)
	heads := strings.Fields(o.out)
	require.Len(t, heads, 3, o.out)
	require.Equal(t, heads[0], heads[1])
	require.Equal(t, heads[0], heads[2])
	require.Equal(t, 5, o.report.Sessions, "a question, two clones, a push, a pull")
	require.GreaterOrEqual(t, o.report.Redials, 2*12+2*7, "3 MiB twice, 2 MB twice")
	t.Logf("%d redials in %d ms", o.report.Redials, o.report.RunMS)
}

// The real pdsh through our ssh, and ours, with the words that DeepSpeed passes:
// every line of every host, whole and in order; the largest exit code.
func TestPdshUnderCuts(t *testing.T) {
	t.Parallel()
	const count = 30000
	for name, program := range map[string]string{"the real one": "/usr/bin/pdsh", "ours": "pdsh"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, shimRun(t, "64KiB", `
				PDSH_RCMD_TYPE=ssh exec "$1" -S -f 1024 -w 127.0.0.4,127.0.0.2 \
					export 'WHERE=a b;' cd '/usr/share;' \
					'test "$(pwd)" = /usr/share && test "$WHERE" = "a b";' \
					seq -f "'%%.0f of node %n, %h'" "$2;" 'echo "on $MUSTER_WORKER" >&2;' exit '5%n'`,
				program, fmt.Sprint(count)))
			o.wants(t, 51)
			at := map[string]int{}
			for line := range strings.Lines(o.out) {
				host, _, _ := strings.Cut(line, ":")
				at[host]++
				node := map[string]int{"127.0.0.4": 0, "127.0.0.2": 1}[host]
				require.Equal(t, fmt.Sprintf("%s: %d of node %d, %s\n", host, at[host], node, host), line)
			}
			require.Equal(t, map[string]int{"127.0.0.4": count, "127.0.0.2": count}, at)
			require.Contains(t, o.err, "127.0.0.4: on 127.0.0.4\n")
			require.Contains(t, o.err, "127.0.0.2: on 127.0.0.2\n")
			require.Equal(t, 2, o.report.Sessions)
			require.GreaterOrEqual(t, o.report.Redials, 2*8)
		})
	}
}

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
