// Package connection is the way of a command to the installation that is meant: the flags that all commands share, the
// contexts that a user has signed in to, the data directory of the owner, and the client of the REST API, which the owner
// of the machine calls on a local socket and every other user by HTTPS. It explains what an installation refuses in words
// for the user. It knows no kind of object.
package connection
