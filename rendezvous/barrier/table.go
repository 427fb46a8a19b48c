package barrier

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table has the cards of all members, in rank order. Its JSON form is one string with a line for
// each member. A thousand members decode it at the same moment, and a list of objects takes many
// times longer.
type Table []Card

const (
	lineEnd = ";"
	wordEnd = " "
	words   = 8
)

// bare reports whether text can be in a table without quoting.
func bare(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r == utf8.RuneError || r == ';' || r == 0x7f || r == '"' || r == '\\'
	})
}

// MarshalJSON implements json.Marshaler. The number of a line is the rank.
func (t Table) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 64*len(t)+2)
	b = append(b, '"')
	for i, c := range t {
		if c.Rank != i {
			return nil, fmt.Errorf("encode the table of members: rank %d is at place %d", c.Rank, i)
		}
		for _, word := range []string{c.Name, c.Host, c.Address, strconv.Itoa(c.Slots), c.Interface, mark(c.NoGPU), mark(c.NoRDMA)} {
			b = append(append(b, word...), wordEnd...)
		}
		b = append(append(b, c.Instance...), lineEnd...)
	}
	return append(b, '"'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Table) UnmarshalJSON(text []byte) error {
	var all string
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*t = make(Table, 0, strings.Count(all, lineEnd))
	for all != "" {
		var line string
		line, all, _ = strings.Cut(all, lineEnd)
		card, err := cardOf(line)
		if err != nil {
			return fmt.Errorf("decode the table: line %d: %w", len(*t), err)
		}
		card.Rank = len(*t)
		*t = append(*t, card)
	}
	return nil
}

func cardOf(line string) (Card, error) {
	w := strings.SplitN(line, wordEnd, words+1)
	if len(w) != words {
		return Card{}, fmt.Errorf("want %d fields", words)
	}
	slots, err := strconv.Atoi(w[3])
	if err != nil {
		return Card{}, errors.New("its slots are not a number")
	}
	return Card{Name: w[0], Host: w[1], Address: w[2], Slots: slots, Interface: w[4], NoGPU: w[5] != "", NoRDMA: w[6] != "", Instance: w[7]}, nil
}

func mark(yes bool) string {
	if yes {
		return "1"
	}
	return ""
}
