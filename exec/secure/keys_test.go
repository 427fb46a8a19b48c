package secure

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeysAreOneLineEach(t *testing.T) {
	k := NewLauncherKey()
	again, err := ParseLauncherKey(k.Text())
	require.NoError(t, err)
	require.Equal(t, k.Text(), again.Text())
	w, err := ParseWorkerKey(strings.TrimSuffix(k.Worker().Text(), "\n"))
	require.NoError(t, err)
	require.Equal(t, k.Worker().Text(), w.Text())
	require.Equal(t, 1, strings.Count(k.Text(), "\n"))
	require.NotEqual(t, k.Text(), NewLauncherKey().Text())
	require.Equal(t, k.secret, w.secret)
	require.NotContains(t, w.Text(), strings.TrimPrefix(k.Text(), launcherPrefix)[:20], "the worker's key has nothing of the seed")
}

func TestOnlyExactKeys(t *testing.T) {
	good := NewLauncherKey().Text()
	line := strings.TrimSuffix(good, "\n")
	for name, text := range map[string]string{
		"empty":             "",
		"the worker's":      NewLauncherKey().Worker().Text(),
		"another version":   strings.Replace(good, "-1:", "-2:", 1),
		"two newlines":      good + "\n",
		"a space before":    " " + good,
		"a space after":     line + " \n",
		"a carriage return": line + "\r\n",
		"a broken line":     line[:40] + "\n" + line[40:],
		"truncated":         line[:len(line)-4],
		"too long":          line + "AAAA",
		"other bits set":    line[:len(line)-3] + "B==",
	} {
		_, err := ParseLauncherKey(text)
		require.ErrorIs(t, err, ErrKey, name)
		if len(text) > 40 {
			require.NotContains(t, err.Error(), text[30:40], "%s: no error shows the key", name)
		}
	}
	_, err := ParseWorkerKey(good)
	require.ErrorContains(t, err, "workers must not have")
}

func TestKeysAreNotPrinted(t *testing.T) {
	k := NewLauncherKey()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		require.Equal(t, "launcher's key", fmt.Sprintf(verb, k))
		require.Equal(t, "worker's key", fmt.Sprintf(verb, k.Worker()))
	}
}

func TestWritePair(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	paths, err := WritePair(dir)
	require.NoError(t, err)
	require.Len(t, paths, 2)
	k, err := ReadLauncherKey(filepath.Join(dir, LauncherFile))
	require.NoError(t, err)
	w, err := ReadWorkerKey(filepath.Join(dir, WorkerFile))
	require.NoError(t, err)
	require.Equal(t, k.Worker().Text(), w.Text(), "they are of one pair")
	for _, path := range paths {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode())
	}

	_, err = WritePair(dir)
	require.ErrorIs(t, err, fs.ErrExist)
	require.NoError(t, os.Remove(paths[0]))
	_, err = WritePair(dir)
	require.ErrorIs(t, err, fs.ErrExist)
	require.NoFileExists(t, paths[0], "half a pair is not left behind")
	kept, err := ReadWorkerKey(paths[1])
	require.NoError(t, err)
	require.Equal(t, w.Text(), kept.Text(), "nothing is overwritten")
}

func TestReadKeyNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	require.NoError(t, os.WriteFile(path, make([]byte, 1<<20), 0o600))
	_, err := ReadWorkerKey(path)
	require.ErrorIs(t, err, ErrKey)
	require.ErrorContains(t, err, path)
	_, err = ReadWorkerKey(path + "2")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
