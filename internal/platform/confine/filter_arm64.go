package confine

import "golang.org/x/sys/unix"

const (
	architecture = unix.AUDIT_ARCH_AARCH64
	foreign      = 0x40000000 // there are none; no call has a number as high
)

// refusedHere are those that this processor alone has.
var refusedHere []uint32
