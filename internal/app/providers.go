//go:build linux

package app

import (
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/tenancy/access/oidc"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
)

// issuerDeadline bounds each call by which an issuer is looked at.
const issuerDeadline = 10 * time.Second

// addProviders looks at the issuers by which people sign in. The door, which signs them in, reads providers from the
// same cache.
func (a *App) addProviders(mgr ctrl.Manager) error {
	looks := identityprovider.New(identityprovider.Config{
		Client: mgr.GetClient(), Secrets: mgr.GetAPIReader(), Check: oidc.NewClient(time.Now, issuerDeadline).Check,
		Recorder: mgr.GetEventRecorder("kqueen"),
	})
	// One issuer that does not answer keeps no other one waiting.
	err := ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.IdentityProvider{}).WithOptions(options()).Complete(looks)
	if err != nil {
		return fmt.Errorf("look at identity providers: %w", err)
	}
	return nil
}
