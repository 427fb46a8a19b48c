// Package page writes generated text into pages that people write, between two marks that stay in place.
package page

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Put replaces the text in the file at path between the line that begins with "<!-- NAME: begin" and "<!-- NAME:
// end -->". If a mark is missing, it returns an error and does not change the page.
func Put(path, name, body string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	first, last := "<!-- "+name+": begin", "<!-- "+name+": end -->"
	begin, end := bytes.Index(text, []byte(first)), bytes.Index(text, []byte(last))
	if begin < 0 || end < begin {
		return fmt.Errorf("%s has no lines %q and %q", path, first, last)
	}
	head := begin + bytes.IndexByte(text[begin:], '\n') + 1
	return os.WriteFile(path, slices.Concat(text[:head], []byte(body), text[end:]), 0o644)
}

// Each fenced block of code on a page declares its content after the fence:
//
//	sh             commands to paste where the repository, agent and kubectl are
//	sh launcher    commands to paste in a launcher's pod
//	console        commands to paste, each after "$ ", with their possible output
//	yaml NAME      a file that commands of the page read
//	messages       messages of Muster (test/suite/messages)
//	anything else  nothing to run
//
// A line "<!-- not run: REASON -->" before a block excludes it from the tests. A line "<!-- run by: FILE TEST -->"
// names the test that reads a block of YAML without a name. An indented block without a fence is output.

// Block is a block of code of a page.
type Block struct {
	Page     string
	Line     int    // of its first line, from 1
	Language string // sh, yaml...; "": none, or indented
	Word     string // the word after the language
	Text     string
	NotRun   string // why no test pastes it
	RunBy    string // the file and the name of the test that reads it
}

// At returns the position of the block, for messages.
func (b Block) At() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Commands returns the commands to paste, or "".
func (b Block) Commands() string {
	switch b.Language {
	case "sh":
		return b.Text
	case "console":
		var lines []string
		for line := range strings.Lines(b.Text) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				lines = append(lines, command)
			}
		}
		return strings.Join(lines, "")
	}
	return ""
}

const (
	notRun = "<!-- not run: "
	runBy  = "<!-- run by: "
)

// begins returns the line that ends a generated part, given its first line, and "" for other lines.
func begins(line string) string {
	name, ok := strings.CutPrefix(line, "<!-- ")
	name, _, begin := strings.Cut(name, ": begin")
	if !ok || !begin {
		return ""
	}
	return "<!-- " + name + ": end -->"
}

// Blocks returns the blocks of a page, in order.
func Blocks(name, text string) (all []Block) {
	lines := strings.Split(text, "\n")
	line := func(i int) string {
		if i < 0 || i >= len(lines) {
			return ""
		}
		return lines[i]
	}
	for i := 0; i < len(lines); i++ {
		b := Block{Page: name, Line: i + 1}
		begin := i
		switch info, fenced := strings.CutPrefix(line(i), "```"); {
		case begins(line(i)) != "": // a program wrote the following lines
			for end := begins(line(i)); i < len(lines) && line(i) != end; {
				i++
			}
			continue
		case fenced:
			b.Language, b.Word, _ = strings.Cut(info, " ")
			for i++; i < len(lines) && line(i) != "```"; i++ {
				b.Text += line(i) + "\n"
			}
		case strings.HasPrefix(line(i), "    ") && strings.TrimSpace(line(i-1)) == "":
			for ; strings.HasPrefix(line(i), "    "); i++ {
				b.Text += line(i)[4:] + "\n"
			}
		default:
			continue
		}
		if reason, ok := strings.CutPrefix(line(begin-1), notRun); ok {
			b.NotRun = strings.TrimSuffix(reason, " -->")
		}
		if test, ok := strings.CutPrefix(line(begin-1), runBy); ok {
			b.RunBy = strings.TrimSuffix(test, " -->")
		}
		all = append(all, b)
	}
	return all
}

// Pages returns the blocks of the README and of docs, by the page's path below root.
func Pages(root string) (map[string][]Block, error) { return read(root, "README.md", "docs") }

// Examples returns the blocks of examples, which test/lab/examples runs.
func Examples(root string) (map[string][]Block, error) { return read(root, "examples") }

// read reads the pages at paths below root: files, and folders with everything in them.
func read(root string, paths ...string) (map[string][]Block, error) {
	var files []string
	for _, path := range paths {
		err := filepath.WalkDir(filepath.Join(root, path), func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list the pages: %w", err)
		}
	}
	all := map[string][]Block{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return nil, err
		}
		if blocks := Blocks(name, string(text)); len(blocks) > 0 {
			all[name] = blocks
		}
	}
	return all, nil
}

// programs has the first words of commands on our pages.
var programs = []string{"$", "agent", "arena", "cd", "curl", "docker", "eval", "git", "go", "helm", "kubectl", "make", "mpirun", "pip", "sed", "${SUBMIT:-agent}"}

// LooksTyped returns the first line of a text that looks like a command, or "". A line with an arrow is part of a
// picture.
func LooksTyped(text string) string {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 1 && slices.Contains(programs, words[0]) && !slices.Contains(words, "->") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
