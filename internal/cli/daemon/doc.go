// Package daemon starts this program once more in the background, and has it report until it serves: `kqueen up` and
// `kqueen node join` share it. It knows nothing of what the background program does.
package daemon
