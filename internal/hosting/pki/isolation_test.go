package pki

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"testing"
	"time"
)

// neighbours are three control planes on one store.
type neighbours struct {
	want    map[string]Set
	bundles map[string]Bundle
}

const (
	planeA, planeB = "a", "b"
	// planeAgain is a control plane made again under A's uid.
	planeAgain = "again"
	etcd       = "store"
)

func newNeighbours(t *testing.T) neighbours {
	n := neighbours{want: map[string]Set{}, bundles: map[string]Bundle{}}
	now := time.Now()
	n.want[etcd] = storeSet(t)
	n.bundles[etcd], _ = issue(t, nil, n.want[etcd], nil, now)
	for name, uid := range map[string]string{planeA: "uid-a", planeB: "uid-b", planeAgain: "uid-a"} {
		n.want[name] = controlPlaneSet(t, params(uid))
		n.bundles[name], _ = issue(t, nil, n.want[name], n.bundles[etcd].Signer("ca", "store-ca"), now)
	}
	return n
}

func pool(t *testing.T, b Bundle, authority string) *x509.CertPool {
	t.Helper()
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(b[authority+".crt"]) {
		t.Fatalf("no certificate in %s.crt", authority)
	}
	return p
}

func pair(t *testing.T, b Bundle, leaf string) tls.Certificate {
	t.Helper()
	p, err := tls.X509KeyPair(b[leaf+".crt"], b[leaf+".key"])
	if err != nil {
		t.Fatalf("%s: %v", leaf, err)
	}
	return p
}

// handshake runs one over loopback. It returns what each side says, and the user that the server sees.
func handshake(t *testing.T, server, client *tls.Config) (serverErr, clientErr error, user string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	done := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			done <- err
			return
		}
		defer conn.Close()
		front := tls.Server(conn, server)
		err = front.HandshakeContext(ctx)
		if peers := front.ConnectionState().PeerCertificates; len(peers) > 0 && err == nil {
			user = peers[0].Subject.CommonName
		}
		done <- err
	}()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	back := tls.Client(conn, client)
	clientErr = back.HandshakeContext(ctx)
	if clientErr != nil {
		conn.Close()
	}
	serverErr = <-done
	conn.Close()
	return serverErr, clientErr, user
}

// end is one end of a connection: whose bundle, which leaf, and which authority (of its own bundle) signs who may come.
type end struct{ of, leaf, trusts string }

func anyError(error) bool { return true }

func unknownAuthority(err error) bool {
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &unknown)
}

func wrongUsage(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage
}

var handshakes = map[string]struct {
	reason         string
	server, client end
	// clientTrusts is the bundle whose authority (client.trusts) the client trusts, name what it expects there.
	clientTrusts string
	name         string
	// serverSays and clientSays check the refusal. nil means that this side must be content.
	serverSays, clientSays func(error) bool
	user                   string
}{
	"Own": {
		reason: "the control: a cluster's own user gets in", server: end{planeA, "apiserver", "ca"}, client: end{planeA, "admin", "ca"},
		clientTrusts: planeA, name: "kubernetes.default.svc", user: "kubernetes-admin",
	},
	"OwnByAddress": {
		reason: "as nodes dial", server: end{planeA, "apiserver", "ca"}, client: end{planeA, "controller-manager", "ca"},
		clientTrusts: planeA, name: "10.96.0.1", user: "system:kube-controller-manager",
	},
	"ForeignUser": {
		reason: "B's admin is no user in A", server: end{planeA, "apiserver", "ca"}, client: end{planeB, "admin", "ca"},
		clientTrusts: planeA, name: "localhost", serverSays: unknownAuthority,
	},
	"ForeignServer": {
		reason: "A's user does not talk to B", server: end{planeB, "apiserver", "ca"}, client: end{planeA, "admin", "ca"},
		clientTrusts: planeA, name: "localhost", serverSays: anyError, clientSays: unknownAuthority,
	},
	"SameNameOtherKey": {
		reason: "a cluster made again under the same uid knows no user of the old one", server: end{planeAgain, "apiserver", "ca"},
		client: end{planeA, "admin", "ca"}, clientTrusts: planeAgain, name: "localhost", serverSays: unknownAuthority,
	},
	"FrontProxyOwn": {
		reason: "the control: A's front proxy", server: end{planeA, "apiserver", "front-proxy-ca"}, client: end{planeA, "front-proxy-client", "ca"},
		clientTrusts: planeA, name: "localhost", user: "front-proxy-client",
	},
	"FrontProxyForeign": {
		reason: "B's front proxy speaks for no user in A", server: end{planeA, "apiserver", "front-proxy-ca"}, client: end{planeB, "front-proxy-client", "ca"},
		clientTrusts: planeA, name: "localhost", serverSays: unknownAuthority,
	},
	"UserAsFrontProxy": {
		reason: "a user of A cannot pose as its front proxy", server: end{planeA, "apiserver", "front-proxy-ca"}, client: end{planeA, "admin", "ca"},
		clientTrusts: planeA, name: "localhost", serverSays: unknownAuthority,
	},
	"ServerAsUser": {
		reason: "the API server's certificate is no user", server: end{planeA, "apiserver", "ca"}, client: end{planeA, "apiserver", "ca"},
		clientTrusts: planeA, name: "localhost", serverSays: wrongUsage,
	},
	"StoreTenantA": {
		reason: "the store sees A's own user", server: end{etcd, "server", "ca"}, client: end{planeA, "etcd-client", "ca"},
		clientTrusts: etcd, name: "etcd-0.example.org", user: "kq-uid-a",
	},
	"StoreTenantB": {
		reason: "and B's own", server: end{etcd, "server", "ca"}, client: end{planeB, "etcd-client", "ca"},
		clientTrusts: etcd, name: "127.0.0.1", user: "kq-uid-b",
	},
	"StoreAdministrator": {
		reason: "the control: the administrator", server: end{etcd, "server", "ca"}, client: end{etcd, "root", "ca"},
		clientTrusts: etcd, name: "192.0.2.20", user: "root",
	},
	"StoreOwnServer": {
		reason: "etcd's gateway dials its own port", server: end{etcd, "server", "ca"}, client: end{etcd, "server", "ca"},
		clientTrusts: etcd, name: "localhost", user: "etcd-server",
	},
	"StorePeers": {
		reason: "the control: members among themselves", server: end{etcd, "peer", "peer-ca"}, client: end{etcd, "peer", "peer-ca"},
		clientTrusts: etcd, name: "192.0.2.20", user: "etcd-peer",
	},
	"StoreTenantAsPeer": {
		reason: "a tenant cannot write to the Raft log", server: end{etcd, "peer", "peer-ca"}, client: end{planeA, "etcd-client", "peer-ca"},
		clientTrusts: etcd, name: "localhost", serverSays: unknownAuthority,
	},
	"ClusterUserAtStore": {
		reason: "A's admin is no user in the store", server: end{etcd, "server", "ca"}, client: end{planeA, "admin", "ca"},
		clientTrusts: etcd, name: "localhost", serverSays: unknownAuthority,
	},
	"StoreUserAtCluster": {
		reason: "the store's users are no users in A", server: end{planeA, "apiserver", "ca"}, client: end{etcd, "root", "ca"},
		clientTrusts: planeA, name: "localhost", serverSays: unknownAuthority,
	},
}

