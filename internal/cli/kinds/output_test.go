package kinds

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/crds"
	"kqueen.io/kqueen/api/v1alpha1"
)

// TestColumns wants tables to have the columns that kubectl shows for the same kind.
func TestColumns(t *testing.T) {
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	type shape struct {
		Name string
		Wide bool
	}
	want := map[string][]shape{}
	for _, definition := range definitions {
		for _, c := range definition.Spec.Versions[0].AdditionalPrinterColumns {
			want[definition.Spec.Names.Kind] = append(want[definition.Spec.Names.Kind], shape{c.Name, c.Priority > 0})
		}
	}
	for _, n := range []*Kind{Cluster, NodePool, Machine, Release, Provisioner, Organization, ControlPlane} {
		var got []shape
		for _, c := range n.columns {
			got = append(got, shape{c.Name, c.Wide})
		}
		if diff := cmp.Diff(want[n.Kind], got); diff != "" {
			t.Errorf("%s: columns (-definition +table):\n%s", n.Kind, diff)
		}
	}
}

// tableClusters are a ready cluster, and one of which nothing is known.
func tableClusters() []client.Object {
	made := metav1.NewTime(time.Now().Add(-10*24*time.Hour - 12*time.Hour))
	ready := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "blue", Namespace: "org-one", CreationTimestamp: made}}
	ready.Spec.ProvisionerRef.Name = "hosted"
	ready.Status.Version, ready.Status.Endpoint = "v1.36.3", "https://blue.example:6443"
	ready.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Ready", Message: "all\nis \x1b[2Jwell"}}
	unknown := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "green-and-long", Namespace: "org-two", CreationTimestamp: made}}
	return []client.Object{ready, unknown}
}

func TestTables(t *testing.T) {
	cases := map[string]struct {
		options OutputOptions
		want    string
	}{
		"table": {want: `
NAME             READY   REASON   VERSION   PROVISIONER   AGE
blue             True    Ready    v1.36.3   hosted        10d
green-and-long   -       -        -         -             10d
`},
		"no headers": {options: OutputOptions{NoHeaders: true}, want: `
blue             True   Ready   v1.36.3   hosted   10d
green-and-long   -      -       -         -        10d
`},
		"wide, without control characters": {options: OutputOptions{Format: "wide", Everywhere: true}, want: `
ORGANIZATION   NAME             READY   REASON   VERSION   PROVISIONER   ENDPOINT                    MESSAGE          AGE
one            blue             True    Ready    v1.36.3   hosted        https://blue.example:6443   all is [2Jwell   10d
two            green-and-long   -       -        -         -             -                           -                10d
`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			out, err := NewOutput(&got, Cluster, c.options)
			if err != nil {
				t.Fatal(err)
			}
			if err := out.Print(tableClusters(), false); err != nil {
				t.Fatal(err)
			}
			want := strings.TrimPrefix(c.want, "\n")
			if diff := cmp.Diff(want, trimLines(got.String())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// trimLines removes spaces at the ends of lines, which no reader sees.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// TestWatchedTable wants the header once, and later rows under the columns of the first.
func TestWatchedTable(t *testing.T) {
	var got bytes.Buffer
	out, err := NewOutput(&got, Cluster, OutputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	objects := tableClusters()
	for _, object := range []client.Object{objects[1], objects[0]} {
		if err := out.Print([]client.Object{object}, true); err != nil {
			t.Fatal(err)
		}
	}
	want := `NAME             READY   REASON   VERSION   PROVISIONER   AGE
green-and-long   -       -        -         -             10d
blue             True    Ready    v1.36.3   hosted        10d
`
	if diff := cmp.Diff(want, trimLines(got.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestProvisionerOf: a cluster that is simulated is told from others in every list.
func TestProvisionerOf(t *testing.T) {
	for want, labels := range map[string]map[string]string{
		"imported":             {"team": "shop"},
		"imported (simulated)": {v1alpha1.LabelSimulated: "true"},
	} {
		c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1alpha1.ClusterSpec{ProvisionerRef: v1alpha1.ProvisionerReference{Name: "imported"}}}
		if got := provisionerOf(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
