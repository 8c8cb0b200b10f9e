package kube

import (
	"context"
	"crypto"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/certificate/csr"
)

// RequestCertificate asks a cluster to sign a request (PEM), which a key has signed, for a usage, and waits until it has.
func RequestCertificate(
	ctx context.Context, config *rest.Config, request []byte, key crypto.Signer, signer string, usage certificatesv1.KeyUsage,
) ([]byte, error) {
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	usages := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, usage}
	name, uid, err := csr.RequestCertificateWithContext(ctx, c, request, "", signer, nil, usages, key)
	if err != nil {
		return nil, fmt.Errorf("request a certificate of %s: %w", signer, err)
	}
	signed, err := csr.WaitForCertificate(ctx, c, name, uid)
	if err != nil {
		return nil, fmt.Errorf("wait for the certificate of request %s: %w", name, err)
	}
	return signed, nil
}
