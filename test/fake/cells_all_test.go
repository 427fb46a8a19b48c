//go:build mpi && cells

package fake

// everyCell is for the matrices: with the tag cells each of them is played whole.
const everyCell = true
