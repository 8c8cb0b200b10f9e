package admission_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/internal/platform/admission"
)

// asked notes its name and answers with its error.
type asked struct {
	name  string
	err   error
	notes *[]string
}

func (a asked) answer(question string) (webhook.Warnings, error) {
	*a.notes = append(*a.notes, question+" "+a.name)
	return webhook.Warnings{a.name}, a.err
}

func (a asked) ValidateCreate(context.Context, *corev1.ConfigMap) (webhook.Warnings, error) {
	return a.answer("create")
}

func (a asked) ValidateUpdate(_ context.Context, _, _ *corev1.ConfigMap) (webhook.Warnings, error) {
	return a.answer("update")
}

func (a asked) ValidateDelete(context.Context, *corev1.ConfigMap) (webhook.Warnings, error) {
	return a.answer("delete")
}

func TestChainAsksInOrderUntilOneRefuses(t *testing.T) {
	refusal := errors.New("refused")
	tests := map[string]struct {
		reason string
		errs   []error
		want   []string
	}{
		"None":   {"nothing is asked, and nothing refused", nil, nil},
		"All":    {"each has a say", []error{nil, nil}, []string{"a", "b"}},
		"First":  {"the second would count what is not let through", []error{refusal, nil}, []string{"a"}},
		"Second": {"the last one can refuse, too", []error{nil, refusal}, []string{"a", "b"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var notes []string
			var all []webhook.Validator[*corev1.ConfigMap]
			var wantErr error
			for i, err := range tc.errs {
				all = append(all, asked{string(rune('a' + i)), err, &notes})
				wantErr = errors.Join(wantErr, err)
			}
			chain := admission.Chain(all...)
			for question, ask := range map[string]func() (webhook.Warnings, error){
				"create": func() (webhook.Warnings, error) { return chain.ValidateCreate(t.Context(), nil) },
				"update": func() (webhook.Warnings, error) { return chain.ValidateUpdate(t.Context(), nil, nil) },
				"delete": func() (webhook.Warnings, error) { return chain.ValidateDelete(t.Context(), nil) },
			} {
				notes = nil
				warnings, err := ask()
				if (err == nil) != (wantErr == nil) || err != nil && !errors.Is(wantErr, err) {
					t.Errorf("%s: got %v, want %v", question, err, wantErr)
				}
				var want []string
				for _, name := range tc.want {
					want = append(want, question+" "+name)
				}
				if diff := cmp.Diff(want, notes); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", question, tc.reason, diff)
				}
				if diff := cmp.Diff(webhook.Warnings(tc.want), warnings); diff != "" {
					t.Errorf("%s: warnings (-want +got):\n%s", question, diff)
				}
			}
		})
	}
}
