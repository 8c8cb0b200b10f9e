package organization

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// usesCase is what an organization may use, and what an object had and asks for.
type usesCase struct {
	reason     string
	spec       v1alpha1.OrganizationSpec
	had, asked []use
	field      string // empty: let through
	message    string // after "the organization may not use the "
}

func (c usesCase) check(t *testing.T) {
	t.Helper()
	var want *metav1.StatusCause
	if c.field != "" {
		want = &metav1.StatusCause{Field: c.field, Message: "the organization may not use the " + c.message}
	}
	shared := map[string]string{"hosted": "default", "fast": "nvme"}
	if diff := cmp.Diff(want, disallowed("acme", permissions(&c.spec, shared), c.had, c.asked)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", c.reason, diff)
	}
}

func TestDisallowed(t *testing.T) {
	const spec = "spec.provisionerRef"
	own := &v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Namespace: "org-acme", Name: "ours"}, Spec: v1alpha1.ProvisionerSpec{Driver: "hosted"}}
	cluster := func(namespace, name, version string) *v1alpha1.Cluster {
		return &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Version: version, ProvisionerRef: v1alpha1.ProvisionerReference{Namespace: namespace, Name: name}}}
	}
	tests := map[string]usesCase{
		"NothingSaid": {
			"What no administrator has bounded may be used.", v1alpha1.OrganizationSpec{}, nil,
			clusterUses(cluster(v1alpha1.SystemNamespace, "hosted", "v1.36.3"), own, "default", ""), "", "",
		},
		"SharedProvisioner": {
			"One that is not among those that were named.", v1alpha1.OrganizationSpec{ProvisionerNames: []string{"gke"}}, nil,
			clusterUses(cluster(v1alpha1.SystemNamespace, "hosted", "v1.36.3"), nil, "", ""),
			spec, `shared provisioner "hosted"; it may use: gke; an administrator of the installation allows it with: kqueen organization update acme --provisioner gke,hosted`,
		},
		"OwnProvisioner": {
			"An own one gives no data store that the shared ones, which it may use, do not give.", v1alpha1.OrganizationSpec{ProvisionerNames: []string{"hosted"}}, nil,
			provisionerUses(own, "nvme"),
			"spec.parameters", `data store "nvme"; it may use: default; an administrator of the installation allows it with: kqueen organization update acme --data-store default,nvme`,
		},
		"OwnProvisionerOfBefore": {
			"A cluster is not made by an own one either that was there before it was bounded.", v1alpha1.OrganizationSpec{ProvisionerNames: []string{"hosted"}}, nil,
			clusterUses(cluster("org-acme", "ours", "v1.36.3"), own, "nvme", ""),
			spec, `data store "nvme"; it may use: default; an administrator of the installation allows it with: kqueen organization update acme --data-store default,nvme`,
		},
		"NoStoreAtAll": {
			"Without a shared provisioner of this installation there is no data store for an own one.", v1alpha1.OrganizationSpec{ProvisionerNames: []string{"gke"}}, nil,
			provisionerUses(own, "default"),
			"spec.parameters", `data store "default"; it may use: none; an administrator of the installation allows it with: kqueen organization update acme --data-store default`,
		},
		"NamedStore": {
			"A list says all.", v1alpha1.OrganizationSpec{DataStoreNames: []string{"acme"}}, nil, provisionerUses(own, "default"),
			"spec.parameters", `data store "default"; it may use: acme; an administrator of the installation allows it with: kqueen organization update acme --data-store acme,default`,
		},
		"NamedStoreTaken": {"And what is in it may be used.", v1alpha1.OrganizationSpec{DataStoreNames: []string{"acme"}}, nil, provisionerUses(own, "acme"), "", ""},
		"Driver": {
			"A driver is bounded for own provisioners, too.", v1alpha1.OrganizationSpec{Drivers: []string{"gke", "eks"}}, nil, provisionerUses(own, "default"),
			"spec.driver", `driver "hosted"; it may use: gke, eks; an administrator of the installation allows it with: kqueen organization update acme --driver gke,eks,hosted`,
		},
		"StoreWithdrawn": {
			"What a cluster has it keeps.", v1alpha1.OrganizationSpec{DataStoreNames: []string{"acme"}, Drivers: []string{"gke"}, ProvisionerNames: []string{"gke"}, Releases: []string{"v1.35"}},
			clusterUses(cluster(v1alpha1.SystemNamespace, "hosted", "v1.36.3"), own, "default", ""),
			clusterUses(cluster(v1alpha1.SystemNamespace, "hosted", "v1.36.3"), own, "default", ""), "", "",
		},
		"Upgrade": {
			"But it is not raised to what it may not use.", v1alpha1.OrganizationSpec{Releases: []string{"v1.35", "v1.36.2"}},
			clusterUses(cluster(v1alpha1.SystemNamespace, "hosted", "v1.36.2"), own, "default", ""),
			clusterUses(cluster(v1alpha1.SystemNamespace, "hosted", "v1.36.3"), own, "default", ""),
			"spec.version", `release "v1.36.3"; it may use: v1.35, v1.36.2; an administrator of the installation allows it with: kqueen organization update acme --release v1.35,v1.36.2,v1.36.3`,
		},
		"Minor": {
			"A minor holds all of its patches.", v1alpha1.OrganizationSpec{Releases: []string{"v1.36"}}, nil,
			clusterUses(cluster(v1alpha1.SystemNamespace, "hosted", "v1.36.3"), own, "default", ""), "", "",
		},
	}
	for name, tc := range tests {
		t.Run(name, tc.check)
	}
}

