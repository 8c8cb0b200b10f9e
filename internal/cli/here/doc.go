// Package here is about the installation on this machine: whether a command that only its owner can give is about the
// one that the user works with, and what the owner reads from its data directory. On other systems than Linux there is
// none.
package here
