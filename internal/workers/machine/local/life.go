//go:build linux

package local

import (
	"time"

	"kqueen.io/kqueen/internal/platform/health"
)

// lifeBegan is when the outer process of a machine began to run, or when it ended. One that does not run and of whose end
// nothing is known was not running when KQueen began. It is pure.
func lifeBegan(status health.Status, began time.Time) time.Time {
	c, _ := status.Component(componentMachine)
	switch {
	case !c.StartedAt.IsZero():
		return c.StartedAt
	case c.LastExit != nil:
		return c.LastExit.At
	}
	return began
}
