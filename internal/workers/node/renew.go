package node

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate"
	"k8s.io/client-go/util/keyutil"

	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/workers/machine"
)

const (
	// renewInterval is the time between two tries to follow other authorities.
	renewInterval = time.Second
	// renewTimeout bounds one try. KQueen looks every few seconds at what nodes ask for.
	renewTimeout = 30 * time.Second
)

// pairs are the certificates of a kubelet, by the names of their files, and with what each is asked for.
var pairs = []pair{
	{"kubelet-server", certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth},
	{"kubelet-client", certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.UsageClientAuth},
}

type pair struct {
	name, signer string
	usage        certificatesv1.KeyUsage
}

// Renewal has a node follow other authorities of its cluster: it gets certificates of the first of them in the name of the node, which still
// has those of before, and the kubeconfig of the node trusts them all. A kubelet reads either when it is started again.
type Renewal struct {
	// Authorities is the file with them.
	Authorities string
	// Kubeconfig and Certs are the kubelet's own.
	Kubeconfig, Certs string
	Log               *slog.Logger
}

// Run tries until the node can follow, says so, and waits for its end: who runs it starts the kubelet again.
func (r Renewal) Run(ctx context.Context) error {
	again := time.NewTicker(renewInterval)
	defer again.Stop()
	told := ""
	for {
		err := r.follow(ctx)
		if err == nil {
			break
		}
		if err.Error() != told {
			told = err.Error()
			r.Log.Info("the node does not follow the authorities of its cluster yet; the next retry is in "+renewInterval.String(), "error", err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("follow the authorities of the cluster: %w", context.Cause(ctx))
		}
	}
	r.Log.Info("the node has certificates of the authority of its cluster")
	<-ctx.Done()
	return nil
}

// follow takes all steps. Each leaves what is good for the kubelet as it is, and for the one that is started next.
func (r Renewal) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	authorities, err := os.ReadFile(r.Authorities)
	if err != nil {
		return err
	}
	all, err := certutil.ParseCertsPEM(authorities)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.Authorities, err)
	}
	if err := r.trust(authorities); err != nil {
		return err
	}
	for _, p := range pairs {
		if err := r.renew(ctx, p, all[0]); err != nil {
			return fmt.Errorf("renew %s: %w", p.name, err)
		}
	}
	return atomicfile.Write(filepath.Join(r.Certs, fileTrusts), []byte(machine.TrustHash(authorities)+"\n"), 0o600)
}

// trust has the kubeconfig of the node name the authorities.
func (r Renewal) trust(authorities []byte) error {
	config, err := clientcmd.LoadFromFile(r.Kubeconfig)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the kubelet has no identity yet")
	}
	if err != nil {
		return fmt.Errorf("read the kubeconfig of the node: %w", err)
	}
	same := true
	for _, cluster := range config.Clusters {
		same = same && bytes.Equal(cluster.CertificateAuthorityData, authorities)
		cluster.CertificateAuthorityData, cluster.CertificateAuthority = authorities, ""
	}
	if same {
		return nil
	}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("write the kubeconfig of the node: %w", err)
	}
	return atomicfile.Write(r.Kubeconfig, data, 0o600)
}

// renew asks for a certificate like the one that there is, where another authority has signed that.
func (r Renewal) renew(ctx context.Context, p pair, signer *x509.Certificate) error {
	store, err := certificate.NewFileStore(p.name, r.Certs, r.Certs, "", "")
	if err != nil {
		return err
	}
	have, err := store.Current()
	if err != nil {
		return err
	}
	if have.Leaf.CheckSignatureFrom(signer) == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("create a key: %w", err)
	}
	signed, err := r.request(ctx, p, have.Leaf, key)
	if err != nil {
		return err
	}
	got, err := certutil.ParseCertsPEM(signed)
	if err != nil {
		return err
	}
	if err := got[0].CheckSignatureFrom(signer); err != nil {
		return fmt.Errorf("the cluster still signs by another authority: %w", err)
	}
	encoded, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	_, err = store.Update(signed, encoded)
	return err
}

// request asks the cluster to sign what have says for another key.
func (r Renewal) request(ctx context.Context, p pair, have *x509.Certificate, key crypto.Signer) ([]byte, error) {
	config, err := kube.Config(kube.Target{Kubeconfig: r.Kubeconfig, Version: "machine"})
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: have.Subject, DNSNames: have.DNSNames, IPAddresses: have.IPAddresses,
	}, key)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	request := pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateRequestBlockType, Bytes: der})
	return kube.RequestCertificate(ctx, config, request, key, p.signer, p.usage)
}
