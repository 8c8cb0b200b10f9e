package storegate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// selfName is who the gate is to itself. No control plane's user is called that, so it is let in and given nothing.
const selfName = "store gate"

// newSelf makes the certificate by which a gate calls itself. Its key is in the memory of the process alone, and it is good for as
// long as any process runs.
func newSelf(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the key by which the store gate calls itself: %w", err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: selfName},
		NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(100, 0, 0), // a clock that is set does not end it
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the certificate by which the store gate calls itself: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read the certificate by which the store gate calls itself: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// alive returns when the gate works: its locks are free, and at its own address a Status call gets an answer. Any answer will do, that
// the gate does not know the caller included, which is the usual one. The store is not asked: that it does not answer is no
// reason to start the gate again.
func (g *gate) alive(ctx context.Context, address string) {
	g.touchLocks()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(credentials.NewTLS(g.calls)),
		grpc.WithDisableServiceConfig(), grpc.WithNoProxy())
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{})
}

// touchLocks takes each lock of the gate once.
func (g *gate) touchLocks() {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, of := range g.groups {
		of.toCount()
	}
	for _, t := range g.tenants {
		t.count.held()
	}
}
