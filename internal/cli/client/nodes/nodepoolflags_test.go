package nodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/platform/kube"
)

func TestParseLabels(t *testing.T) {
	cases := map[string]struct {
		words   []string
		want    map[string]string
		problem string
	}{
		"none":            {},
		"some":            {words: []string{"team=blue", "example.com/a.b=", "x=A_1"}, want: map[string]string{"team": "blue", "example.com/a.b": "", "x": "A_1"}},
		"no value":        {words: []string{"team"}, problem: `"team" has to be KEY=VALUE`},
		"twice":           {words: []string{"a=1", "a=1"}, problem: `"a" is there twice`},
		"no key":          {words: []string{"=x"}, problem: `"=x": the key "" is not valid: name part must be non-empty; name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`},
		"more in a value": {words: []string{"a=b=c"}, problem: `"a=b=c": the value "b=c" is not valid: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseLabels(c.words)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			wantProblem(t, c.problem, err)
		})
	}
}

func TestParseTaints(t *testing.T) {
	cases := map[string]struct {
		words   []string
		want    []corev1.Taint
		problem string
	}{
		"none": {},
		"some": {
			words: []string{"gpu=yes:NoSchedule", "gpu:NoExecute", "example.com/a=:PreferNoSchedule"},
			want: []corev1.Taint{
				{Key: "gpu", Value: "yes", Effect: "NoSchedule"}, {Key: "gpu", Effect: "NoExecute"}, {Key: "example.com/a", Effect: "PreferNoSchedule"},
			},
		},
		"no effect":      {words: []string{"gpu=yes"}, problem: `"gpu=yes" has to be KEY=VALUE:EFFECT or KEY:EFFECT`},
		"empty effect":   {words: []string{"gpu:"}, problem: `"gpu:": the effect "" has to be NoSchedule, PreferNoSchedule or NoExecute`},
		"unknown effect": {words: []string{"gpu:noschedule"}, problem: `"gpu:noschedule": the effect "noschedule" has to be NoSchedule, PreferNoSchedule or NoExecute`},
		"two effects":    {words: []string{"a:NoExecute:NoSchedule"}, problem: `"a:NoExecute:NoSchedule": the effect "NoExecute:NoSchedule" has to be NoSchedule, PreferNoSchedule or NoExecute`},
		"twice":          {words: []string{"a=1:NoExecute", "a=2:NoExecute"}, problem: `"a=2:NoExecute": there are two of key a and effect NoExecute`},
		"bad key":        {words: []string{"a/b/c:NoExecute"}, problem: `"a/b/c:NoExecute": the key "a/b/c" is not valid: a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseTaints(c.words)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			wantProblem(t, c.problem, err)
		})
	}
}

