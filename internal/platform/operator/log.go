package operator

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Debug is the verbosity of a logr.Logger that is slog's level debug.
const Debug = 4

// tell logs how one phase of a run went, at level debug. The logger of ctx, which controller-runtime puts there, names
// the controller, the object and, as reconcileID, this run.
func tell(ctx context.Context, condition string, o Outcome) {
	logger := log.FromContext(ctx).V(Debug)
	if !logger.Enabled() {
		return
	}
	logger.Info("phase", "condition", condition, "outcome", o.name(), "reason", o.reason, "message", o.message, "after", o.after)
}
