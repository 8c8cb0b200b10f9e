package machinecontroller

import (
	"context"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// requestsAtOnce and requestPages bound what is read of a cluster's requests in one look. The API server
	// deletes old ones; a user who floods a cluster keeps only its own machines from joining.
	requestsAtOnce = 500
	requestPages   = 8
	// approvalReason is the reason of the condition on a request.
	approvalReason = "KQueenMachine"
)

// requests returns the cluster's requests to one signer.
func requests(ctx context.Context, c client.Reader, signer string) ([]certificatesv1.CertificateSigningRequest, error) {
	var all []certificatesv1.CertificateSigningRequest
	next := ""
	for range requestPages {
		list := &certificatesv1.CertificateSigningRequestList{}
		err := c.List(ctx, list, client.MatchingFields{"spec.signerName": signer}, client.Limit(requestsAtOnce), client.Continue(next))
		if err != nil {
			return nil, fmt.Errorf("list requests for certificates: %w", err)
		}
		all = append(all, list.Items...)
		if next = list.Continue; next == "" {
			break
		}
	}
	return all, nil
}

// approve decides the machine's requests for certificates, and says whether its node may serve: whether it has
// been granted a serving certificate. Requests are kept for an hour after that.
func (r *reconciler) approve(ctx context.Context, c client.Client, who applicant) (serves bool, err error) {
	signers := []string{certificatesv1.KubeletServingSignerName}
	if who.token != "" {
		signers = append(signers, certificatesv1.KubeAPIServerClientKubeletSignerName)
	}
	for _, signer := range signers {
		all, err := requests(ctx, c, signer)
		if err != nil {
			return false, err
		}
		for i := range all {
			if err := r.decide(ctx, c, &all[i], who); err != nil {
				return false, err
			}
			serves = serves || signer == certificatesv1.KubeletServingSignerName && all[i].Spec.Username == nodeUser+who.name && granted(&all[i])
		}
	}
	return serves, nil
}

func granted(csr *certificatesv1.CertificateSigningRequest) bool {
	return slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesv1.CertificateApproved
	})
}

// decide writes the verdict on one request. What a request asks for cannot change after it was made.
func (r *reconciler) decide(ctx context.Context, c client.Client, csr *certificatesv1.CertificateSigningRequest, who applicant) error {
	verdict, why := judgeRequest(csr, who)
	kind := certificatesv1.CertificateApproved
	switch verdict {
	case ignored, pending:
		return nil
	case denied:
		kind = certificatesv1.CertificateDenied
	case approved:
	}
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: approvalReason, Message: why, LastUpdateTime: metav1.NewTime(r.Now()),
	})
	if err := c.SubResource("approval").Update(ctx, csr); err != nil {
		return fmt.Errorf("decide a request for a certificate: %w", err)
	}
	return nil
}

// dropRequests deletes the requests that a machine has made, by its node or by the token with this id.
func dropRequests(ctx context.Context, c client.Client, name, token string) error {
	for _, signer := range []string{certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName} {
		all, err := requests(ctx, c, signer)
		if err != nil {
			return err
		}
		for i := range all {
			by := all[i].Spec.Username
			if by != nodeUser+name && (token == "" || by != bootstrapapi.BootstrapUserPrefix+token) {
				continue
			}
			if err := client.IgnoreNotFound(c.Delete(ctx, &all[i])); err != nil {
				return fmt.Errorf("delete a request for a certificate: %w", err)
			}
		}
	}
	return nil
}
