package listing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	"kqueen.io/kqueen/internal/platform/text"
)

// Reason says why a call failed in words that stay the same while the cause does: in one line, and without the ports of connections.
func Reason(err error) string {
	if request, ok := errors.AsType[*url.Error](err); ok {
		err = request.Err
	}
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return text.Cut(text.Line(fmt.Sprintf("%s: %v", network.Op, network.Err)), maxMessage)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "the API server did not answer in time"
	}
	return text.Cut(text.Line(err.Error()), maxMessage)
}

// NotRead is a resource that could not be read, or not in full, and why.
type NotRead struct{ Resource, Reason string }

// CompareNotRead sorts by resource.
func CompareNotRead(a, b NotRead) int {
	return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Reason, b.Reason))
}
