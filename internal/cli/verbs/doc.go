// Package verbs makes the commands that all kinds of objects share: list, get, wait, create, update and delete. It is
// given a kind and knows nothing of the others. The packages below client make their commands from it.
package verbs
