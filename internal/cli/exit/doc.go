// Package exit holds the errors of commands that know their exit code, and the codes, which are promised to scripts in
// `kqueen help exit-codes`. It knows nothing of what a command does. Every package of the command line may enter.
package exit