func TestHandshakesAcrossControlPlanes(t *testing.T) {
	n := newNeighbours(t)
	for name, tc := range handshakes {
		t.Run(name, func(t *testing.T) {
			server := &tls.Config{
				Certificates: []tls.Certificate{pair(t, n.bundles[tc.server.of], tc.server.leaf)},
				ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: pool(t, n.bundles[tc.server.of], tc.server.trusts),
			}
			own := pair(t, n.bundles[tc.client.of], tc.client.leaf)
			client := &tls.Config{
				RootCAs: pool(t, n.bundles[tc.clientTrusts], tc.client.trusts), ServerName: tc.name,
				// Always sent, also where the server did not ask for this authority: an attacker is not polite.
				GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil },
			}
			serverErr, clientErr, user := handshake(t, server, client)
			judge := func(side string, err error, says func(error) bool) {
				if says == nil && err != nil || says != nil && (err == nil || !says(err)) {
					t.Errorf("%s: %s side: %v", tc.reason, side, err)
				}
			}
			judge("server", serverErr, tc.serverSays)
			if tc.serverSays == nil || tc.clientSays != nil { // in TLS 1.3 a client learns of its refusal after its handshake only
				judge("client", clientErr, tc.clientSays)
			}
			if user != tc.user {
				t.Errorf("%s: want user %q, got %q", tc.reason, tc.user, user)
			}
		})
	}
}

// TestNoAuthorityIsTrustedElsewhere verifies every certificate against every authority of every bundle, whatever it is used for.
func TestNoAuthorityIsTrustedElsewhere(t *testing.T) {
	n := newNeighbours(t)
	verified := 0
	for holder, set := range n.want {
		for _, leaf := range set.Leaves {
			home := holder
			authority := leaf.Authority
			if authority == "store-ca" {
				home, authority = etcd, "ca"
			}
			for other, otherSet := range n.want {
				for _, ca := range otherSet.Authorities {
					_, err := certificate(t, n.bundles[holder], leaf.Name).Verify(x509.VerifyOptions{
						Roots: pool(t, n.bundles[other], ca.Name), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
					})
					if trusted, want := err == nil, other == home && ca.Name == authority; trusted != want {
						t.Errorf("%s of %s, verified by %s of %s: want trust %t, got %v", leaf.Name, holder, ca.Name, other, want, err)
					}
					verified++
				}
			}
		}
	}
	if want := (3*7 + 3) * 8; verified != want {
		t.Errorf("verified %d pairs, want %d", verified, want)
	}
}

func TestTokensOfAnotherClusterMeanNothing(t *testing.T) {
	n := newNeighbours(t)
	digest := sha256.Sum256([]byte("a token"))
	key, err := parseKey(n.bundles[planeA]["sa.key"])
	if err != nil {
		t.Fatal(err)
	}
	signature, err := ecdsa.SignASN1(rand.Reader, key.(*ecdsa.PrivateKey), digest[:])
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{planeA: true, planeB: false, planeAgain: false} {
		public, err := parsePublicKeys(n.bundles[name]["sa.pub"])
		if err != nil || len(public) != 1 {
			t.Fatalf("%s: sa.pub: %v", name, err)
		}
		if got := ecdsa.VerifyASN1(public[0].(*ecdsa.PublicKey), digest[:], signature); got != want {
			t.Errorf("A's token at %s: want %t, got %t", name, want, got)
		}
	}
}
