package addons

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/schema"
)

func on(name, values string) v1alpha1.AddonSetting {
	enabled := true
	return v1alpha1.AddonSetting{Name: name, Enabled: &enabled, Values: valuesOf(values)}
}

func off(name string) v1alpha1.AddonSetting {
	return v1alpha1.AddonSetting{Name: name, Enabled: new(bool)}
}

func valuesOf(text string) *apiextensionsv1.JSON {
	if text == "" {
		return nil
	}
	return &apiextensionsv1.JSON{Raw: []byte(text)}
}

func TestChoose(t *testing.T) {
	type settings = []v1alpha1.AddonSetting
	for name, tc := range map[string]struct {
		reason   string
		cni      string
		settings []settings
		want     map[string]string // the values of each addon in JSON
	}{
		"Nothing": {
			"the catalogue's defaults", v1alpha1.CNIRoutes, nil,
			map[string]string{"kube-proxy": `{}`, "coredns": `{"replicas":2}`, "metrics-server": `{"resolutionSeconds":15}`},
		},
		"Network": {
			"flannel comes with its network alone, whatever is said", v1alpha1.CNIFlannel, []settings{{off("flannel")}},
			map[string]string{"flannel": `{}`, "kube-proxy": `{}`, "coredns": `{"replicas":2}`, "metrics-server": `{"resolutionSeconds":15}`},
		},
		"Off": {
			"what is switched off is not there", v1alpha1.CNINone, []settings{{off("kube-proxy"), off("metrics-server")}},
			map[string]string{"coredns": `{"replicas":2}`},
		},
		"Later": {
			"the cluster's setting counts more than the organization's", v1alpha1.CNINone,
			[]settings{{off("kube-proxy"), off("coredns")}, {on("metrics-server", `{"resolutionSeconds":30}`)}, {on("coredns", `{"replicas":3}`)}},
			map[string]string{"coredns": `{"replicas":3}`, "metrics-server": `{"resolutionSeconds":30}`},
		},
		"Values": {
			"values without a switch leave the switch as it was", v1alpha1.CNINone,
			[]settings{{off("kube-proxy"), off("coredns")}, {{Name: "coredns", Values: valuesOf(`{"replicas":3}`)}}},
			map[string]string{"metrics-server": `{"resolutionSeconds":15}`},
		},
		"Bad": {
			"what was stored before a schema became narrower does not count", v1alpha1.CNINone,
			[]settings{{on("coredns", `{"replicas":300}`), off("nothing")}},
			map[string]string{"kube-proxy": `{}`, "coredns": `{"replicas":2}`, "metrics-server": `{"resolutionSeconds":15}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for _, c := range Choose(tc.cni, tc.settings...) {
				if c.HasImage(Images{NodeAgent: "these:1", Traefik: "these:1"}) {
					continue // they are as metrics-server is
				}
				values, err := json.Marshal(c.Values)
				if err != nil {
					t.Fatal(err)
				}
				got[c.Name] = string(values)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	type settings = []v1alpha1.AddonSetting
	for name, tc := range map[string]struct {
		had     settings
		setting v1alpha1.AddonSetting
		want    string // of the error; empty when it is taken
	}{
		"Good":       {nil, on("coredns", `{"replicas":1}`), ""},
		"NoValues":   {nil, off("metrics-server"), ""},
		"Unknown":    {nil, on("core-dns", ""), `spec.addons[1].name: there is no addon "core-dns"; must be one of ` + strings.Join(names(), ", ")},
		"Switched":   {nil, off("flannel"), "spec.addons[1].enabled: flannel belongs to spec.cni Flannel and cannot be switched"},
		"WrongValue": {nil, on("coredns", `{"replicas":0}`), "spec.addons[1].values.replicas: "},
		"Ranges":     {nil, on("load-balancer", `{"ranges":["192.0.2.10-192.0.2.20","192.0.2.0/28","192.0.2.1"]}`), ""},
		"NoRange":    {nil, on("load-balancer", `{"ranges":["192.0.2.1","192.0.2.20-192.0.2.10"]}`), `spec.addons[1].values.ranges[1]: "192.0.2.20-192.0.2.10" is no range of IPv4 addresses`},
		"NoAddress":  {nil, on("load-balancer", `{"ranges":["192.0.2"]}`), `spec.addons[1].values.ranges[0]: `},
		"NoPrefix":   {nil, on("load-balancer", `{"ranges":["192.0.2.0/33"]}`), `spec.addons[1].values.ranges[0]: `},
		"WrongName":  {nil, on("coredns", `{"replica":1}`), "spec.addons[1].values: "},

		"Had":            {settings{on("core-dns", "")}, on("core-dns", ""), ""},
		"HadElsewhere":   {settings{off("flannel"), on("core-dns", `{"a":1,"b":2}`)}, on("core-dns", `{ "b":2, "a":1 }`), ""},
		"HadOtherwise":   {settings{on("core-dns", "")}, off("core-dns"), "spec.addons[1].name: "},
		"HadOtherValues": {settings{on("coredns", `{"replicas":0}`)}, on("coredns", `{"replicas":-1}`), "spec.addons[1].values.replicas: "},
		"HadWithout":     {settings{{Name: "flannel"}}, off("flannel"), "spec.addons[1].enabled: "},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check("spec.addons", tc.had, settings{off("coredns"), tc.setting})
			if tc.want == "" && err == nil {
				return
			}
			if _, ok := errors.AsType[*invalid.Error](err); !ok || !strings.HasPrefix(err.Error(), tc.want) || tc.want == "" {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestSettle: who says whether a cluster has an addon is told, also of one that it does not have.
func TestSettle(t *testing.T) {
	values := func(name string) []v1alpha1.AddonSetting {
		return []v1alpha1.AddonSetting{{Name: name, Values: valuesOf(`{"replicas":3}`)}}
	}
	got := map[string]string{}
	for _, s := range Settle(v1alpha1.CNIFlannel, []v1alpha1.AddonSetting{off("kube-proxy"), off("coredns")}, []v1alpha1.AddonSetting{off("metrics-server"), on("coredns", "")}, append(values("coredns"), on("kube-proxy", ""))) {
		if s.HasImage(Images{NodeAgent: "these:1", Traefik: "these:1"}) {
			continue // they are as metrics-server is
		}
		got[s.Name] = fmt.Sprintf("%t from %d with %v", s.Enabled, s.From, s.Values)
	}
	want := map[string]string{
		"flannel":        fmt.Sprintf("true from %d with map[]", FromCatalogue),
		"kube-proxy":     fmt.Sprintf("true from %d with map[]", FromCluster),
		"coredns":        fmt.Sprintf("true from %d with map[replicas:3]", FromOrganization),
		"metrics-server": fmt.Sprintf("false from %d with map[resolutionSeconds:15]", FromOrganization),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestValidator: the field is named in the words of the API server, and what is being deleted may say anything.
func TestValidator(t *testing.T) {
	validator := Validator("Cluster", func(c *v1alpha1.Cluster) []v1alpha1.AddonSetting { return c.Spec.Addons })
	bad := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Spec: v1alpha1.ClusterSpec{Addons: []v1alpha1.AddonSetting{off("nothing")}}}
	const want = `Cluster.kqueen.io "demo" is invalid: spec.addons[0].name: Forbidden: there is no addon "nothing"`
	if _, err := validator.ValidateCreate(t.Context(), bad); !apierrors.IsInvalid(err) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("create: got %v", err)
	}
	if _, err := validator.ValidateUpdate(t.Context(), &v1alpha1.Cluster{}, bad); !apierrors.IsInvalid(err) {
		t.Errorf("update: got %v", err)
	}
	if _, err := validator.ValidateUpdate(t.Context(), bad, bad); err != nil {
		t.Errorf("an update that leaves it: got %v", err)
	}
	leaving := bad.DeepCopy()
	now := metav1.Now()
	leaving.DeletionTimestamp = &now
	if _, err := validator.ValidateUpdate(t.Context(), &v1alpha1.Cluster{}, leaving); err != nil {
		t.Errorf("what is being deleted: got %v", err)
	}
}

// TestOffWithCNI: a network that the user installs enforces NetworkPolicies itself, and a setting has the last word.
func TestOffWithCNI(t *testing.T) {
	for cni, want := range map[string]bool{v1alpha1.CNIRoutes: true, v1alpha1.CNIFlannel: true, v1alpha1.CNINone: false} {
		has := func(settings ...v1alpha1.AddonSetting) bool {
			return slices.ContainsFunc(Choose(cni, settings), func(c Chosen) bool { return c.Name == nameNetworkPolicies })
		}
		if has() != want || !has(on(nameNetworkPolicies, "")) || has(off(nameNetworkPolicies)) {
			t.Errorf("with cni %s: %t", cni, has())
		}
	}
}

func TestIsFor(t *testing.T) {
	for name, tc := range map[string]struct {
		kubernetes, release string
		want                bool
	}{
		"All":       {"", "v1.20.0", true},
		"Lowest":    {">=1.34", "v1.34.0", true},
		"Later":     {">=1.34", "v1.36.3", true},
		"Earlier":   {">=1.34", "v1.33.13", false},
		"Range":     {">=1.34 <1.37", "v1.37.0", false},
		"NoRelease": {">=1.34", "", false},
		"Broken":    {"newer", "v1.36.3", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Addon{Kubernetes: tc.kubernetes}).IsFor(tc.release); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestLacks(t *testing.T) {
	traefik, _ := named(NameTraefik)
	for name, tc := range map[string]struct {
		settings []v1alpha1.AddonSetting
		want     string
	}{
		"Nothing": {nil, ""},
		"Kinds":   {[]v1alpha1.AddonSetting{off(NameGatewayAPI)}, "without the addon gateway-api there are no Gateways"},
		"Both": {
			[]v1alpha1.AddonSetting{off(NameGatewayAPI), off(nameLoadBalancer)},
			"without the addon load-balancer there are no addresses of Ingresses and Gateways; without the addon gateway-api there are no Gateways",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := traefik.Lacks(Choose(v1alpha1.CNIRoutes, tc.settings)); got != tc.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestUses: what an addon uses is in the catalogue, before it.
func TestUses(t *testing.T) {
	before := map[string]bool{}
	for _, a := range Catalogue() {
		for _, use := range a.Uses {
			if !before[use.Name] || use.For == "" {
				t.Errorf("%s uses %q for %q, which is not before it, or for nothing", a.Name, use.Name, use.For)
			}
		}
		before[a.Name] = true
	}
}

// TestCatalogue: each addon can be shown, and its schema takes its own defaults.
func TestCatalogue(t *testing.T) {
	for _, a := range Catalogue() {
		if !a.IsFor("v1.36.3") {
			t.Errorf("%s is for Kubernetes %q", a.Name, a.Kubernetes)
		}
		values, err := json.Marshal(defaults(a.Schema))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Check("values", a.Schema, values); err != nil {
			t.Errorf("%s: its defaults: %v", a.Name, err)
		}
		var refused *invalid.Error
		if err := schema.Check("values", a.Schema, json.RawMessage(`{"noAddonHasThis":1}`)); !errors.As(err, &refused) {
			t.Errorf("%s takes a setting that does not exist: %v", a.Name, err)
		}
		if a.Summary == "" || strings.HasSuffix(a.Summary, ".") {
			t.Errorf("%s: the summary is %q; write a phrase without a full stop", a.Name, a.Summary)
		}
	}
	images := Images{CoreDNS: "kqueen.internal:5000/coredns:v1.15.0"}
	if a, _ := named("coredns"); a.Version(images) != "v1.15.0" || !a.HasImage(images) || a.HasImage(Images{}) {
		t.Error("the version is not the image's tag")
	}
}

// TestKinds: an object of a kind that is not listed would stay when its addon is switched off.
func TestKinds(t *testing.T) {
	known := map[string]bool{}
	for _, kind := range Kinds() {
		known[kind.String()] = true
	}
	for _, change := range []func(*Params){func(*Params) {}, flannel, flannelUpstream} {
		p := params()
		change(&p)
		for _, o := range objects(t, p) {
			kind := o.GetObjectKind().GroupVersionKind()
			if o.GetLabels()[v1alpha1.LabelAddon] != "" && !known[kind.String()] {
				t.Errorf("%s is not among the kinds of addons", kind)
			}
		}
	}
}
