package upgrade

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// factsOf are those of a cluster that nothing stands against: v1.36.3 to v1.37.2, with one pool.
func factsOf(t *testing.T) Facts {
	t.Helper()
	f := Facts{
		Wanted: Wanted{
			From: version(t, "v1.36.3"), To: version(t, "v1.37.2"), Backup: true, Releases: known(t, "v1.37.2"), Pools: []Pool{{Name: "web", Oldest: version(t, "v1.36.3")}},
		},
		Seen:       Seen{Nodes: []Node{{Name: "n1", Pool: "web", Kubelet: "v1.36.3", Ready: true}}, Answering: map[Service]bool{}},
		LastBackup: "monday",
	}
	f.Steps = planOf(t, f.Wanted)
	return f
}

func planOf(t *testing.T, w Wanted) []v1alpha1.UpgradeStep {
	t.Helper()
	steps, err := Plan(w)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// checked is a case of TestCheck.
type checked struct {
	reason string
	change func(*Facts)
	want   []string
}

// ofNodes are the cases about the cluster, its nodes and its APIs.
func ofNodes(t *testing.T) map[string]checked {
	t.Helper()
	return map[string]checked{
		"Nothing":     {"All is well.", func(*Facts) {}, nil},
		"ClusterDown": {"A cluster that is not ready is not touched.", func(f *Facts) { f.Unready = "no etcd" }, []string{"Blocks ClusterReady : the cluster is not ready: no etcd"}},
		"Unseen":      {"What cannot be looked at may be anything.", func(f *Facts) { f.Unseen = "no answer" }, []string{"Blocks ClusterReadable : the cluster could not be looked at: no answer"}},
		"PartlySeen": {"What was left out is named.", func(f *Facts) {
			f.Seen.NotRead = []listing.NotRead{{Resource: "nodes", Reason: "403"}}
			f.Uncalled = "none"
		}, []string{"Warns ClusterReadable : it is not known which deprecated APIs clients call: none", "Warns ClusterReadable nodes: was not looked at, or not in full: 403"}},
		"NodeNotReady": {"By name.", func(f *Facts) { f.Seen.Nodes[0].Ready = false }, []string{"Blocks NodesReady Node n1: the node is not ready"}},
		"NodeTooOld": {
			"A node is older than its pool says.", func(f *Facts) { f.Seen.Nodes[0].Kubelet = "v1.33.1" },
			[]string{"Blocks VersionSkew Node n1: kubelet v1.33.1 is too old for the API server's v1.37.2"},
		},
		"NodeOfPoolThatGoesFirst": {
			"Its pool is upgraded before it would be too old.",
			func(f *Facts) {
				f.Pools[0].Oldest, f.Seen.Nodes[0].Kubelet = version(t, "v1.33.1"), "v1.33.1"
				f.Steps = planOf(t, f.Wanted)
			}, nil,
		},
		"NodeStrange": {"What cannot be read is said.", func(f *Facts) { f.Seen.Nodes[0].Kubelet = "new" }, []string{`Warns VersionSkew Node n1: the version "new" of its kubelet cannot be read`}},
		"NodeVendor":  {"A vendor's version counts.", func(f *Facts) { f.Seen.Nodes[0].Kubelet = "v1.36.3+k3s1" }, nil},
		"Called": {
			"What is gone on the way blocks, what goes later or went before does not.",
			func(f *Facts) {
				f.Called = []API{
					{"networking.k8s.io", "v1beta1", "ipaddresses", ""}, {"x.example", "v1", "things", "1.37"}, {"y.example", "v1", "things", "1.38"},
					{"z.example", "v1", "things", "1.36"}, {"", "v1", "componentstatuses", ""}, {"w.example", "v1", "things", "soon"},
				}
			},
			[]string{
				"Blocks DeprecatedAPIs networking.k8s.io/v1beta1/ipaddresses: clients call it, and v1.37 does not serve it",
				"Blocks DeprecatedAPIs x.example/v1/things: clients call it, and v1.37 does not serve it",
			},
		},
		"Stored": {
			"A version that is not there any more blocks, one that is only not served warns.",
			func(f *Facts) {
				f.Seen.Definitions = []Definition{{Name: "a.b", Stored: []string{"v1", "v1beta1", "v1alpha1"}, Served: map[string]bool{"v1": true, "v1beta1": false}}}
			},
			[]string{
				"Blocks StoredVersions CustomResourceDefinition a.b: objects may be stored in version v1alpha1, which the definition does not have any more",
				"Warns StoredVersions CustomResourceDefinition a.b: objects may be stored in version v1beta1, which is not served any more",
			},
		},
	}
}

// ofWorkloads are the cases about what runs in the cluster.
func ofWorkloads(t *testing.T) map[string]checked {
	t.Helper()
	hook := Service{"policy", "hook"}
	budget := func(most, least *intstr.IntOrString, allowed, expected int32) Budget {
		return Budget{Namespace: "shop", Name: "web", MaxUnavailable: most, MinAvailable: least, Allowed: allowed, Expected: expected}
	}
	return map[string]checked{
		"BudgetOfNone":    {"By its spec it never can.", func(f *Facts) { f.Seen.Budgets = []Budget{budget(ptr.To(intstr.FromString("0%")), nil, 0, 3)} }, []string{"Blocks DisruptionBudgets PodDisruptionBudget shop/web: maxUnavailable is 0%: its pods can never leave their node"}},
		"BudgetOfAll":     {"By its spec it never can.", func(f *Facts) { f.Seen.Budgets = []Budget{budget(nil, ptr.To(intstr.FromInt32(1)), 0, 1)} }, []string{"Blocks DisruptionBudgets PodDisruptionBudget shop/web: minAvailable is 1 of 1: its pods can never leave their node"}},
		"BudgetRoundedUp": {"67% of two pods are both of them.", func(f *Facts) { f.Seen.Budgets = []Budget{budget(nil, ptr.To(intstr.FromString("67%")), 0, 2)} }, []string{"Blocks DisruptionBudgets PodDisruptionBudget shop/web: minAvailable is 67% of 2: its pods can never leave their node"}},
		"BudgetForNow":    {"That none may go now can pass.", func(f *Facts) { f.Seen.Budgets = []Budget{budget(ptr.To(intstr.FromInt32(1)), nil, 0, 3)} }, nil},
		"BudgetOfNoPods":  {"There is nothing to move.", func(f *Facts) { f.Seen.Budgets = []Budget{budget(ptr.To(intstr.FromInt32(0)), nil, 0, 0)} }, nil},
		"BudgetStrange":   {"What is no percentage says nothing.", func(f *Facts) { f.Seen.Budgets = []Budget{budget(nil, ptr.To(intstr.FromString("-")), 0, 3)} }, nil},
		"BudgetNoNodes": {"No node is replaced.", func(f *Facts) {
			f.Pools = nil
			f.Steps = planOf(t, f.Wanted)
			f.Seen.Budgets = []Budget{budget(ptr.To(intstr.FromInt32(0)), nil, 0, 3)}
		}, nil},
		"Webhook": {
			"Nobody answers.", func(f *Facts) {
				f.Seen.Webhooks = []Webhook{{"ValidatingWebhookConfiguration p", "w", hook, []string{"nodes", "pods"}}}
			},
			[]string{"Blocks AdmissionWebhooks ValidatingWebhookConfiguration p: its webhook w must answer for nodes, pods, and its Service policy/hook has no endpoint that is ready"},
		},
		"WebhookAnswers": {"Somebody does.", func(f *Facts) { f.Seen.Webhooks, f.Seen.Answering[hook] = []Webhook{{Service: hook}}, true }, nil},
		"Converter": {
			"Nobody converts.", func(f *Facts) { f.Seen.Definitions = []Definition{{Name: "a.b", Converter: &hook}} },
			[]string{"Blocks ConversionWebhooks CustomResourceDefinition a.b: its objects are converted by Service policy/hook, which has no endpoint that is ready"},
		},
	}
}

// ofPools are the cases about backups and node pools.
func ofPools(t *testing.T) map[string]checked {
	t.Helper()
	return map[string]checked{
		"NoStore":       {"There is nowhere to back up to.", func(f *Facts) { f.NoStore = "it cannot be used now" }, []string{"Blocks BackupStore BackupStore default: it cannot be used now"}},
		"NoStoreNeeded": {"And it need not be.", func(f *Facts) { f.Backup, f.NoStore = false, "there is none" }, nil},
		"NoBackup":      {"To be known.", func(f *Facts) { f.Backup, f.LastBackup = false, "" }, []string{"Warns BackupStore : no backup of the last day is there, and none is made: a control plane cannot go back to an older version"}},
		"OwnVersion": {"It stays behind.", func(f *Facts) {
			f.Pools = []Pool{{Name: "own", Own: true, Oldest: version(t, "v1.35.4")}}
			f.Steps = planOf(t, f.Wanted)
		}, []string{"Warns OwnVersions NodePool own: the pool has a version of its own and keeps it: v1.35.4"}},
		"OwnTooOld": {"It must not.", func(f *Facts) {
			f.Pools = []Pool{{Name: "own", Own: true, Oldest: version(t, "v1.33.4")}}
			f.Steps = planOf(t, f.Wanted)
		}, []string{"Warns OwnVersions NodePool own: the pool has a version of its own, v1.33.4, which is too old for a version on the way: it is raised as far as it must"}},
		"Manual": {"Somebody has to join others.", func(f *Facts) { f.Pools[0].Manual = true }, []string{"Warns ManualMachines NodePool web: its machines are joined by their user: the upgrade waits until others are joined in their place"}},
	}
}

func TestCheck(t *testing.T) {
	all := ofNodes(t)
	maps.Copy(all, ofWorkloads(t))
	maps.Copy(all, ofPools(t))
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			f := factsOf(t)
			c.change(&f)
			var got []string
			for _, x := range Check(f) {
				got = append(got, fmt.Sprintf("%s %s %s: %s", x.Severity, x.Check, x.Object, x.Message))
				if x.Fix == "" {
					t.Errorf("%s does not say what to do", x.Check)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestBounded: however much there is, what keeps the upgrade from going on is in the status.
func TestBounded(t *testing.T) {
	var all []v1alpha1.UpgradeFinding
	for i := range 3 * maxFindings {
		all = append(all, blocks(v1alpha1.CheckNodesReady, fmt.Sprint("Node ", i), "the node is not ready", "mend it"))
	}
	all = append(all, blocks(v1alpha1.CheckVersionSkew, "Node x", "too old", "wait"), warns(v1alpha1.CheckOwnVersions, "NodePool p", "stays", "leave it out"))
	shown, omitted := Bounded(all, []string{v1alpha1.CheckNodesReady})
	if len(shown) != maxFindings || int(omitted) != len(all)-maxFindings || shown[0].Check != v1alpha1.CheckVersionSkew {
		t.Errorf("%d are shown and %d left out, first %+v", len(shown), omitted, shown[0])
	}
	if got := Blocking(shown, []string{v1alpha1.CheckNodesReady}); len(got) != 1 {
		t.Errorf("%d block", len(got))
	}
	if said := sentence(all[:5]); !strings.HasPrefix(said, "5 findings against the upgrade: NodesReady: Node 0: the node is not ready; ") || !strings.HasSuffix(said, "; and 2 more") {
		t.Error(said)
	}
}

// TestRemovals: the table is that of k8s.io/api, whose version go.mod says.
func TestRemovals(t *testing.T) {
	got := map[string]string{}
	for name, in := range removals() {
		if in.major == 1 && in.minor >= 35 && in.minor <= 37 {
			got[name] = in.String()
		}
	}
	want := map[string]string{
		"storage.k8s.io/v1alpha1/volumeattributesclasses":  "v1.35",
		"certificates.k8s.io/v1alpha1/clustertrustbundles": "v1.37",
		"networking.k8s.io/v1beta1/ipaddresses":            "v1.37",
		"networking.k8s.io/v1beta1/servicecidrs":           "v1.37",
		"storage.k8s.io/v1beta1/volumeattributesclasses":   "v1.37",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
