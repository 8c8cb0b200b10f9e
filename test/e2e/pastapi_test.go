package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"kqueen.io/kqueen/api/rest"
)

// pastAPI does something with the administrator's kubeconfig, past the REST API: it is in the audit log as well, and
// what KQueen does by itself is not.
func pastAPI(t *testing.T, i *installation, root *api) {
	t.Helper()
	i.kubectl(i.adminKubeconfig(), "", "annotate", "organization", "payments", "example.com/by-hand=yes")
	i.kubectl(i.adminKubeconfig(), "", "get", "secrets", "--namespace", "org-payments")
	i.kubectl(i.adminKubeconfig(), "", "get", "clusters", "--namespace", "org-payments")
	var answered rest.Page[rest.AuditRecord]
	root.want(http.StatusOK, "GET", "/audit?actor=system:kqueen", nil, &answered)
	if len(answered.Items) > 0 {
		t.Errorf("the log has what KQueen does by itself: %+v", answered.Items[0])
	}
	want := []string{
		"kubernetes-admin patch Organization payments of payments: succeeded",
		"kubernetes-admin list secrets  of payments: succeeded",
	}
	eventually(t, "what was done past the REST API is in the audit log", func(context.Context) error {
		var page rest.Page[rest.AuditRecord]
		root.want(http.StatusOK, "GET", "/audit?actor=kubernetes-admin&limit=500", nil, &page)
		var got []string
		for _, r := range page.Items {
			got = append(got, fmt.Sprintf("%s %s %s %s of %s: %s", r.Actor.Name, r.Action, r.Object.Kind, r.Object.Name, r.Organization, r.Outcome))
			if r.Object.Kind == "Cluster" {
				t.Errorf("reading a cluster was written down: %+v", r)
			}
		}
		for _, one := range want {
			if !slices.Contains(got, one) {
				return fmt.Errorf("it has %q, and not %q", got, one)
			}
		}
		return nil
	})
}
