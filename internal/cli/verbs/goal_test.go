package verbs

import (
	"bytes"
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// TestAim: goals are spelled as kubectl spells them, and what can never come is refused.
func TestAim(t *testing.T) {
	known := []string{"Ready", "Accepted"}
	for text, want := range map[string]string{
		"condition=Ready":                    "to be Ready",
		"condition=ready=true":               "to be Ready",
		"Ready":                              "to be Ready",
		"Accepted=False":                     "for Accepted=False",
		"condition=Accepted=Unknown":         "for Accepted=Unknown",
		"delete":                             "to be deleted",
		"deleted":                            "to be deleted",
		"create":                             "to be created",
		"jsonpath={.status.version}":         "to have {.status.version}",
		"jsonpath={.status.version}=v1.36.3": "to have {.status.version}=v1.36.3",
		"jsonpath=.status.version=a=b":       "to have .status.version=a=b",
		`jsonpath={.status.steps[?(@.name=="A")]}=x`: `to have {.status.steps[?(@.name=="A")]}=x`,
	} {
		w := Waiting{Kind: kinds.Cluster}
		if err := w.aim(text, known); err != nil || w.wanted() != want {
			t.Errorf("%s: %q (%v), want %q", text, w.wanted(), err, want)
		}
	}
	for text, want := range map[string]string{
		"condition=Redy":       `"condition=Redy" is neither a condition of a cluster (Ready, Accepted) nor delete, create or jsonpath=PATH=VALUE`,
		"":                     `"" is neither a condition of a cluster (Ready, Accepted) nor delete, create or jsonpath=PATH=VALUE`,
		"condition=Ready=Soon": `"condition=Ready=Soon": the status "Soon" has to be True, False or Unknown`,
		"jsonpath=":            `"" has to be PATH=VALUE, such as jsonpath='{.status.version}'=v1.36.3`,
		"jsonpath={.a":         `"{.a" has to be PATH=VALUE, such as jsonpath='{.status.version}'=v1.36.3`,
		"jsonpath={.a}=":       `"{.a}" has to be PATH=VALUE, such as jsonpath='{.status.version}'=v1.36.3`,
	} {
		w := Waiting{Kind: kinds.Cluster}
		if err := w.aim(text, known); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestFieldGoals(t *testing.T) {
	pool := &v1alpha1.NodePool{}
	pool.Name, pool.Spec.Replicas, pool.Status.ReadyReplicas = "p", 3, 2
	pool.Status.Conditions = []metav1.Condition{{Type: "Stalled", Status: "True"}, {Type: "Ready", Status: "False", Reason: "Scaling"}}
	for text, want := range map[string]bool{
		"{.status.readyReplicas}=2": true,
		"{.status.readyReplicas}=3": false,
		"{.spec.replicas}":          true,
		"{.spec.version}":           false,
		".metadata.name=p":          true,
		`{.status.conditions[?(@.type=="Ready")].reason}=Scaling`: true,
		"{.status.nothing}=1": false,
	} {
		w := Waiting{Kind: kinds.NodePool, Name: "p"}
		if err := w.aim("jsonpath="+text, nil); err != nil {
			t.Fatal(err)
		}
		if met, err := w.met(pool); met != want || err != nil {
			t.Errorf("%s: %t (%v), want %t", text, met, err, want)
		}
	}
	w := Waiting{Kind: kinds.NodePool, Name: "p", Goal: "Ready", Status: metav1.ConditionFalse}
	if met, err := w.met(pool); !met || err != nil {
		t.Errorf("Ready=False: %t (%v)", met, err)
	}
	w = Waiting{Kind: kinds.NodePool, Name: "p", Goal: goalCreated}
	if met, err := w.met(nil); met || err != nil {
		t.Errorf("create without one: %t (%v)", met, err)
	}
	if met, err := w.met(pool); !met || err != nil {
		t.Errorf("create: %t (%v)", met, err)
	}
}

// TestGoesOn: a user who stops waiting is told what goes on, if this command began it.
func TestGoesOn(t *testing.T) {
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	for want, c := range map[string]struct {
		ctx context.Context
		w   Waiting
	}{
		"": {interrupted, Waiting{Goal: "Ready"}},
		"the creation of cluster demo goes on; watch it with: kqueen cluster wait demo\n":              {interrupted, Waiting{Goal: "Ready", Since: time.Now()}},
		"the scaling of cluster demo goes on; watch it with: kqueen cluster wait demo\n":               {interrupted, Waiting{Goal: "Ready", Since: time.Now(), Work: "scaling"}},
		"the deletion of cluster demo goes on; watch it with: kqueen cluster wait demo --for=delete\n": {interrupted, Waiting{Goal: goalDeleted, Since: time.Now()}},
	} {
		var said bytes.Buffer
		c.w.Kind, c.w.Name = kinds.Cluster, "demo"
		c.w.sayGoesOn(c.ctx, connection.New(nil, nil, &said))
		if said.String() != want {
			t.Errorf("said %q, want %q", said.String(), want)
		}
	}
}
