package plugin

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// open returns the plugin's file for execution through its descriptor, after checking its SHA-256
// sum. go-plugin's SecureConfig cannot do this: it opens the file separately, so another file may
// be executed afterwards, and it has no path if there is a runner.
func open(path string, sum [sha256.Size]byte) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("path %s is not absolute", path)
	}
	// NONBLOCK: opening a pipe must not wait for a writer.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := check(file, path, sum); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func check(file *os.File, path string, sum [sha256.Size]byte) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if err := closed(path, info); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(real)} {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		// In a sticky directory only the owner of an entry can replace it.
		if info.Mode()&fs.ModeSticky == 0 {
			if err := closed("its directory "+dir, info); err != nil {
				return err
			}
		}
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if got := hash.Sum(nil); string(got) != string(sum[:]) {
		return fmt.Errorf("%s has the SHA-256 sum %x, want %x", path, got, sum)
	}
	return nil
}

// closed returns an error unless only root and we can write to it.
func closed(what string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is writable by group or others (mode %04o): chmod go-w", what, info.Mode().Perm())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to uid %d, want root or the uid of the launcher, %d", what, st.Uid, os.Geteuid())
	}
	return nil
}
