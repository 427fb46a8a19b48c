package plan

import (
	"slices"

	"github.com/musterhq/muster/agent/framework"
)

// shared holds the variables seen so far. Equal ones of several processes are then in memory once:
// thousands of processes differ in few of their variables.
type shared map[[2]string]*framework.Var

// of returns the one variable that is equal to v, which is v if it is the first of its kind.
func (s shared) of(v framework.Var) *framework.Var {
	key := [2]string{v.Name, v.Value}
	known := s[key]
	if known != nil && equal(*known, v) {
		return known
	}
	s[key] = &v
	return &v
}

func equal(a, b framework.Var) bool {
	return a.Name == b.Name && a.Value == b.Value && a.Why == b.Why && a.NotEmpty == b.NotEmpty &&
		a.Extend == b.Extend && a.Default == b.Default && slices.Equal(a.Or, b.Or)
}

// all returns the variables of one process.
func (s shared) all(lists ...[]framework.Var) []*framework.Var {
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	vars := make([]*framework.Var, 0, n)
	for _, list := range lists {
		for _, v := range list {
			vars = append(vars, s.of(v))
		}
	}
	return vars
}
