package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	for _, n := range []*noun{clusterNoun, nodePoolNoun, machineNoun, releaseNoun, provisionerNoun, organizationNoun, controlPlaneNoun} {
		var got []shape
		for _, c := range n.columns {
			got = append(got, shape{c.name, c.wide})
		}
		if diff := cmp.Diff(want[n.kind], got); diff != "" {
			t.Errorf("%s: columns (-definition +table):\n%s", n.kind, diff)
		}
	}
}

// tableClusters are a ready cluster, and one of which nothing is known.
func tableClusters() []client.Object {
	made := metav1.NewTime(time.Now().Add(-10*24*time.Hour - 12*time.Hour))
	ready := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "blue", Namespace: "org-one", CreationTimestamp: made}}
	ready.Spec.ProvisionerRef.Name = "hosted"
	ready.Status.Version, ready.Status.Endpoint = "v1.36.3", "https://blue.example:6443"
	ready.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Message: "all\nis \x1b[2Jwell"}}
	unknown := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "green-and-long", Namespace: "org-two", CreationTimestamp: made}}
	return []client.Object{ready, unknown}
}

func TestTables(t *testing.T) {
	cases := map[string]struct {
		options outputOptions
		want    string
	}{
		"table": {want: `
NAME             READY   VERSION   PROVISIONER   AGE
blue             True    v1.36.3   hosted        10d
green-and-long   -       -         -             10d
`},
		"no headers": {options: outputOptions{noHeaders: true}, want: `
blue             True   v1.36.3   hosted   10d
green-and-long   -      -         -        10d
`},
		"wide, without control characters": {options: outputOptions{format: "wide", everywhere: true}, want: `
ORGANIZATION   NAME             READY   VERSION   PROVISIONER   ENDPOINT                    MESSAGE          AGE
one            blue             True    v1.36.3   hosted        https://blue.example:6443   all is [2Jwell   10d
two            green-and-long   -       -         -             -                           -                10d
`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			out, err := newOutput(&got, clusterNoun, c.options)
			if err != nil {
				t.Fatal(err)
			}
			if err := out.print(tableClusters(), false); err != nil {
				t.Fatal(err)
			}
			want := strings.TrimPrefix(c.want, "\n")
			if diff := cmp.Diff(want, trimLines(got.String())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// trimLines removes spaces at the ends of lines, which nobody sees.
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
	out, err := newOutput(&got, clusterNoun, outputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	objects := tableClusters()
	for _, object := range []client.Object{objects[1], objects[0]} {
		if err := out.print([]client.Object{object}, true); err != nil {
			t.Fatal(err)
		}
	}
	want := `NAME             READY   VERSION   PROVISIONER   AGE
green-and-long   -       -         -             10d
blue             True    v1.36.3   hosted        10d
`
	if diff := cmp.Diff(want, trimLines(got.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNewestReady(t *testing.T) {
	release := func(name string, status metav1.ConditionStatus) client.Object {
		r := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: name}}
		r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status}}
		return r
	}
	going := release("v1.36.11", metav1.ConditionTrue)
	going.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	cases := map[string]struct {
		releases []client.Object
		want     string
	}{
		"none":                   {nil, ""},
		"none is ready":          {[]client.Object{release("v1.36.3", metav1.ConditionFalse), &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: "v1.37.0"}}}, ""},
		"compared as versions":   {[]client.Object{release("v1.36.9", metav1.ConditionTrue), release("v1.36.10", metav1.ConditionTrue), release("v1.4.0", metav1.ConditionTrue)}, "v1.36.10"},
		"not one that is going":  {[]client.Object{going, release("v1.36.3", metav1.ConditionTrue)}, "v1.36.3"},
		"not what is no version": {[]client.Object{release("vx", metav1.ConditionTrue)}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := newestReady(c.releases); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestExitCode(t *testing.T) {
	clusters := schema.GroupResource{Group: "kqueen.io", Resource: "clusters"}
	cases := map[string]struct {
		err  error
		want int
	}{
		"any":          {errors.New("x"), codeError},
		"coded":        {fmt.Errorf("do: %w", fail(codeUsage, "x")), codeUsage},
		"not found":    {fmt.Errorf("get: %w", apierrors.NewNotFound(clusters, "demo")), codeNotFound},
		"forbidden":    {fmt.Errorf("get: %w", apierrors.NewForbidden(clusters, "demo", nil)), codeDenied},
		"unauthorized": {fmt.Errorf("get: %w", apierrors.NewUnauthorized("x")), codeDenied},
		"deadline":     {fmt.Errorf("get: %w", context.DeadlineExceeded), codeTimedOut},
		"refused":      {fmt.Errorf("get: %w", syscall.ECONNREFUSED), codeError},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := exitCode(c.err); got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
		})
	}
}

func TestConfirm(t *testing.T) {
	cases := map[string]struct {
		answer string
		want   bool
	}{
		"yes": {"y\n", true}, "in full": {" YES \n", true}, "no": {"n\n", false}, "nothing": {"\n", false},
		"another word": {"yellow\n", false}, "end of input": {"", false}, "yes without a line end": {"y", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			got, err := confirm(t.Context(), strings.NewReader(c.answer), &out, deleteQuestion(clusterNoun, []string{"a", "b", "c"}, "data"))
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("answer %q means %t, want %t", c.answer, got, c.want)
			}
			if want := "Delete clusters a, b and c and all their data? [y/N] "; out.String() != want {
				t.Errorf("asked %q, want %q", out.String(), want)
			}
		})
	}
}