// wantProblem wants an error of that text, or none for no text.
func wantProblem(t *testing.T, want string, err error) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestShare(t *testing.T) {
	cases := map[string]struct {
		want intstr.IntOrString
		bad  bool
	}{
		"0": {want: intstr.FromInt32(0)}, "12": {want: intstr.FromInt32(12)}, "0%": {want: intstr.FromString("0%")},
		"100%": {want: intstr.FromString("100%")}, "040%": {want: intstr.FromString("40%")}, "007": {want: intstr.FromInt32(7)},
		"101%": {bad: true}, "-1": {bad: true}, "+1": {bad: true}, "": {bad: true}, "%": {bad: true}, "1.5%": {bad: true},
		"4294967296": {bad: true}, "40 %": {bad: true}, "a": {bad: true},
	}
	for word, c := range cases {
		t.Run(word, func(t *testing.T) {
			var got intstr.IntOrString
			err := share{&got}.Set(word)
			if (err != nil) != c.bad {
				t.Errorf("error %v, want one: %t", err, c.bad)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScaleTarget(t *testing.T) {
	cases := map[string]struct {
		present, wanted int32
		sized           bool
		removed         int
		want            int32
		code            int
	}{
		"up":                          {present: 1, wanted: 3, sized: true, want: 3},
		"down to none":                {present: 3, wanted: 0, sized: true, want: 0},
		"named ones":                  {present: 3, removed: 2, want: 1},
		"named ones and others":       {present: 5, wanted: 1, sized: true, removed: 2, want: 1},
		"named ones and no others":    {present: 5, wanted: 3, sized: true, removed: 2, want: 3},
		"one would stay":              {present: 5, wanted: 4, sized: true, removed: 2, code: exit.Usage},
		"more than there are to be":   {present: 1, removed: 2, code: exit.Failed},
		"more, with a number as well": {present: 1, wanted: 0, sized: true, removed: 2, code: exit.Failed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pool := kinds.NewNodePool()
			pool.Spec.Replicas = c.present
			got, err := scaleTarget(pool, c.wanted, c.sized, c.removed)
			code := 0
			if err != nil {
				code = exit.CodeOf(err)
			}
			if got != c.want || code != c.code {
				t.Errorf("got %d with code %d (%v), want %d with code %d", got, code, err, c.want, c.code)
			}
		})
	}
}

func TestPodsLeft(t *testing.T) {
	ending := func(name string) kube.Blocked {
		return kube.Blocked{Namespace: "a", Name: name, Why: "is ending", Leaving: true}
	}
	cases := map[string]struct {
		left []kube.Blocked
		want string
	}{
		"held back first":  {[]kube.Blocked{ending("x"), {Namespace: "a", Name: "y", Why: "may not leave\x1b[2J"}}, "2 left: a/y may not leave[2J; a/x is ending"},
		"not all of a lot": {[]kube.Blocked{ending("1"), ending("2"), ending("3"), ending("4"), ending("5"), ending("6"), ending("7")}, "7 left: a/1 is ending; a/2 is ending; a/3 is ending; a/4 is ending; a/5 is ending; and 2 more"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, podsLeft(c.left)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnowned: a drain loses no pod that nothing makes anew, and is not held up by those that are lost in no case.
func TestUnowned(t *testing.T) {
	made := func(name string, change func(*corev1.Pod)) corev1.Pod {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
		change(&pod)
		return pod
	}
	owner := func(controller *bool) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "set", Controller: controller}}
		}
	}
	pods := []corev1.Pod{
		made("bare", func(*corev1.Pod) {}),
		made("owned", owner(ptr.To(true))),
		made("not-controlled", owner(nil)),
		made("mirror", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }),
		made("succeeded", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		made("failed", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }),
		made("leaving", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }),
		made("odd\x1b[2J", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }),
	}
	if diff := cmp.Diff([]string{"a/bare", "a/not-controlled", "a/odd[2J"}, unowned(pods)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPeriod: a duration is kept in whole seconds, and what cannot be is refused.
func TestPeriod(t *testing.T) {
	const wrong = " has to be a duration of whole seconds, such as 90s or 10m"
	cases := map[string]struct {
		word    string
		want    int32
		shown   string
		problem string
	}{
		"minutes":     {"10m", 600, "10m0s", ""},
		"for ever":    {"0", 0, "0s", ""},
		"hours":       {"1h30m", 5400, "1h30m0s", ""},
		"part":        {"1500ms", 7, "7s", `"1500ms"` + wrong},
		"below 0":     {"-5s", 7, "7s", `"-5s"` + wrong},
		"no unit":     {"10", 7, "7s", `"10"` + wrong},
		"no duration": {"soon", 7, "7s", `"soon"` + wrong},
		"too long":    {"1000000h", 7, "7s", `"1000000h"` + wrong},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			seconds := int32(7)
			flag := period{&seconds}
			wantProblem(t, c.problem, flag.Set(c.word))
			if seconds != c.want || flag.String() != c.shown {
				t.Errorf("got %d, shown as %s", seconds, flag)
			}
		})
	}
}
