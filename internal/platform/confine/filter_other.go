//go:build !amd64 && !arm64

package confine

// Other processors have no filter: architecture 0 is none, and Able says so.
const (
	architecture = 0
	foreign      = 0x40000000
)

var refusedHere []uint32
