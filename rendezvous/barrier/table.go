package barrier

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/exec/deflate"
)

// Table has the cards of all members, in rank order.
type Table []Card

// Packed is a Table for an Order: a line for each member, deflated. It is not unpacked before a member
// begins an attempt.
type Packed []byte

// mostTable is the length in bytes of the longest table. One of 10,000 members has 1 MB.
const mostTable = 8 << 20

// Pack encodes the table. It fails if a card is not at the place of its rank, or if the table is too
// long.
func (t Table) Pack() (Packed, error) {
	text, err := t.lines()
	if err != nil {
		return nil, fmt.Errorf("encode the table of members: %w", err)
	}
	if len(text) > mostTable {
		return nil, fmt.Errorf("encode the table of members: %d bytes, at most %d", len(text), mostTable)
	}
	return deflate.Pack(text)
}

// Unpack decodes the table.
func (p Packed) Unpack() (Table, error) {
	text, err := deflate.Unpack(p, mostTable)
	if err != nil {
		return nil, fmt.Errorf("decode the table of members: %w", err)
	}
	return tableOf(string(text))
}

const (
	lineEnd = ";"
	wordEnd = " "
	words   = 8
)

// bare reports whether text can be a word of a line.
func bare(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r == utf8.RuneError || r == ';' || r == 0x7f || r == '"' || r == '\\'
	})
}

// lines returns a line for each member. Its number is the rank.
func (t Table) lines() ([]byte, error) {
	b := make([]byte, 0, 64*len(t))
	for i, c := range t {
		if c.Rank != i {
			return nil, fmt.Errorf("rank %d is at place %d", c.Rank, i)
		}
		for _, word := range []string{c.Name, c.Host, c.Address, strconv.Itoa(c.Slots), c.Interface, mark(c.NoGPU), mark(c.NoRDMA)} {
			b = append(append(b, word...), wordEnd...)
		}
		b = append(append(b, c.Instance...), lineEnd...)
	}
	return b, nil
}

// tableOf returns the table of lines.
func tableOf(all string) (Table, error) {
	t := make(Table, 0, strings.Count(all, lineEnd))
	for all != "" {
		var line string
		line, all, _ = strings.Cut(all, lineEnd)
		card, err := cardOf(line)
		if err != nil {
			return nil, fmt.Errorf("decode the table of members: line %d: %w", len(t), err)
		}
		card.Rank = len(t)
		t = append(t, card)
	}
	return t, nil
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
