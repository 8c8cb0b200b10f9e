// Package host has the commands of the server host, the machine on which KQueen itself runs: up, down, status, reset,
// the build of releases, and those under which kqueen starts its own programs. Only the root command enters it.
package host
