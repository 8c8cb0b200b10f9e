package organization

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/egress"
)

// closedHere is what is closed on the host of these tests.
func closedHere() ([]egress.Closed, error) {
	return []egress.Closed{
		{Range: netip.MustParsePrefix("10.223.0.0/16"), As: "the network of machines"},
		{Range: netip.MustParsePrefix("192.0.2.1/32"), As: "an address of the host"},
	}, nil
}

func TestWrongEgress(t *testing.T) {
	const at = "spec.egress.allow"
	tests := map[string]struct {
		reason     string
		had, asked []string
		want       []string
	}{
		"Nothing":   {"An organization may have no list.", nil, nil, nil},
		"Good":      {"Addresses of others may be called.", nil, []string{"192.0.2.7:443", "192.0.2.0/24:443", "[2001:db8::/64]:443"}, nil},
		"Malformed": {"What cannot be read is named by its place.", nil, []string{"192.0.2.7:443", "hooks.example.com:443"}, []string{at + `[1]: Forbidden: "hooks.example.com:443" has neither an address nor a range; write an address or a range and a port, such as 192.0.2.7:443, 192.0.2.0/24:443 or [2001:db8::/64]:443`}},
		"HostBits":  {"A range is written as it is.", nil, []string{"192.0.2.7/24:443"}, []string{at + `[0]: Forbidden: "192.0.2.7/24:443" has bits beside its network; write 192.0.2.0/24:443, or one address without a length`}},
		"Closed": {"Each is named that overlaps what stays closed, everywhere or here.", nil, []string{"127.0.0.1:6443", "10.0.0.0/8:443", "192.0.2.1:443", "198.51.100.7:10250"}, []string{
			at + "[0]: Forbidden: 127.0.0.1:6443 cannot be allowed: it overlaps 127.0.0.0/8, the loopback addresses",
			at + "[1]: Forbidden: 10.0.0.0/8:443 cannot be allowed: it overlaps 10.223.0.0/16, the network of machines",
			at + "[2]: Forbidden: 192.0.2.1:443 cannot be allowed: it overlaps 192.0.2.1/32, an address of the host",
			at + "[3]: Forbidden: 198.51.100.7:10250 cannot be allowed: port 10250 is that of kubelets, of which an API server calls those of its own cluster alone",
		}},
		"Had": {"What was let in before the host got that address stays, so that the list can be changed.", []string{"192.0.2.1:443"}, []string{"192.0.2.1:443", "198.51.100.7:443"}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			here, err := closedHere()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range wrongEgress(tc.had, tc.asked, here) {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEgressIsValidated: an API server refuses by field what cannot be allowed, when an organization is made and when it is
// changed, and asks about nothing else.
func TestEgressIsValidated(t *testing.T) {
	c := controlplanetest.Client(t)
	serve(t, c, map[string]http.Handler{"organizations": admission.WithValidator(c.Scheme(), ValidateEgress(closedHere))})
	of := func(list ...string) *v1alpha1.Organization {
		return &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{GenerateName: "egress-"}, Spec: v1alpha1.OrganizationSpec{Egress: &v1alpha1.Egress{Allow: list}}}
	}
	invalid := func(err error, want string) {
		t.Helper()
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want that %s is invalid", err, want)
		}
	}
	invalid(c.Create(t.Context(), of("192.0.2.7:443", "127.0.0.1:443")), "spec.egress.allow[1]: Forbidden: 127.0.0.1:443 cannot be allowed")
	invalid(c.Create(t.Context(), of("192.0.2.999:443")), "spec.egress.allow[0]: Forbidden")
	invalid(c.Create(t.Context(), of("hooks.example.com:443")), "spec.egress.allow[0]") // the schema says so
	invalid(c.Create(t.Context(), of("192.0.2.7:443", "192.0.2.7:443")), "spec.egress.allow[1]: Duplicate value")
	o := of("192.0.2.7:443")
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Spec.Egress.Allow = append(o.Spec.Egress.Allow, "10.223.0.0/24:443")
	invalid(c.Update(t.Context(), o), "spec.egress.allow[1]: Forbidden: 10.223.0.0/24:443 cannot be allowed: it overlaps 10.223.0.0/16, the network of machines")
	o.Spec.Egress.Allow[1] = "198.51.100.0/24:443"
	if err := c.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}

	// While KQueen does not answer, an administrator goes on changing all else, and takes back what was allowed.
	serve(t, c, map[string]http.Handler{"organizations": http.NotFoundHandler()})
	if err := c.Create(t.Context(), of("192.0.2.7:443"), client.DryRunAll); err == nil {
		t.Error("a list is taken that nothing has checked")
	}
	o.Spec.DisplayName = "Ours"
	if err := c.Update(t.Context(), o); err != nil {
		t.Errorf("the name is asked about: %v", err)
	}
	if err := c.Create(t.Context(), &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{GenerateName: "egress-"}}, client.DryRunAll); err != nil {
		t.Errorf("an organization without a list is asked about: %v", err)
	}
	o.Spec.Egress = nil
	if err := c.Update(t.Context(), o); err != nil {
		t.Errorf("taking back is asked about: %v", err)
	}
}