// TestConfirmInterrupted wants the question to end although nobody answers.
func TestConfirmInterrupted(t *testing.T) {
	in, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if yes, err := confirm(ctx, in, io.Discard, "Delete?"); yes || !errors.Is(err, context.Canceled) {
		t.Errorf("got %t, %v, want no and that it was interrupted", yes, err)
	}
}

func TestArguments(t *testing.T) {
	cases := map[string]struct{ args, want []string }{
		"none":            {nil, []string{}},
		"plain":           {[]string{"/usr/bin/kqueen", "cluster", "list"}, []string{"cluster", "list"}},
		"under etcd":      {[]string{"/var/lib/kqueen/bin/etcd", "--name", "a"}, []string{"etcd", "--name", "a"}},
		"only looks like": {[]string{"/opt/etcd/kqueen", "version"}, []string{"version"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, arguments(c.args)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestShellQuote(t *testing.T) {
	for word, want := range map[string]string{
		"/var/lib/kqueen": "/var/lib/kqueen", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "ä": "'ä'",
	} {
		if got := shellQuote(word); got != want {
			t.Errorf("%q becomes %s, want %s", word, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"plain ✓": "plain ✓", "a\x1b[31mb\x07": "a[31mb", "a\tb\nc": "a b\nc", "\u202edrow": "drow", "\u009b2J": "2J",
	} {
		if got := clean(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func FuzzDecodeObjects(f *testing.F) {
	f.Add([]byte("apiVersion: kqueen.io/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nspec: {version: v1.36.3}\n---\n# none\n"))
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: [{apiVersion: kqueen.io/v1alpha1, kind: Cluster}]\n"))
	f.Add([]byte("apiVersion: kqueen.io/v1alpha1\nkind: NodePool\nspec: {clusterName: a, health: {maxUnhealthy: 40%}}\nstatus: {replicas: 1}\n"))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, n := range []*noun{clusterNoun, nodePoolNoun} {
			objects, err := decodeObjects(n, "f", bytes.NewReader(data))
			if err == nil && len(objects) == 0 {
				t.Error("neither objects nor an error")
			}
			for _, object := range objects {
				if object == nil || object.GetUID() != "" {
					t.Errorf("%v cannot be made", object)
				}
			}
		}
	})
}
