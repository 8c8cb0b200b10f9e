// Package console is where a command reads and writes: what it says to its user, what it asks, and how it prints data
// for users and for programs. It knows no installation. It hides control characters from a terminal: what a server
// says is cleaned before it is shown.
package console
