package messages

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Entry is one heading of a page of the catalog, with the messages that it explains.
type Entry struct {
	At, Title string // At is file:line of the heading
	Messages  []string
	Text      string // the text below the messages
}

// Catalog returns the entries of the pages in dir. An entry is a heading of the second level with a block
//
//	```messages
//	no such host …
//	```
//
// below it, a message a line. Other headings are not entries.
func Catalog(dir string) ([]Entry, error) {
	pages, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return nil, err
	}
	var all []Entry
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, fmt.Errorf("read the catalog: %w", err)
		}
		all = append(all, entries(filepath.Base(page), string(text))...)
	}
	return all, nil
}

// entries returns the entries of one page.
func entries(page, text string) []Entry {
	var all []Entry
	var entry Entry
	end := func() {
		if len(entry.Messages) > 0 {
			all = append(all, entry)
		}
	}
	fence := ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case fence != "" && line == "```":
			fence = ""
		case fence == "messages":
			entry.Messages = append(entry.Messages, line)
		case fence != "":
		case strings.HasPrefix(line, "```"):
			if fence = strings.TrimPrefix(line, "```"); fence == "" {
				fence = "text"
			}
		case strings.HasPrefix(line, "## "):
			end()
			entry = Entry{At: fmt.Sprintf("%s:%d", page, i+1), Title: strings.TrimPrefix(line, "## ")}
		default:
			entry.Text += line + "\n"
		}
	}
	end()
	return all
}

// Compare returns the messages without a required entry, and the lines of entries that match no message.
func Compare(all []Message, catalog []Entry) (missing []Message, stale []string) {
	known, used := map[string]string{}, map[string]bool{}
	for _, e := range catalog {
		for _, m := range e.Messages {
			known[m] = e.At
		}
	}
	for _, m := range all {
		if _, ok := known[m.Text]; !ok && !m.Optional {
			missing = append(missing, m)
		}
		used[m.Text] = true
	}
	for _, e := range catalog {
		for _, m := range e.Messages {
			if !used[m] {
				stale = append(stale, e.At+" "+m)
			}
		}
	}
	return missing, stale
}
