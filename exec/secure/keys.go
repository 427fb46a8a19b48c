package secure

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Names of the files of a pair. The launcher's pod has the first, and each worker's pod the second.
const (
	LauncherFile = "launcher.key"
	WorkerFile   = "worker.key"
)

const (
	launcherPrefix = "muster-launcher-key-1:"
	workerPrefix   = "muster-worker-key-1:"
	secretSize     = 32
	// mostKey is more bytes than the text of any key has.
	mostKey = 256
)

// ErrKey reports that a text is not a key of the expected kind.
var ErrKey = errors.New("not a key")

// LauncherKey signs the claims of a job's launchers, and holds the job's secret.
type LauncherKey struct {
	sign   ed25519.PrivateKey
	secret [secretSize]byte
}

// WorkerKey verifies the claims of a job's launchers, and holds the job's secret.
type WorkerKey struct {
	verify ed25519.PublicKey
	secret [secretSize]byte
}

// NewLauncherKey returns the launcher's key of a new pair.
func NewLauncherKey() LauncherKey {
	var seed [ed25519.SeedSize]byte
	_, _ = rand.Read(seed[:]) // never fails, or crashes the program (crypto/rand)
	k := LauncherKey{sign: ed25519.NewKeyFromSeed(seed[:])}
	_, _ = rand.Read(k.secret[:])
	return k
}

// Worker returns the worker's key of the same pair.
func (k LauncherKey) Worker() WorkerKey {
	return WorkerKey{verify: ed25519.PublicKey(k.sign[ed25519.SeedSize:]), secret: k.secret}
}

// Text returns the key as its file holds it: one line. It is secret.
func (k LauncherKey) Text() string { return format(launcherPrefix, k.sign.Seed(), k.secret) }

// Text returns the key as its file holds it: one line. It is secret.
func (k WorkerKey) Text() string { return format(workerPrefix, k.verify, k.secret) }

// Format keeps the key out of logs and messages.
func (k LauncherKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "launcher's key") }

// Format keeps the key out of logs and messages.
func (k WorkerKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "worker's key") }

func format(prefix string, first []byte, secret [secretSize]byte) string {
	return prefix + base64.StdEncoding.EncodeToString(append(append([]byte(nil), first...), secret[:]...)) + "\n"
}

// ParseLauncherKey parses the text of a launcher's key. Errors wrap [ErrKey] and do not contain the
// text.
func ParseLauncherKey(text string) (LauncherKey, error) {
	if strings.HasPrefix(text, workerPrefix) {
		return LauncherKey{}, fmt.Errorf("%w of a launcher: it is the key of a worker", ErrKey)
	}
	seed, secret, err := parse(launcherPrefix, text)
	if err != nil {
		return LauncherKey{}, err
	}
	return LauncherKey{sign: ed25519.NewKeyFromSeed(seed), secret: secret}, nil
}

// ParseWorkerKey parses the text of a worker's key. Errors wrap [ErrKey] and do not contain the
// text.
func ParseWorkerKey(text string) (WorkerKey, error) {
	if strings.HasPrefix(text, launcherPrefix) {
		return WorkerKey{}, fmt.Errorf("%w of a worker: it is the key of a launcher, which workers must not have", ErrKey)
	}
	verify, secret, err := parse(workerPrefix, text)
	if err != nil {
		return WorkerKey{}, err
	}
	return WorkerKey{verify: verify, secret: secret}, nil
}

// parse accepts exactly what format returns, with or without the newline. Package base64 alone
// would skip line breaks.
func parse(prefix, text string) (first []byte, secret [secretSize]byte, err error) {
	line := strings.TrimSuffix(text, "\n")
	body, ok := strings.CutPrefix(line, prefix)
	if !ok {
		return nil, secret, fmt.Errorf("%w: want one line that begins with %s", ErrKey, prefix)
	}
	all, err := base64.StdEncoding.Strict().DecodeString(body)
	if err != nil || len(all) != 32+secretSize || strings.ContainsAny(body, "\r\n") {
		return nil, secret, fmt.Errorf("%w: want %d bytes in base64 after %s", ErrKey, 32+secretSize, prefix)
	}
	copy(secret[:], all[32:])
	return all[:32:32], secret, nil
}

// ReadLauncherKey reads a launcher's key from its file.
func ReadLauncherKey(path string) (LauncherKey, error) { return read(path, ParseLauncherKey) }

// ReadWorkerKey reads a worker's key from its file.
func ReadWorkerKey(path string) (WorkerKey, error) { return read(path, ParseWorkerKey) }

func read[K any](path string, parse func(string) (K, error)) (k K, err error) {
	f, err := os.Open(path)
	if err != nil {
		return k, fmt.Errorf("read the key: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostKey+1))
	if err == nil && len(text) > mostKey {
		err = fmt.Errorf("%w: it is too long", ErrKey)
	}
	if err == nil {
		k, err = parse(string(text))
	}
	if err != nil {
		return k, fmt.Errorf("read the key %s: %w", path, err)
	}
	return k, nil
}

// WritePair writes both files of a new pair to a directory, which it creates if necessary. It
// overwrites nothing: if either file exists, the error wraps fs.ErrExist and both are unchanged.
func WritePair(dir string) (paths []string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("write keys: %w", err)
	}
	k := NewLauncherKey()
	defer func() {
		if err == nil {
			return
		}
		for _, path := range paths {
			err = errors.Join(err, os.Remove(path))
		}
		paths = nil
	}()
	for _, one := range []struct{ name, text string }{{LauncherFile, k.Text()}, {WorkerFile, k.Worker().Text()}} {
		path := filepath.Join(dir, one.name)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return paths, fmt.Errorf("write keys: %w", err)
		}
		paths = append(paths, path)
		_, err = f.WriteString(one.text)
		if err = errors.Join(err, f.Close()); err != nil {
			return paths, fmt.Errorf("write keys: %w", err)
		}
	}
	return paths, nil
}