func TestDisallowedPools(t *testing.T) {
	pool := func(provider, version string) []use {
		p := &v1alpha1.NodePool{Spec: v1alpha1.NodePoolSpec{Version: version}}
		p.Spec.Template.Provider = provider
		return poolUses(p)
	}
	tests := map[string]usesCase{
		"OtherMinor": {
			"And none of another one that begins alike.", v1alpha1.OrganizationSpec{Releases: []string{"v1.3"}}, nil, pool("manual", "v1.36.3"),
			"spec.version", `release "v1.36.3"; it may use: v1.3; an administrator of the installation allows it with: kqueen organization update acme --release v1.3,v1.36.3`,
		},
		"LocalPool": {
			"The host's machines are for those who were allowed them.", v1alpha1.OrganizationSpec{}, nil, pool("local", ""),
			"spec.template.provider", `machine provider "local"; it may use: manual; an administrator of the installation allows it with: kqueen organization update acme --machine-provider manual,local`,
		},
		"LocalPoolAllowed": {"As these are.", v1alpha1.OrganizationSpec{MachineProviders: []string{"local"}}, nil, pool("local", ""), "", ""},
		"ManualPool":       {"Machines that users bring cost the host nothing.", v1alpha1.OrganizationSpec{}, nil, pool("manual", ""), "", ""},
		"ManualWithdrawn": {
			"An administrator may say otherwise.", v1alpha1.OrganizationSpec{MachineProviders: []string{"local"}}, nil, pool("manual", ""),
			"spec.template.provider", `machine provider "manual"; it may use: local; an administrator of the installation allows it with: kqueen organization update acme --machine-provider local,manual`,
		},
		"LocalWithdrawn": {"A pool that is there goes on.", v1alpha1.OrganizationSpec{}, pool("local", ""), pool("local", ""), "", ""},
		"LocalWithdrawnAndGrown": {
			"And does not grow.", v1alpha1.OrganizationSpec{}, goesOn(pool("local", ""), Amount{Nodes: 1}, Amount{Nodes: 2}), pool("local", ""),
			"spec.template.provider", `machine provider "local"; it may use: manual; an administrator of the installation allows it with: kqueen organization update acme --machine-provider manual,local`,
		},
	}
	for name, tc := range tests {
		t.Run(name, tc.check)
	}
}

func TestDisallowedLevels(t *testing.T) {
	secure := func(level, without string) []use {
		return clusterUses(&v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{PodSecurity: level, Version: "v1.36.3"}}, nil, "", without)
	}
	tests := map[string]usesCase{
		"Privileged": {
			"Pods that lead out are for those who were allowed them.", v1alpha1.OrganizationSpec{}, nil, secure("privileged", "baseline"),
			"spec.podSecurity", `Pod Security level "privileged"; it may use: baseline, restricted; an administrator of the installation allows it with: kqueen organization update acme --pod-security privileged`,
		},
		"PrivilegedAllowed":   {"As here.", v1alpha1.OrganizationSpec{PodSecurity: "privileged"}, nil, secure("privileged", "baseline"), "", ""},
		"PrivilegedWithdrawn": {"A cluster that has it goes on.", v1alpha1.OrganizationSpec{}, secure("privileged", ""), secure("privileged", ""), "", ""},
		"PrivilegedOfBefore":  {"Also one that was never asked.", v1alpha1.OrganizationSpec{PodSecurity: "restricted"}, secure("", ""), secure("", ""), "", ""},
		"Weakened": {
			"But does not get it anew.", v1alpha1.OrganizationSpec{}, secure("baseline", ""), secure("privileged", ""),
			"spec.podSecurity", `Pod Security level "privileged"; it may use: baseline, restricted; an administrator of the installation allows it with: kqueen organization update acme --pod-security privileged`,
		},
		"Hardened": {"Restricted is never refused.", v1alpha1.OrganizationSpec{PodSecurity: "restricted"}, nil, secure("restricted", "baseline"), "", ""},
		"Unsaid": {
			"What is not said is the driver's default.", v1alpha1.OrganizationSpec{PodSecurity: "restricted"}, nil, secure("", "baseline"),
			"spec.podSecurity", `Pod Security level "baseline"; it may use: restricted; an administrator of the installation allows it with: kqueen organization update acme --pod-security baseline`,
		},
		"Elsewhere": {"A cloud has levels of its own.", v1alpha1.OrganizationSpec{PodSecurity: "restricted"}, nil, secure("", ""), "", ""},
	}
	for name, tc := range tests {
		t.Run(name, tc.check)
	}
}

func TestGoesOn(t *testing.T) {
	had := []use{{matterProvider, "local", "spec.template.provider"}, {matterRelease, "v1.36.3", "spec.version"}}
	tests := map[string]struct {
		before, after Amount
		provider      bool
	}{
		"the same":      {Amount{Nodes: 2, CPU: 2, Memory: 2}, Amount{Nodes: 2, CPU: 2, Memory: 2}, true},
		"fewer":         {Amount{Nodes: 2, CPU: 2, Memory: 2}, Amount{Nodes: 1, CPU: 1, Memory: 1}, true},
		"more":          {Amount{Nodes: 2, CPU: 2, Memory: 2}, Amount{Nodes: 3, CPU: 2, Memory: 2}, false},
		"larger":        {Amount{Nodes: 2, CPU: 2, Memory: 2}, Amount{Nodes: 1, CPU: 3, Memory: 1}, false},
		"more memory":   {Amount{Nodes: 2, CPU: 2, Memory: 2}, Amount{Nodes: 2, CPU: 2, Memory: 3}, false},
		"from none yet": {Amount{}, Amount{Nodes: 1}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want := had
			if !tc.provider {
				want = had[1:]
			}
			if diff := cmp.Diff(want, goesOn(had, tc.before, tc.after), cmp.AllowUnexported(use{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
