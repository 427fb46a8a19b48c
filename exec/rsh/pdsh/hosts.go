package pdsh

import (
	"fmt"
	"strconv"
	"strings"
)

// maxHosts limits the expansion of one list: one typing error in a range can mean a billion hosts.
const maxHosts = 1 << 16

// split cuts a list at commas and white space outside brackets.
func split(list string) []string {
	depth := 0
	return strings.FieldsFunc(list, func(c rune) bool {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		}
		return depth == 0 && strings.ContainsRune(", \t\r\n", c)
	})
}

// expand expands w-[08-10,12]x to w-08x, w-09x, w-10x, w-12x. Several brackets give every
// combination; the last one changes fastest. An IPv6 address may be in brackets.
func expand(pattern string) ([]string, error) {
	open := strings.IndexByte(pattern, '[')
	if open < 0 {
		return []string{pattern}, nil
	}
	end := strings.IndexByte(pattern[open:], ']') + open
	if end < open {
		return nil, fmt.Errorf("pdsh: %q: missing closing bracket", pattern)
	}
	head, inner := pattern[:open], pattern[open+1:end]
	if head == "" && end == len(pattern)-1 && strings.Contains(inner, ":") {
		return []string{inner}, nil
	}
	tails, err := expand(pattern[end+1:])
	if err != nil {
		return nil, err
	}
	var all []string
	for _, part := range strings.Split(inner, ",") {
		numbers, err := numbers(part)
		if err != nil {
			return nil, fmt.Errorf("pdsh: %q: %w", pattern, err)
		}
		if (len(all)+len(numbers))*len(tails) > maxHosts {
			return nil, tooMany(pattern)
		}
		for _, n := range numbers {
			for _, tail := range tails {
				all = append(all, head+n+tail)
			}
		}
	}
	return all, nil
}

func tooMany(what string) error {
	return fmt.Errorf("pdsh: too many hosts: %q has more than %d", what, maxHosts)
}

// numbers returns 08, 09 and 10 for "08-10", with as many digits as the first number.
func numbers(part string) ([]string, error) {
	first, last, isRange := strings.Cut(part, "-")
	if !isRange {
		last = first
	}
	from, err1 := strconv.ParseUint(first, 10, 32)
	to, err2 := strconv.ParseUint(last, 10, 32)
	if err1 != nil || err2 != nil || from > to || to-from >= maxHosts {
		return nil, fmt.Errorf("%q is not a range of numbers", part)
	}
	var list []string
	for n := from; n <= to; n++ {
		digits := strconv.FormatUint(n, 10)
		list = append(list, strings.Repeat("0", max(0, len(first)-len(digits)))+digits)
	}
	return list, nil
}

// labels returns the label of each host: the first part of its name. It is the complete name if
// that begins with a digit, like an address, or if the hosts are in several domains.
func labels(hosts []string) []string {
	domain, several := "", false
	for _, h := range hosts {
		if _, d, ok := cutDomain(h); ok {
			several = several || domain != "" && d != domain
			domain = d
		}
	}
	list := make([]string, len(hosts))
	for i, h := range hosts {
		list[i] = h
		if name, _, ok := cutDomain(h); ok && !several {
			list[i] = name
		}
	}
	return list
}

func cutDomain(host string) (name, domain string, ok bool) {
	if host == "" || host[0] >= '0' && host[0] <= '9' {
		return host, "", false
	}
	return strings.Cut(host, ".")
}
