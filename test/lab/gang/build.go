//go:build linux

package main

import (
	"context"
	"path/filepath"

	"github.com/musterhq/muster/test/suite/program"
)

// module is where programs and custom resources of a scheduler come from.
type module struct {
	program.Module
	folder string   // of its go.mod, below this one
	crds   []string // files below its path
}

func modules() []module { return []module{volcano(), coscheduling(), kueue()} }

// pinned is the module of a folder.
func pinned(folder, path string, commands ...string) module {
	return module{folder: folder, Module: program.Module{
		Dir: filepath.Join("test", "lab", "gang", folder), Path: path, Name: filepath.Base(path), Commands: commands,
	}}
}

// files are the paths of the module's custom resources.
func (m module) files(ctx context.Context) (list []string, err error) {
	dir, err := m.Source(ctx)
	for _, name := range m.crds {
		list = append(list, filepath.Join(dir, name))
	}
	return list, err
}
