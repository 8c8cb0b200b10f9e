// Package program says which version of kqueen this program is. The linker writes it, so that it is a package of its
// own that imports nothing.
package program
