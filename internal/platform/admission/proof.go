package admission

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/api/v1alpha1"
)

const (
	proofPath = "proof"
	// proofEvery is the time between two tries, and proofWithin the time for all: an API server hears of a configuration
	// by a watch, in milliseconds.
	proofEvery  = 10 * time.Millisecond
	proofWithin = 30 * time.Second
)

// proof is a webhook of the same configuration that the API server calls about one review alone, which nothing stores. It takes
// a configuration as a whole: when it calls this one it calls the others too. Until then it takes everything, or still calls
// the webhook of an earlier life, which does not answer.
type proof struct {
	http.Handler
	review string
	called <-chan struct{}
}

func newProof() *proof {
	called := make(chan struct{})
	once := sync.OnceFunc(func() { close(called) })
	answer := admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		once()
		return admission.Allowed("")
	})
	return &proof{Handler: &admission.Webhook{Handler: answer}, review: "kqueen-" + strings.ToLower(rand.Text()), called: called}
}

// webhook is the proof's, below url. Without an answer a review is what it would be: it decides nothing.
func (p *proof) webhook(url string, authority []byte) admissionv1.ValidatingWebhook {
	return admissionv1.ValidatingWebhook{
		Name:                    proofPath + "." + v1alpha1.GroupVersion.Group,
		AdmissionReviewVersions: []string{"v1"},
		SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
		FailurePolicy:           ptr.To(admissionv1.Ignore),
		TimeoutSeconds:          ptr.To(int32(timeout / time.Second)),
		ClientConfig:            admissionv1.WebhookClientConfig{URL: ptr.To(url + proofPath), CABundle: authority},
		MatchConditions:         []admissionv1.MatchCondition{{Name: "review", Expression: fmt.Sprintf("has(object.metadata.name) && object.metadata.name == %q", p.review)}},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule: admissionv1.Rule{
				APIGroups: []string{authenticationv1.GroupName}, APIVersions: []string{"v1"}, Resources: []string{"selfsubjectreviews"},
				Scope: ptr.To(admissionv1.ClusterScope),
			},
		}},
	}
}

// await waits until the API server calls the proof.
func (p *proof) await(ctx context.Context, c client.Client) error {
	err := wait.PollUntilContextTimeout(ctx, proofEvery, proofWithin, true, func(ctx context.Context) (bool, error) {
		if err := c.Create(ctx, &authenticationv1.SelfSubjectReview{ObjectMeta: metav1.ObjectMeta{Name: p.review}}); err != nil {
			return false, err
		}
		select {
		case <-p.called:
			return true, nil
		default:
			return false, nil
		}
	})
	if err != nil {
		return fmt.Errorf("wait until the API server asks for admission: %w", err)
	}
	return nil
}
