// Package verbs has the commands for the API verbs that all kinds share: list, get, wait, create, update and delete. It
// is given a kind and knows nothing of the others. The packages below client build their commands from it.
package verbs
