// Package kinds is the one table of the kinds of objects that the command line knows: what they are called, in which
// columns they are listed, how they are found, completed and printed. It offers no command; package verbs makes those.
package kinds
